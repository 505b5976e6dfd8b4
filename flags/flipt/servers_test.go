package flipt_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// rollout is whom the tests write for.
const rollout = "orders-db"

// bench is a server, the store under test on it, and another hand.
type bench struct {
	hand  flipttest.Hand
	store *flipt.Store
	sent  *watcher
	stand *flipttest.Server // nil where the server is a real one
}

// watcher sees every request of a store.
type watcher struct {
	mu  sync.Mutex
	all []sent
}

type sent struct {
	method, path string
	body         map[string]any
}

func (w *watcher) RoundTrip(r *http.Request) (*http.Response, error) {
	one := sent{method: r.Method, path: r.URL.Path}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if err := json.NewDecoder(body).Decode(&one.body); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	w.all = append(w.all, one)
	w.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// writes returns the requests since the last call that were to change a flag.
func (w *watcher) writes() (some []sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all {
		if one.method != http.MethodGet && !strings.HasPrefix(one.path, "/evaluate/") {
			some = append(some, one)
		}
	}
	w.all = nil
	return some
}

// harmless fails the test if a store ever sent v2 a PUT that would wipe the rules
// or overwrite blindly. No test may provoke one.
func (w *watcher) harmless(t *testing.T) {
	t.Helper()
	for _, one := range w.writes() {
		payload, isV2 := one.body["payload"].(map[string]any)
		if one.method != http.MethodPut || !isV2 {
			continue
		}
		if rollouts, _ := payload["rollouts"].([]any); len(rollouts) == 0 {
			t.Errorf("a PUT without rollouts was sent: %v", one.body)
		}
		if revision, _ := one.body["revision"].(string); !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(revision) {
			t.Errorf("a PUT with revision %q was sent", revision)
		}
	}
}

// standIn starts a stand-in for one test.
func standIn(t *testing.T, version flipttest.Version) bench {
	t.Helper()
	server, err := flipttest.NewServer(version, "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b := newBench(t, flipttest.Hand{URL: server.URL, Token: "secret", Version: version}, flipt.Options{})
	b.stand = server
	return b
}

func newBench(t *testing.T, hand flipttest.Hand, o flipt.Options) bench {
	t.Helper()
	b := bench{hand: hand, sent: &watcher{}}
	o.URL, o.Token, o.HTTPClient = hand.URL, hand.Token, &http.Client{Transport: b.sent}
	b.store = openStore(t, o)
	t.Cleanup(func() { b.sent.harmless(t) })
	return b
}

func openStore(t *testing.T, o flipt.Options) *flipt.Store {
	t.Helper()
	store, err := flipt.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// onServers runs a test on stand-ins of these generations, and on the real
// servers of them that the environment names.
func onServers(t *testing.T, test func(*testing.T, bench), versions ...flipttest.Version) {
	t.Helper()
	for _, version := range versions {
		name := map[flipttest.Version]string{flipttest.V1: "v1", flipttest.V2: "v2"}[version]
		t.Run(name, func(t *testing.T) { test(t, standIn(t, version)) })
		if hand, ok := flipttest.Real(version, os.Getenv); ok {
			t.Run("real "+name, func(t *testing.T) {
				// A shared disk may take most of a second for a commit.
				test(t, newBench(t, hand, flipt.Options{Timeout: 10 * time.Second, Deadline: time.Minute}))
			})
		}
	}
}

// space returns a namespace that is this test's own; it ends with it.
func (b bench) space(t *testing.T) (namespace string, create func(*testing.T, flags.Key)) {
	t.Helper()
	namespace = "cutover-" + rand.Text()
	var made []string
	t.Cleanup(func() {
		if b.stand != nil || made == nil {
			return // it is gone with its server
		}
		if err := b.hand.DeleteNamespace(context.WithoutCancel(t.Context()), namespace, made...); err != nil {
			t.Logf("cleaning up: %v", err)
		}
	})
	return namespace, func(t *testing.T, key flags.Key) {
		t.Helper()
		if err := b.store.Create(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		made = append(made, key.Name)
	}
}

// flag makes a flag at 0 % in a namespace of its own.
func (b bench) flag(t *testing.T) flags.Key {
	t.Helper()
	namespace, create := b.space(t)
	key := flags.Key{Namespace: namespace, Name: "orders-db-reads"}
	create(t, key)
	return key
}

// flagAt makes a flag at a share that is ours.
func (b bench) flagAt(t *testing.T, share flags.Share) (flags.Key, flags.Setting) {
	t.Helper()
	key := b.flag(t)
	return key, b.raise(t, key, share)
}

func (b bench) read(t *testing.T, key flags.Key) flags.Setting {
	t.Helper()
	now, err := b.store.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (b bench) raise(t *testing.T, key flags.Key, share flags.Share) flags.Setting {
	t.Helper()
	next, err := b.store.Write(t.Context(), key, raiseTo(share, b.read(t, key)))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func raiseTo(share flags.Share, now flags.Setting) flags.Change {
	return flags.Change{Kind: flags.Raise, Share: share, Revision: now.Revision, Rollout: rollout, Epoch: 3}
}

func (b bench) kill(t *testing.T, key flags.Key) flags.Setting {
	t.Helper()
	next, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Lower, Rollout: rollout, Epoch: 3})
	if err != nil {
		t.Fatal(err)
	}
	if next.Share != flags.None {
		t.Fatalf("lowered to 0, the flag is at %v", next.Share)
	}
	return next
}

// edit changes a flag as another hand would.
func (b bench) edit(t *testing.T, key flags.Key, edit func(flag map[string]any)) {
	t.Helper()
	if err := b.hand.Edit(t.Context(), key, edit); err != nil {
		t.Fatal(err)
	}
}

// ask sends the other hand's request and expects it to be obeyed.
func (b bench) ask(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	status, answer, err := b.hand.Do(t.Context(), method, path, body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: answered %d, %v: %s", method, path, status, err, answer)
	}
	return answer
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}
