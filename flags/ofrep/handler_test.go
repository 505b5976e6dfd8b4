package ofrep_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/embedded"
	"github.com/seed-c8cbbb61/cutover/flags/ofrep"
)

// The shares and buckets here are from recordings of Flipt: under the flag
// orders-db-endpoint task-2 has bucket 8 and task-1 bucket 25.
var endpoint = flags.Key{Namespace: "migrations", Name: "orders-db-endpoint"}

func stored(shares map[flags.Key]flags.Share) *flags.Memory {
	var store flags.Memory
	for key, share := range shares {
		store.Put(key, share)
	}
	return &store
}

// ask sends a request to a handler, with headers as "Name: value".
func ask(t testing.TB, served ofrep.Flags, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	ofrep.Handler(served).ServeHTTP(recorder, request)
	return recorder.Result()
}

func text(t testing.TB, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(body), "\n")
}

const (
	one   = "/ofrep/v1/evaluate/flags/orders-db-endpoint"
	all   = "/ofrep/v1/evaluate/flags"
	ns    = "X-Flipt-Namespace: migrations"
	task2 = `{"context":{"targetingKey":"task-2"}}`
)

func TestATaskIsAnsweredAsFliptWould(t *testing.T) {
	store := stored(map[flags.Key]flags.Share{
		endpoint: 25,
		{Namespace: "default", Name: "orders-db-endpoint"}: 0,
		{Namespace: "migrations", Name: "other"}:           100,
	})
	for _, tc := range []struct {
		name, path, body, header string
		status                   int
		want                     string
	}{
		{
			"a task inside the share", one, task2, ns, 200,
			`{"key":"orders-db-endpoint","reason":"TARGETING_MATCH","variant":"true","metadata":{"share":25},"value":true}`,
		},
		{
			"a task just outside it", one, `{"context":{"targetingKey":"task-1"}}`, ns, 200,
			`{"key":"orders-db-endpoint","reason":"DEFAULT","variant":"false","metadata":{"share":25},"value":false}`,
		},
		{
			"no namespace is the default one", one, task2, "", 200,
			`{"key":"orders-db-endpoint","reason":"DEFAULT","variant":"false","metadata":{"share":0},"value":false}`,
		},
		{
			"all flags of the namespace", all, task2, ns, 200,
			`{"flags":[` +
				`{"key":"orders-db-endpoint","reason":"TARGETING_MATCH","variant":"true","metadata":{"share":25},"value":true},` +
				`{"key":"other","reason":"TARGETING_MATCH","variant":"true","metadata":{"share":100},"value":true}]}`,
		},
		{
			"other attributes are ignored", one,
			`{"context":{"region":"eu","targetingKey":"task-2","n":[1]},"more":1}`, ns, 200,
			`{"key":"orders-db-endpoint","reason":"TARGETING_MATCH","variant":"true","metadata":{"share":25},"value":true}`,
		},
		{"no flags in the namespace", all, task2, "X-Flipt-Namespace: empty", 200, `{"flags":[]}`},
		{
			"an unknown flag", "/ofrep/v1/evaluate/flags/nope", task2, ns, 404,
			`{"key":"nope","errorCode":"FLAG_NOT_FOUND","errorDetails":"namespace \"migrations\" has no flag \"nope\""}`,
		},
		{
			"nobody", one, `{"context":{}}`, ns, 400,
			`{"key":"orders-db-endpoint","errorCode":"TARGETING_KEY_MISSING",` +
				`"errorDetails":"context.targetingKey must say which task asks"}`,
		},
		{
			"nobody, for all flags", all, `{}`, ns, 400,
			`{"errorCode":"TARGETING_KEY_MISSING","errorDetails":"context.targetingKey must say which task asks"}`,
		},
		{
			"an empty name", one, `{"context":{"targetingKey":""}}`, ns, 400,
			`{"key":"orders-db-endpoint","errorCode":"TARGETING_KEY_MISSING",` +
				`"errorDetails":"context.targetingKey must not be empty"}`,
		},
		{
			"a number for a name", one, `{"context":{"targetingKey":7}}`, ns, 400,
			`{"key":"orders-db-endpoint","errorCode":"INVALID_CONTEXT","errorDetails":"context.targetingKey must be text"}`,
		},
		{
			"another environment", one, task2, "X-Flipt-Environment: staging", 400,
			`{"key":"orders-db-endpoint","errorCode":"GENERAL",` +
				`"errorDetails":"environment \"staging\": there is only \"default\""}`,
		},
	} {
		response := ask(t, store, http.MethodPost, tc.path, tc.body, tc.header)
		if diff := cmp.Diff(tc.want, text(t, response)); diff != "" || response.StatusCode != tc.status {
			t.Errorf("%s: status %d, want %d (-want +got):\n%s", tc.name, response.StatusCode, tc.status, diff)
		}
	}
}

