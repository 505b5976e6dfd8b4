package flipttest_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// What real servers said to a request, they and the stand-in say again: the same
// status, the same fields in the same order, and the same values but for
// identifiers, revisions, times and durations.
func TestAnswersAreThoseRecordedFromRealServers(t *testing.T) {
	for version, file := range map[flipttest.Version]string{
		flipttest.V1: "testdata/v1.txt",
		flipttest.V2: "testdata/v2.txt",
	} {
		t.Run(file, func(t *testing.T) {
			onServers(t, version, func(t *testing.T, hand flipttest.Hand) {
				replay(t, hand, file)
			})
		})
	}
}

// exchange is one recorded request, and what came back.
type exchange struct {
	method, path, body string
	header             http.Header
	status             int
	answers            []string // JSON, perhaps cut short
	etag               string
	evaluations        []evaluation // asked for after the request
}

type evaluation struct{ entity, answer string }

var (
	requestLine    = regexp.MustCompile(`^>>> (\S+) (\S+)(.*)$`)
	headerOption   = regexp.MustCompile(` -H ([A-Za-z-]+): (\S+)`)
	statusLine     = regexp.MustCompile(`^(\d{3}) [\d.]+s$`)
	evaluationLine = regexp.MustCompile(`^[\d.]+% (\S+) (\{.*)$`)
)

func readExchanges(t *testing.T, text string) (all []exchange) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if m := requestLine.FindStringSubmatch(line); m != nil {
			one := exchange{method: m[1], path: m[2], header: http.Header{}}
			options, body, _ := strings.Cut(m[3], " -d ")
			one.body = body
			for _, h := range headerOption.FindAllStringSubmatch(options, -1) {
				one.header.Set(h[1], h[2])
			}
			all = append(all, one)
			continue
		}
		last := &all[len(all)-1]
		if m := statusLine.FindStringSubmatch(line); m != nil {
			last.status, _ = strconv.Atoi(m[1])
		} else if m := evaluationLine.FindStringSubmatch(line); m != nil {
			last.evaluations = append(last.evaluations, evaluation{m[1], m[2]})
		} else if etag, ok := strings.CutPrefix(line, "Etag: "); ok {
			last.etag = etag
		} else {
			last.answers = append(last.answers, line)
		}
	}
	return all
}

func replay(t *testing.T, hand flipttest.Hand, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Namespaces of our own, so that it can be replayed on a server that has others.
	unique := rand.Text()
	ours, other := "migrations-"+unique, "other-"+unique
	script := strings.NewReplacer("migrations", ours, `"other"`, strconv.Quote(other)).Replace(string(text))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		made := []string{"orders-db-endpoint"}
		if hand.Version == flipttest.V1 {
			made = append(made, "endpoint-variant")
		}
		if err := hand.DeleteNamespace(ctx, ours, made...); err != nil {
			t.Logf("cleaning up: %v", err)
		}
		if hand.Version == flipttest.V2 {
			if err := hand.DeleteNamespace(ctx, other); err != nil {
				t.Logf("cleaning up: %v", err)
			}
		}
	})
	names := map[string]string{} // recorded identifiers and revisions, as they are here
	for _, one := range readExchanges(t, script) {
		if one.status == http.StatusUnauthorized && hand.Token == "" {
			continue // a real server that asks for none
		}
		status, answer, etag := send(t, hand, one, names)
		for status == http.StatusConflict && one.status == http.StatusOK {
			// Somebody else has moved the branch of a real server.
			names[lastRevision(t, one.body)] = lastRevision(t, answer)
			status, answer, etag = send(t, hand, one, names)
		}
		if status != one.status {
			t.Fatalf("%s %s %s\nanswered %d, recorded is %d: %s", one.method, one.path, one.body, status, one.status, answer)
		}
		for _, recorded := range one.answers {
			compare(t, one, recorded, answer, names)
		}
		if one.etag != "" {
			names[one.etag] = etag
		}
		for _, e := range one.evaluations {
			question := map[string]any{"namespaceKey": ours, "flagKey": "orders-db-endpoint", "entityId": e.entity, "context": map[string]any{}}
			if hand.Version == flipttest.V2 {
				question["environmentKey"] = flipttest.Environment
			}
			_, answer, err := hand.Do(t.Context(), http.MethodPost, "/evaluate/v1/boolean", question)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, one, e.answer, string(answer), names)
		}
	}
}

// send repeats a request with the names that this server gave. It bears the token
// unless the recorded one was refused for having none.
func send(t *testing.T, hand flipttest.Hand, one exchange, names map[string]string) (status int, answer, etag string) {
	t.Helper()
	rename := func(text string) string {
		for recorded, here := range names {
			text = strings.ReplaceAll(text, recorded, here)
		}
		return text
	}
	r, err := http.NewRequestWithContext(t.Context(), one.method, hand.URL+rename(one.path), strings.NewReader(rename(one.body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range one.header {
		r.Header.Set(name, rename(values[0]))
	}
	if hand.Token != "" && one.status != http.StatusUnauthorized {
		r.Header.Set("Authorization", "Bearer "+hand.Token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Header.Get("Etag")
}

var (
	identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{40}`)
	instant    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z`)
)

// lastRevision finds the last revision in a text: of a request, what it is written
// on; of its refusal, where the branch is.
func lastRevision(t *testing.T, text string) string {
	t.Helper()
	all := identifier.FindAllString(text, -1)
	if len(all) == 0 {
		t.Fatalf("there is no revision in %s", text)
	}
	return all[len(all)-1]
}

// compare holds an answer against the recorded one, as far as that goes, and
// learns what identifiers are called here.
func compare(t *testing.T, one exchange, recorded, answer string, names map[string]string) {
	t.Helper()
	want, got := tokens(recorded), tokens(answer)
	got = got[:min(len(got), len(want))]
	for i := range got {
		was, isText := want[i].(string)
		is, _ := got[i].(string)
		if isText && identifier.FindString(was) == was && identifier.FindString(is) == is && was != "" {
			names[was] = is
		}
	}
	if diff := cmp.Diff(masked(want), masked(got)); diff != "" {
		t.Errorf("%s %s %s: -recorded +answered:\n%s", one.method, one.path, one.body, diff)
	}
}

// tokens reads JSON as far as it is whole.
func tokens(text string) (all []any) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		all = append(all, token)
	}
}

func masked(all []any) (shown []any) {
	for i, token := range all {
		text, isText := token.(string)
		switch {
		case i > 0 && all[i-1] == "requestDurationMillis":
			token = "DURATION"
		case isText:
			text = identifier.ReplaceAllString(text, "IDENTIFIER")
			token = instant.ReplaceAllString(text, "TIME")
		}
		shown = append(shown, token)
	}
	return shown
}
