package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

func TestWithDebugAllIsToldButTheToken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "SERVER-ID")
		fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("ROLLOUT_TOKEN", "cut_secret")
	t.Setenv("ROLLOUT_URL", server.URL)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"note", "a", "text", "--debug", "--request-id", "mine"}, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	told := stderr.String()
	for _, want := range []string{"debug: POST http://", "/api/v1/rollouts/a/commands", "request=mine", "200 OK in ", "id=SERVER-ID"} {
		if !strings.Contains(told, want) {
			t.Errorf("ended with %d, and did not tell %q:\n%s", code, want, told)
		}
	}
	if strings.Contains(told, "cut_secret") {
		t.Errorf("a secret is told:\n%s", told)
	}
}

func TestAnAnswerThatTakesTooLongIsAnUnknownOutcome(t *testing.T) {
	hangs := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer server.Close()
	defer close(hangs)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("ROLLOUT_URL", server.URL)
	var stdout, stderr bytes.Buffer
	args := []string{"note", "a", "it's slow", "--timeout", "50ms", "--request-id", "mine"}
	code := run(t.Context(), args, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	want := `error: no answer from ` + server.URL + `: waited 50ms: context deadline exceeded
  it may or may not have been done; the same request id never acts twice
next: rolloutctl note a 'it'\''s slow' --timeout 50ms --request-id mine
      rolloutctl status a
`
	if code != exitNoAnswer || stderr.String() != want {
		t.Errorf("ended with %d, and said:\n%swant:\n%s", code, stderr.String(), want)
	}
}

func TestAgesGoByTheServersClock(t *testing.T) {
	c := &clock{}
	if age := time.Since(c.now()); age < -time.Minute || age > time.Minute {
		t.Errorf("before any answer it is our own clock; it is %v off", age)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", noon.Format(http.TimeFormat))
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.listen(http.DefaultTransport).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if off := c.now().Sub(noon); off < 0 || off > time.Minute {
		t.Errorf("it is %v off the server's", off)
	}
}

func TestEachKindOfErrorHasItsExitCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{errors.New("disk full"), exitError},
		{usageError{text: "no"}, exitUsage},
		{rollout.Invalid{{Field: "kind"}}, exitUsage},
		{rollout.Refusal("not now"), exitRefused},
		{fmt.Errorf("held: %w", rollout.ErrConflict), exitConflict},
		{failure{code: exitStopped}, exitStopped},
		{ended(exitNotMoved), exitNotMoved},
		{&client.Unreachable{Err: errors.New("refused")}, exitNoAnswer},
		{&client.Unreachable{Err: t.Context().Err()}, exitNoAnswer},
		{&client.Problem{Code: "refused", Status: 409}, exitRefused},
		{&client.Problem{Code: "locked", Status: 409}, exitRefused},
		{&client.Problem{Code: "conflict", Status: 409}, exitConflict},
		{&client.Problem{Code: "not_found", Status: 404}, exitNotFound},
		{&client.Problem{Code: "unauthenticated", Status: 401}, exitNotAllowed},
		{&client.Problem{Code: "forbidden", Status: 403}, exitNotAllowed},
		{&client.Problem{Code: "too_many_failures", Status: 429}, exitNotAllowed},
		{&client.Problem{Code: "too_many_requests", Status: 429}, exitNoAnswer},
		{&client.Problem{Code: "bad_request", Status: 400}, exitUsage},
		{&client.Problem{Code: "invalid_plan", Status: 422}, exitUsage},
		{&client.Problem{Code: "too_large", Status: 413}, exitUsage},
		{&client.Problem{Code: "unsupported_media", Status: 415}, exitUsage},
		{&client.Problem{Code: "away", Status: 503}, exitNoAnswer},
		{&client.Problem{Code: "timeout", Status: 504}, exitNoAnswer},
		{&client.Problem{Code: "foreign", Status: 502}, exitNoAnswer},
		{&client.Problem{Code: "internal", Status: 500}, exitError},
		{&client.Problem{Code: "foreign", Status: 302}, exitError},
	} {
		if got := exitCode(fmt.Errorf("doing it: %w", tt.err)); got != tt.want {
			t.Errorf("%#v ends with %d, want %d", tt.err, got, tt.want)
		}
	}
}
