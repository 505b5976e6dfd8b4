package client_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// rooms is what a server needs, in memory.
type rooms struct {
	err     error
	plan    *rollout.Plan
	cmd     rollout.Command
	reports []rollout.TaskReport
}

func (r *rooms) Plan(_ context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error) {
	r.plan, r.cmd = p, c
	return rollout.State{Name: p.Name, PlanVersion: 3}, r.err
}

func (r *rooms) Do(_ context.Context, name string, c rollout.Command) (rollout.State, error) {
	r.cmd = c
	return rollout.State{Name: name, Phase: rollout.RollingBack}, r.err
}

func (r *rooms) Status(_ context.Context, name string) (rollout.Status, error) {
	return rollout.Status{State: rollout.State{Name: name, Plan: &rollout.Plan{Name: name}}, Bake: time.Minute}, r.err
}

func (r *rooms) States(context.Context) ([]rollout.State, error) {
	return []rollout.State{{Name: "a"}, {Name: "b"}}, r.err
}

func (r *rooms) Events(_ context.Context, name string, after uint64, limit int) ([]rollout.Event, error) {
	var events []rollout.Event
	for seq := after + 1; seq <= 5 && len(events) < limit; seq++ {
		events = append(events, rollout.Event{Rollout: name, Seq: seq})
	}
	return events, r.err
}

func (r *rooms) Find(_ context.Context, q rollout.Query) ([]rollout.Event, error) {
	var events []rollout.Event
	for place := q.After + 1; place <= 5 && len(events) < q.Limit; place++ {
		events = append(events, rollout.Event{Rollout: "a", Place: place, Seq: uint64(place)})
	}
	return events, r.err
}

func (r *rooms) Report(_ context.Context, report rollout.TaskReport) error {
	r.reports = append(r.reports, report)
	return r.err
}

