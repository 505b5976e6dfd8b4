package openfeature_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/ofrep"
	"github.com/seed-c8cbbb61/cutover/flags/openfeature"
)

const (
	reads = "orders-db-reads"
	tick  = 2 * time.Millisecond
)

var key = flags.Key{Namespace: "default", Name: reads}

// site is a flag store over HTTP that can be broken and repaired.
type site struct {
	*httptest.Server
	flags flags.Memory

	answers chan int // the status of each, as long as there is room

	mu     sync.Mutex
	broken http.HandlerFunc // answers instead, if set
	last   *http.Request
}

func newSite(t testing.TB, share flags.Share) *site {
	s := &site{answers: make(chan int, 1000)}
	s.flags.Put(key, share)
	served := ofrep.Handler(&s.flags)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		answer := s.broken
		s.last = r.Clone(context.WithoutCancel(r.Context()))
		s.mu.Unlock()
		if answer == nil {
			answer = served.ServeHTTP
		}
		recorder := httptest.NewRecorder()
		answer(recorder, r)
		select {
		case s.answers <- recorder.Code:
		default:
		}
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = io.Copy(w, recorder.Body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) breaks(how http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = how
}

func (s *site) request() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// application is an application with our provider in OpenFeature's SDK.
type application struct {
	*of.Client
	provider *openfeature.Provider
	events   chan string
}

func start(t testing.TB, options openfeature.Options) (application, error) {
	t.Helper()
	options.Every = cmp.Or(options.Every, tick)
	provider, err := openfeature.New(options)
	if err != nil {
		t.Fatal(err)
	}
	api := isolated.NewAPI()
	app := application{api.NewClient(), provider, make(chan string, 100)}
	for _, kind := range []of.EventType{of.ProviderReady, of.ProviderStale, of.ProviderError, of.ProviderConfigChange} {
		handler := func(of.EventDetails) { app.events <- string(kind) }
		api.AddHandler(kind, &handler)
	}
	err = api.SetProviderAndWait(t.Context(), provider)
	t.Cleanup(func() { _ = api.Shutdown(context.WithoutCancel(t.Context())) })
	// The SDK calls handlers in no order: this one's event must not pass for a later one.
	if err != nil {
		app.waitFor(t, of.ProviderError)
	} else {
		app.waitFor(t, of.ProviderReady)
	}
	return app, err
}

// waitFor waits until the SDK has told the application of an event.
func (a application) waitFor(t testing.TB, kind of.EventType) {
	t.Helper()
	for {
		select {
		case got := <-a.events:
			if got == string(kind) {
				return
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no %s within 10s", kind)
		}
	}
}

func (a application) want(t testing.TB, state of.State, on bool, reason of.Reason) {
	t.Helper()
	got, err := a.BooleanValueDetails(t.Context(), reads, !on, of.EvaluationContext{})
	if err != nil || got.Value != on || got.Reason != reason {
		t.Errorf("evaluation: %t, %s, %v; want %t, %s", got.Value, got.Reason, err, on, reason)
	}
	if a.State() != state {
		t.Errorf("state %s: want %s", a.State(), state)
	}
}

func TestAnApplicationRidesOutAnOutageOfItsFlagStore(t *testing.T) {
	for name, broken := range map[string]http.HandlerFunc{
		"an error":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"not signed in":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"gone":           http.NotFound,
		"a wrong answer": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"far too much":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 9<<20)) },
		"no answer":      func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			store := newSite(t, 100)
			app, err := start(t, openfeature.Options{URL: store.URL, TaskID: "task-1", Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			app.want(t, of.ReadyState, true, of.TargetingMatchReason)
			store.breaks(broken)
			app.waitFor(t, of.ProviderStale)
			app.want(t, of.StaleState, true, of.CachedReason)
			store.breaks(nil)
			app.waitFor(t, of.ProviderReady)
			app.want(t, of.ReadyState, true, of.TargetingMatchReason)
			store.flags.Put(key, 0)
			app.waitFor(t, of.ProviderConfigChange)
			app.want(t, of.ReadyState, false, of.DefaultReason)
		})
	}
}

