package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// auditing is a server that answers so, and what it was last asked.
type auditing struct {
	status int
	text   string
	path   string
	query  url.Values
	accept string
}

func (a *auditing) serve(t *testing.T) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.path, a.query, a.accept = r.URL.Path, r.URL.Query(), r.Header.Get("Accept")
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.text)
	}))
	t.Cleanup(server.Close)
	return client.New(server.URL, "cut_x", http.Client{})
}

func TestWhatIsAskedOfTheAuditArrives(t *testing.T) {
	a := &auditing{status: 200, text: `{"events":[{"place":7}],"next":7}`}
	c := a.serve(t)
	from := time.Date(2026, 11, 30, 9, 0, 0, 5, time.FixedZone("JST", 9*60*60))
	events, next, err := c.Audit(t.Context(), rollout.Query{
		Rollout: "*", By: "ann", Kinds: []rollout.Kind{rollout.Noted, rollout.Frozen}, From: from, Until: from.Add(time.Hour), After: 9, Limit: 5, Newest: true,
	})
	if err != nil || len(events) != 1 || events[0].Place != 7 || next != 7 {
		t.Errorf("%v, next %d, error %v", events, next, err)
	}
	want := url.Values{
		"rollout": {"*"}, "by": {"ann"}, "kind": {"noted,frozen"}, "after": {"9"}, "limit": {"5"}, "newest": {"true"},
		"from": {"2026-11-30T00:00:00.000000005Z"}, "until": {"2026-11-30T01:00:00.000000005Z"},
	}
	if diff := cmp.Diff(want, a.query); diff != "" || a.path != "/api/v1/audit" {
		t.Errorf("%s: want -, got +:\n%s", a.path, diff)
	}
	if _, _, err := c.Audit(t.Context(), rollout.Query{}); err != nil || len(a.query) != 0 {
		t.Errorf("nothing in particular: %v, %v", a.query, err)
	}
}

func TestAVerificationComesBack(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	a := &auditing{status: 200, text: `{"ok":false,"places":3,"checkpoint":{"version":1,"place":3,"hash":"` + hash + `"},"damage":{"kind":"cut","place":4,"why":"gone"}}`}
	at := audit.Checkpoint{Version: 1, Place: 3, Hash: []byte(strings.Repeat("\xab", 32))}
	result, err := a.serve(t).VerifyAudit(t.Context(), at, audit.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	want := audit.Result{Places: 3, Checkpoint: at, Damage: &audit.Damage{Kind: audit.Cut, Place: 4, Why: "gone"}}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if got := a.query.Get("checkpoint"); got != "3:"+hash+",0:" || a.path != "/api/v1/audit/verify" {
		t.Errorf("%s was asked with %q", a.path, got)
	}
}

func TestAnExportIsReadAsItComes(t *testing.T) {
	a := &auditing{status: 200, text: "one\ntwo\n"}
	c := a.serve(t)
	body, err := c.ExportAudit(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, err := io.ReadAll(body); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
	if a.query.Get("after") != "7" || a.path != "/api/v1/audit/export" || a.accept != "application/x-ndjson" {
		t.Errorf("%s was asked for %s, %v", a.path, a.accept, a.query)
	}
}

func TestWhatKeepsTheAuditFromAnsweringIsTold(t *testing.T) {
	a := &auditing{status: 403, text: `{"code":"forbidden","detail":"no"}`}
	c := a.serve(t)
	if _, err := c.ExportAudit(t.Context(), 0); !isProblem(err, "forbidden") {
		t.Errorf("export: %v", err)
	}
	if _, err := c.VerifyAudit(t.Context()); !isProblem(err, "forbidden") {
		t.Errorf("verify: %v", err)
	}
	a.status, a.text = 200, "<html>"
	if _, err := c.VerifyAudit(t.Context()); err == nil || !strings.Contains(err.Error(), "is that a Cutover server?") {
		t.Errorf("another server: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ExportAudit(gone, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	away := client.New("http://127.0.0.1:1", "cut_x", http.Client{})
	_, err := away.VerifyAudit(t.Context())
	if silence, ok := errors.AsType[*client.Unreachable](err); !ok || silence.Sent {
		t.Errorf("away: %v", err)
	}
}

func isProblem(err error, code string) bool {
	p, ok := errors.AsType[*client.Problem](err)
	return ok && p.Code == code
}
