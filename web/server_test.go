package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// house is a server with everything around it.
type house struct {
	desk    *desk
	journal *journal
	fleet   *fleet
	rules   *standing
	look    *inspector
	log     *bytes.Buffer
	path    string // of the tokens
	tokens  map[Role]string
	server  http.Handler
	handler http.Handler // the server, held to its description
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{
		desk: &desk{}, fleet: &fleet{}, rules: &standing{}, look: &inspector{}, log: &bytes.Buffer{},
		journal: &journal{events: []rollout.Event{
			{Rollout: "orders-db", Seq: 1, Place: 1, Kind: rollout.Planned, At: began, By: "ann", Plan: planOf("orders-db")},
			{Rollout: "orders-db", Seq: 2, Place: 2, Kind: rollout.Started, At: began, By: "ann"},
			{Rollout: "orders-db", Seq: 3, Place: 3, Kind: rollout.Checked, At: began, By: "ann"},
		}},
		path:   filepath.Join(t.TempDir(), "tokens.json"),
		tokens: map[Role]string{},
	}
	var entries []Entry
	for _, role := range roles() {
		service := ""
		if role == Reporter {
			service = "checkout"
		}
		plain, entry := NewToken("the-"+string(role), role, service)
		h.tokens[role] = plain
		entries = append(entries, entry)
	}
	if err := SaveTokens(h.path, entries); err != nil {
		t.Fatal(err)
	}
	tokens, err := LoadTokens(h.path)
	if err != nil {
		t.Fatal(err)
	}
	h.server = New(Options{
		Desk: h.desk, House: h.rules, Inspector: h.look, Journal: h.journal, Fleet: h.fleet, Plans: plans, Tokens: tokens, Version: "v9",
		Audit: goodAuditor{}, Amender: h.desk, Log: slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	h.handler = described().Check(t, h.server)
	return h
}

// ask sends a request as a role; headers are given in pairs.
func (h *house) ask(role Role, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if token, ok := h.tokens[role]; ok {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	switch {
	case method != http.MethodPost:
	case strings.Contains(path, "/plans"), strings.Contains(path, "/amendments"):
		r.Header.Set("Content-Type", "application/yaml")
	default:
		r.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[1] == "" {
			r.Header.Del(pair[0])
			continue
		}
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return w
}

// problemOf reads a problem and checks what every problem must have.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) Problem {
	t.Helper()
	var p Problem
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d has Content-Type %q: %s", w.Code, got, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("problem is not JSON: %v", err)
	}
	if p.Status != w.Code || p.Title == "" || p.Code == "" || p.Detail == "" || p.RequestID == "" {
		t.Errorf("problem of status %d lacks something: %+v", w.Code, p)
	}
	if p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("request id %q in the body, %q in the header", p.RequestID, w.Header().Get("X-Request-Id"))
	}
	return p
}

const goodReport = `{"task":"t1","service":"checkout","sent_at":"2026-11-30T03:00:00Z","lanes":[{"lane":"reads","decided":true}]}`

// routes is every route with a good request, and who may use it.
var routes = []struct {
	method, path, body string
	allowed            []Role
	want               int
}{
	{"GET", "/api/v1/version", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/events", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/gates", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/tasks", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/approvals", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/holds", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/preflight", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/events", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/approvals", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/hold-all", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/freezes", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/quiet", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/audit", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/audit/verify", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/audit/export", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/whoami", "", []Role{Viewer, Operator, Approver, Admin, Reporter}, 200},
	{"GET", "/api/v1/tokens", "", []Role{Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/preflight", "", []Role{Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/plans", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"GET", "/api/v1/rollouts/orders-db/plans/1", "", []Role{Viewer, Operator, Approver, Admin}, 200},
	{"POST", "/api/v1/plans", "rollout: orders-db", []Role{Operator, Admin}, 201},
	{"POST", "/api/v1/plans?dry_run=true", "rollout: orders-db", []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/reports", goodReport, []Role{Reporter}, 204},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"rollback"}`, []Role{Operator, Approver, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold"}`, []Role{Operator, Approver, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"reject","reason":"x"}`, []Role{Operator, Approver, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"note","reason":"x"}`, []Role{Operator, Approver, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"approve"}`, []Role{Approver, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"start"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"advance"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"resume"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"retry"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"withdraw"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"complete"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"acknowledge"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"adopt"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"handover","person":"the-operator"}`, []Role{Operator, Admin}, 200},
	{"POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"accept"}`, []Role{Operator, Admin}, 200},
}

func TestEachRoleMayDoWhatItIsForAndNothingElse(t *testing.T) {
	h := newHouse(t)
	for _, route := range routes {
		for _, role := range roles() {
			w := h.ask(role, route.method, route.path, route.body)
			if slices.Contains(route.allowed, role) {
				if w.Code != route.want {
					t.Errorf("%s %s %s as %s: %d, want %d: %s", route.method, route.path, route.body, role, w.Code, route.want, w.Body)
				}
				continue
			}
			p := problemOf(t, w)
			if p.Status != 403 || p.Code != Forbidden {
				t.Errorf("%s %s %s as %s: %d %s, want forbidden", route.method, route.path, route.body, role, p.Status, p.Code)
			}
			if !strings.Contains(p.Detail, "the-"+string(role)) {
				t.Errorf("refusal does not say whose token it is: %q", p.Detail)
			}
			if strings.Contains(p.Detail, "needs the role") && !strings.Contains(p.Detail, string(route.allowed[0])) && role != Reporter {
				t.Errorf("refusal does not say which role is needed: %q", p.Detail)
			}
		}
		w := h.ask("", route.method, route.path, route.body)
		if p := problemOf(t, w); p.Status != 401 && p.Status != 429 {
			t.Errorf("%s %s without a token: %d", route.method, route.path, p.Status)
		}
	}
}

func TestEveryVerbHasSomebodyWhoMay(t *testing.T) {
	for _, verb := range verbs() {
		if len(needed(action(verb))) == 0 {
			t.Errorf("nobody may %s", verb)
		}
	}
	if ok, why := may(Caller{Name: "x", Grants: []Grant{{Role: Admin}}}, "promote", anywhere); ok || why != "nobody may promote" {
		t.Errorf("may(promote) = %v, %q", ok, why)
	}
}

func TestEachErrorOfTheDeskHasItsStatus(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7:3306: password=hunter2")
	tests := []struct {
		name   string
		err    error
		status int
		code   Code
		detail string
	}{
		{"not found", rollout.ErrNotFound, 404, NotFound, "no such rollout"},
		{"gone on", rollout.ErrConflict, 409, Conflict, "has gone on since you looked"},
		{"refused", rollout.Refusal("the bake has 6 minutes to go; wait"), 409, Refused, "the bake has 6 minutes to go; wait"},
		{"locked", rollout.Locked{Claim: rollout.Claim{Kind: rollout.ClaimDatabase, Name: "orders"}, Holder: "other"}, 409, LockedByOther, "database orders is locked by rollout other"},
		{"invalid", rollout.Invalid{{Field: "lanes", Allowed: "one at least"}}, 422, InvalidPlan, "lanes: one at least"},
		{"no answer in time", context.DeadlineExceeded, 504, Timeout, "may or may not have been done"},
		{"anything else", secret, 500, Internal, "something failed here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, err := range []error{tt.err, errors.Join(errors.New("recording: hunter2"), tt.err)} {
				h := newHouse(t)
				h.desk.err = err
				p := problemOf(t, h.ask(Admin, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"advance"}`))
				if p.Status != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
					t.Errorf("%v: got %d %s %q", err, p.Status, p.Code, p.Detail)
				}
				if strings.Contains(p.Detail, "hunter2") {
					t.Errorf("the answer tells what only the log may: %q", p.Detail)
				}
				if logged := strings.Contains(h.log.String(), p.RequestID) && strings.Contains(h.log.String(), "request failed"); logged != (tt.status == 500) {
					t.Errorf("status %d, logged as a failure: %v", tt.status, logged)
				}
			}
		})
	}
}

func TestAPanicIsAnAnswerAndTheServerGoesOn(t *testing.T) {
	h := newHouse(t)
	h.desk.do = func(context.Context) error { panic("hunter2") }
	w := h.ask(Admin, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold"}`)
	if p := problemOf(t, w); p.Status != 500 || strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("got %d: %s", p.Status, w.Body)
	}
	if !strings.Contains(h.log.String(), "panic: hunter2") {
		t.Error("the log does not have the panic")
	}
	if w := h.ask("", "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz after a panic: %d", w.Code)
	}
}

func TestHealthIsOpenAndAsksNobody(t *testing.T) {
	h := newHouse(t)
	h.desk.err, h.journal.err = errors.New("away"), errors.New("away")
	for _, path := range []string{"/healthz", "/api/v1/healthz"} {
		if w := h.ask("", "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "ok") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestEveryAnswerIsHardened(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/healthz", "/api/v1/rollouts", "/nothing"} {
		header := h.ask(Viewer, "GET", path, "").Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "no-store",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Referrer-Policy":         "no-referrer",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestARequestKeepsItsIdIfItIsADecentOne(t *testing.T) {
	h := newHouse(t)
	if got := h.ask("", "GET", "/healthz", "", "X-Request-Id", "01JDW3K8Q2").Header().Get("X-Request-Id"); got != "01JDW3K8Q2" {
		t.Errorf("a decent id became %q", got)
	}
	for _, odd := range []string{"a b", "x\x1b[2J", strings.Repeat("x", 129), "ü"} {
		got := h.ask("", "GET", "/healthz", "", "X-Request-Id", odd).Header().Get("X-Request-Id")
		if got == odd || got == "" {
			t.Errorf("the odd id %q became %q", odd, got)
		}
	}
}

func TestTheLogSaysWhoDidWhatAndNoSecret(t *testing.T) {
	h := newHouse(t)
	h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold"}`, "X-Request-Id", "req-7")
	h.ask("", "GET", "/api/v1/rollouts", "", "Authorization", "Bearer cut_wrong-secret")
	logged := h.log.String()
	for _, want := range []string{`"by":"the-operator"`, `"path":"/api/v1/rollouts/orders-db/commands"`, `"request":"req-7"`, `"status":401`} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log lacks %s:\n%s", want, logged)
		}
	}
	if strings.Contains(logged, h.tokens[Operator]) || strings.Contains(logged, "cut_") {
		t.Errorf("the log has a token:\n%s", logged)
	}
}

func TestHeadIsAnsweredLikeGet(t *testing.T) {
	h := newHouse(t)
	if w := h.ask(Viewer, "HEAD", "/api/v1/rollouts", ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}