func TestAnApplicationThatStartsColdCatchesUp(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusNotModified, http.StatusServiceUnavailable} {
		store := newSite(t, 100)
		store.breaks(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		app, err := start(t, openfeature.Options{URL: store.URL, TaskID: "task-1"})
		if !errors.Is(err, openfeature.ErrCold) || !strings.Contains(err.Error(), strconv.Itoa(status)) {
			t.Errorf("start: %v, want ErrCold and the store's status %d", err, status)
		}
		app.want(t, of.ErrorState, false, of.DefaultReason)
		store.breaks(nil)
		app.waitFor(t, of.ProviderReady)
		app.want(t, of.ReadyState, true, of.TargetingMatchReason)
	}
}

func TestAnUnchangedSnapshotIsNotSentAgain(t *testing.T) {
	store := newSite(t, 25)
	app, err := start(t, openfeature.Options{URL: store.URL, TaskID: "task-1"})
	if err != nil {
		t.Fatal(err)
	}
	statuses := []int{http.StatusOK}
	for range 5 {
		statuses = append(statuses, http.StatusNotModified)
	}
	for i, want := range statuses {
		if got := <-store.answers; got != want {
			t.Errorf("answer %d: status %d, want %d", i+1, got, want)
		}
	}
	store.flags.Put(key, 100)
	app.waitFor(t, of.ProviderConfigChange)
	app.want(t, of.ReadyState, true, of.TargetingMatchReason)
}

func TestTheSnapshotIsAskedForWhereFliptHasIt(t *testing.T) {
	for _, tc := range []struct {
		options openfeature.Options
		base    string
		path    string
	}{
		{openfeature.Options{}, "", "/internal/v1/evaluation/snapshot/namespace/default"},
		{openfeature.Options{Namespace: "migrations"}, "/", "/internal/v1/evaluation/snapshot/namespace/migrations"},
		{
			openfeature.Options{Namespace: "a/b c"},
			"/flipt",
			"/flipt/internal/v1/evaluation/snapshot/namespace/a%2Fb%20c",
		},
		{
			openfeature.Options{Namespace: "migrations", Environment: "prod"},
			"",
			"/client/v2/environments/prod/namespaces/migrations/snapshot",
		},
	} {
		store := newSite(t, 25)
		store.breaks(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"flags":[]}`)) })
		tc.options.URL = store.URL + tc.base
		tc.options.Token = "s3cret"
		if _, err := start(t, tc.options); err != nil {
			t.Error(err)
			continue
		}
		request := store.request()
		if got := request.URL.EscapedPath(); got != tc.path {
			t.Errorf("asked for %s, want %s", got, tc.path)
		}
		if got := request.Header.Get("Authorization"); got != "Bearer s3cret" {
			t.Errorf("authorization %q: want the bearer token", got)
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for want, options := range map[string]openfeature.Options{
		`url "": must be http://HOST`:            {},
		`url "127.0.0.1": must be http://HOST`:   {URL: "127.0.0.1"},
		`url "grpc://x:9000": must be http`:      {URL: "grpc://x:9000"},
		"invalid port":                           {URL: "http://user:s3cret@host:port"},
		`url "ftp://user:xxxxx@host"`:            {URL: "ftp://user:s3cret@host"},
		"every -1s: must be more than 0":         {URL: "http://x", Every: -time.Second},
		"timeout -1s: must be more than 0":       {URL: "http://x", Timeout: -time.Second},
		"making the flag provider: url: missing": {URL: "://x"},
	} {
		_, err := openfeature.New(options)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want an error with %s and without the password", options.URL, err, want)
		}
	}
}

// TestDecisionsAreSafeWhileTheShareChanges is for the race detector, and sees
// that a task's decision always fits the share that comes with it.
func TestDecisionsAreSafeWhileTheShareChanges(t *testing.T) {
	store := newSite(t, 0)
	app, err := start(t, openfeature.Options{URL: store.URL, TaskID: "task-1"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var deciders sync.WaitGroup
	for range 4 {
		deciders.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				on, share := app.provider.Decide(reads)
				if on != share.Holds(reads, flags.TargetingKey("task-1")) {
					t.Errorf("decided %t at %v", on, share)
					return
				}
			}
		})
	}
	for share := flags.Share(10); share <= 100; share += 10 {
		store.flags.Put(key, share)
		app.waitFor(t, of.ProviderConfigChange)
	}
	close(done)
	deciders.Wait()
}