func TestWhatIsNoQuestionIsRefusedInWords(t *testing.T) {
	store := stored(map[flags.Key]flags.Share{endpoint: 25})
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"no body", "POST", one, "", 400, `"errorCode":"PARSE_ERROR"`},
		{"half a body", "POST", one, `{"context":`, 400, `"errorCode":"PARSE_ERROR"`},
		{"two bodies", "POST", one, task2 + task2, 400, `"errorCode":"PARSE_ERROR"`},
		{"a context that is a list", "POST", one, `{"context":[]}`, 400, `"errorCode":"PARSE_ERROR"`},
		{"a body without end", "POST", one, strings.Repeat(" ", 64<<10+1), 413, "larger than 65536 bytes"},
		{"reading an evaluation", "GET", one, "", 405, "method GET: must be POST"},
		{"putting all", "PUT", all, task2, 405, "method PUT: must be POST"},
		{"posting a snapshot", "POST", v1, "", 405, "method POST: must be GET, HEAD"},
		{"no flag's name", "POST", all + "/", task2, 404, "there is nothing at /ofrep/v1/evaluate/flags/"},
		{"elsewhere", "GET", "/", "", 404, "there is nothing at /"},
		{"a namespace without flags", "GET", "/internal/v1/evaluation/snapshot/namespace/typo", "", 404, `namespace \"typo\" holds no flags`},
		{
			"another environment", "GET", "/client/v2/environments/staging/namespaces/migrations/snapshot", "", 404,
			`environment \"staging\": there is only \"default\"`,
		},
	} {
		response := ask(t, store, tc.method, tc.path, tc.body, ns)
		body := text(t, response)
		if response.StatusCode != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: status %d, body %s; want %d and %s", tc.name, response.StatusCode, body, tc.status, tc.want)
		}
		if tc.status == http.StatusMethodNotAllowed && response.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow header", tc.name)
		}
	}
}

const (
	v1 = "/internal/v1/evaluation/snapshot/namespace/migrations"
	v2 = "/client/v2/environments/default/namespaces/migrations/snapshot"
)

func TestASnapshotHasFliptsShape(t *testing.T) {
	store := stored(map[flags.Key]flags.Share{endpoint: 25, {Namespace: "default", Name: "x"}: 1})
	const want = `{"namespace":{"key":"migrations"},"flags":[{"key":"orders-db-endpoint","name":"orders-db-endpoint",` +
		`"description":"","enabled":false,"type":"BOOLEAN_FLAG_TYPE","rules":[],"rollouts":` +
		`[{"type":"THRESHOLD_ROLLOUT_TYPE","rank":1,"threshold":{"percentage":25,"value":true}}]}],"digest":"`
	for _, path := range []string{v1, v2} {
		response := ask(t, store, http.MethodGet, path, "")
		body, digest, _ := strings.Cut(text(t, response), `"digest":"`)
		if diff := cmp.Diff(want, body+`"digest":"`); diff != "" || response.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d (-want +got):\n%s", path, response.StatusCode, diff)
		}
		if tag := strings.Trim(response.Header.Get("ETag"), `"`); tag+`"}` != digest || len(tag) != 40 {
			t.Errorf("%s: ETag %s and digest %s, want the same 40 digits", path, tag, digest)
		}
	}
}

func TestWhoeverIsUpToDateIsToldSo(t *testing.T) {
	store := stored(map[flags.Key]flags.Share{endpoint: 25})
	for _, tc := range []struct{ name, method, path, body string }{
		{"snapshot of v1", http.MethodGet, v1, ""},
		{"snapshot of v2", http.MethodGet, v2, ""},
		{"all flags by OFREP", http.MethodPost, all, task2},
	} {
		store.Put(endpoint, 25)
		tag := ask(t, store, tc.method, tc.path, tc.body, ns).Header.Get("ETag")
		again := func(tag string) int {
			return ask(t, store, tc.method, tc.path, tc.body, ns, "If-None-Match: "+tag).StatusCode
		}
		for _, form := range []string{tag, "W/" + tag, strings.Trim(tag, `"`), `"x", ` + tag, "*"} {
			if status := again(form); status != http.StatusNotModified {
				t.Errorf("%s: If-None-Match %s: status %d, want 304", tc.name, form, status)
			}
		}
		if status := again(`"x"`); status != http.StatusOK {
			t.Errorf("%s: another tag: status %d, want 200", tc.name, status)
		}
		store.Put(endpoint, 25)
		if status := again(tag); status != http.StatusNotModified {
			t.Errorf("%s: the same share written again: status %d, want 304", tc.name, status)
		}
		store.Put(endpoint, 26)
		if status := again(tag); status != http.StatusOK {
			t.Errorf("%s: after the share changed: status %d, want 200", tc.name, status)
		}
	}
}

func TestTheEmbeddedStoreIsServed(t *testing.T) {
	store, err := embedded.Open(filepath.Join(t.TempDir(), "flags.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Create(t.Context(), endpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), endpoint, 9, "dana"); err != nil {
		t.Fatal(err)
	}
	for task, want := range map[string]bool{"task-2": true, "task-1": false} {
		body := text(t, ask(t, store, http.MethodPost, one, `{"context":{"targetingKey":"`+task+`"}}`, ns))
		if !strings.Contains(body, fmt.Sprintf(`"value":%t`, want)) {
			t.Errorf("%s at 9 %%: %s, want %t", task, body, want)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	store := stored(map[flags.Key]flags.Share{endpoint: 25})
	for _, body := range []string{"", "{}", task2, `{"context":{"targetingKey":null}}`, `{"context":[1]}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		response := ask(t, store, http.MethodPost, one, body, ns)
		if response.StatusCode >= http.StatusInternalServerError {
			t.Errorf("body %q: status %d", body, response.StatusCode)
		}
	})
}