// serve starts a server and returns a client of a role.
func serve(t *testing.T, r *rooms, role web.Role) *client.Client {
	t.Helper()
	service := ""
	if role == web.Reporter {
		service = "checkout"
	}
	plain, entry := web.NewToken("ann", role, service)
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := web.SaveTokens(path, []web.Entry{entry}); err != nil {
		t.Fatal(err)
	}
	tokens, err := web.LoadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(_ string, text []byte) (*rollout.Plan, error) {
		if string(text) != "rollout: a" {
			return nil, rollout.Invalid{{Field: "rollout", Value: "?", Allowed: "must be a", Line: 1}}
		}
		return &rollout.Plan{Name: "a"}, nil
	}
	server := httptest.NewServer(web.New(web.Options{
		Desk: r, Journal: r, Fleet: r, Plans: parse, Tokens: tokens, Version: "v9", Log: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(server.Close)
	return client.New(server.URL+"/", plain, http.Client{})
}

func TestEveryCallArrivesAndItsAnswerComesBack(t *testing.T) {
	r := &rooms{}
	c := serve(t, r, web.Admin).As("rolloutctl/1")
	ctx := t.Context()

	if states, err := c.Rollouts(ctx); err != nil || len(states) != 2 || states[1].Name != "b" {
		t.Errorf("Rollouts: %v %v", states, err)
	}
	if status, err := c.Status(ctx, "a/b"); err != nil || status.Bake != time.Minute {
		t.Errorf("Status: %+v %v", status, err)
	}
	if events, next, err := c.Events(ctx, "a", 1, 2); err != nil || len(events) != 2 || next != 3 {
		t.Errorf("Events: %v, next %d, %v", events, next, err)
	}
	if events, next, err := c.Events(ctx, "a", 5, 0); err != nil || len(events) != 0 || next != 5 {
		t.Errorf("no more events: %v, next %d, %v", events, next, err)
	}
	if v, err := c.Version(ctx); err != nil || v != "v9" {
		t.Errorf("Version: %q %v", v, err)
	}

	cmd := rollout.Command{
		Verb: rollout.Rollback, By: "somebody else", Surface: "slack", Request: "req-1", Reason: "pager", Expect: 7,
		To: []rollout.LaneShare{{Lane: "writes", Share: flags.None}},
	}
	if state, err := c.Do(ctx, "a", cmd); err != nil || state.Phase != rollout.RollingBack {
		t.Errorf("Do: %+v %v", state, err)
	}
	cmd.By, cmd.Surface = "ann", "cli"
	if diff := cmp.Diff(cmd, r.cmd); diff != "" {
		t.Errorf("the command arrived otherwise:\n%s", diff)
	}

	if state, err := c.Plan(ctx, []byte("rollout: a"), rollout.Command{Expect: 2, Request: "req-2", Reason: "the peak"}); err != nil || state.PlanVersion != 3 {
		t.Errorf("Plan: %+v %v", state, err)
	}
	if r.cmd.Expect != 2 || r.cmd.Reason != "the peak" || r.cmd.Request != "req-2" {
		t.Errorf("the plan's command arrived as %+v", r.cmd)
	}
}

func TestAReportArrives(t *testing.T) {
	r := &rooms{}
	c := serve(t, r, web.Reporter)
	share := flags.Share(25)
	report := rollout.TaskReport{
		Task: "t1", Service: "checkout", SentAt: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC),
		Lanes: []rollout.LaneReport{{Lane: "reads", ShareSeen: &share, Decided: true, Open: 3}},
	}
	if err := c.Report(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]rollout.TaskReport{report}, r.reports); diff != "" {
		t.Error(diff)
	}
}

func TestAProblemTellsItsKind(t *testing.T) {
	r := &rooms{err: rollout.Refusal("not now; wait")}
	c := serve(t, r, web.Operator)
	_, err := c.Do(t.Context(), "a", rollout.Command{Verb: rollout.Advance})
	p, ok := errors.AsType[*client.Problem](err)
	if !ok || p.Status != 409 || p.Code != "refused" || p.Detail != "not now; wait" || p.RequestID == "" {
		t.Errorf("got %#v", err)
	}
	_, err = c.Plan(t.Context(), []byte("x"), rollout.Command{})
	p, ok = errors.AsType[*client.Problem](err)
	if !ok || p.Status != 422 || len(p.Problems) != 1 || p.Problems[0].Line != 1 {
		t.Errorf("got %#v", err)
	}
	_, err = c.Do(t.Context(), "a", rollout.Command{Verb: rollout.Approve})
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != 403 {
		t.Errorf("got %#v", err)
	}
}

func TestNoAnswerSaysWhetherTheRequestMayHaveArrived(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := listener.Addr().String()
	listener.Close()
	_, err = client.New("http://"+free, "", http.Client{}).Version(t.Context())
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || u.Sent {
		t.Errorf("nobody listens: %#v", err)
	}

	hangsUp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		conn.Close()
	}))
	t.Cleanup(hangsUp.Close)
	_, err = client.New(hangsUp.URL, "", http.Client{}).Version(t.Context())
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || !u.Sent {
		t.Errorf("the server hangs up: %#v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	_, err = client.New(silent.URL, "", http.Client{}).Version(ctx)
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || !u.Sent || !errors.Is(err, context.Canceled) {
		t.Errorf("the server is silent: %#v", err)
	}
}

func TestWhateverElseAnswersIsNotTakenForTheServer(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		kind   string
		body   string
		want   string
	}{
		"the page of a proxy":   {502, "text/html", "<h1>Bad gateway</h1>", "something that is not a Cutover server answered 502"},
		"a page that says fine": {200, "text/html", "<h1>Welcome</h1>", "is that a Cutover server?"},
		"a redirect":            {302, "text/html", "", "something that is not a Cutover server answered 302"},
		"a problem of others":   {403, "application/problem+json", `{"title":"no"}`, "something that is not a Cutover server answered 403"},
	} {
		var asked int
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Type", tt.kind)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		_, err := client.New(other.URL, "cut_secret", http.Client{}).Version(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) || asked != 1 {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
		other.Close()
	}
}

func TestABadURLIsSaid(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:8080", "ftp://x", "http://", "::"} {
		if _, err := client.New(base, "", http.Client{}).Version(t.Context()); err == nil {
			t.Errorf("%q is no error", base)
		}
	}
}
