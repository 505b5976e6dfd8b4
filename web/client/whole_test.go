package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
	"github.com/seed-c8cbbb61/cutover/web"
	"github.com/seed-c8cbbb61/cutover/web/apitest"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// described is what the server says of its API, read once for all tests.
var described = sync.OnceValue(func() *apitest.Description {
	d, err := apitest.Load(context.Background(), web.New(web.Options{Log: slog.New(slog.DiscardHandler)}))
	if err != nil {
		panic(err)
	}
	return d
})

// whole is a server on a real controller and a real journal, held to its
// description, with a client of each role.
type whole struct {
	*controller.Controller

	of map[web.Role]*client.Client
}

func open(t *testing.T) *whole {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	j, err := journal.Open(t.Context(), "sqlite::memory:", log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	fleet, store := controller.NewFleet(time.Now), &flags.Memory{}
	w := &whole{of: map[web.Role]*client.Client{}}
	w.Controller = controller.New(controller.Options{Journal: j, Flags: store, Fleet: fleet, Log: log, Lead: j.Lead, Metrics: map[string]controller.Metrics{"cloudwatch": calm{}}})
	for _, key := range []string{"orders-db-reads", "users-db-reads"} {
		store.Put(flags.Key{Namespace: "default", Name: key}, 0)
	}
	var entries []web.Entry
	plain := map[web.Role]string{}
	for _, role := range []web.Role{web.Viewer, web.Operator, web.Approver, web.Admin, web.Reporter} {
		service := ""
		if role == web.Reporter {
			service = "checkout"
		}
		token, entry := web.NewToken("the-"+string(role), role, service)
		plain[role], entries = token, append(entries, entry)
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := web.SaveTokens(path, entries); err != nil {
		t.Fatal(err)
	}
	tokens, err := web.LoadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(described().Check(t, web.New(web.Options{
		Desk: w, House: w, Inspector: w, Amender: w, Journal: j, Fleet: fleet, Audit: j, Plans: planfile.Parse, Tokens: tokens, Version: "v9", Log: log,
	})))
	t.Cleanup(server.Close)
	for role, token := range plain {
		w.of[role] = client.New(server.URL, token, http.Client{}).As("rolloutctl/1")
	}
	return w
}

// calm is a source whose metrics are always 1.
type calm struct{}

func (calm) Read(_ context.Context, metrics []gates.Metric, from, to time.Time) []gates.Series {
	all := make([]gates.Series, len(metrics))
	for i, m := range metrics {
		for at := from.Truncate(m.Period); !at.Add(m.Period).After(to); at = at.Add(m.Period) {
			all[i].Points = append(all[i].Points, gates.Point{Start: at, Value: 1})
		}
	}
	return all
}

// planned stores a plan under another name and database.
func (w *whole) planned(t *testing.T, name string) rollout.State {
	t.Helper()
	database, _, _ := strings.Cut(name, "-")
	text := strings.NewReplacer("orders-db", name, "name: orders,", "name: "+database+",").Replace(planYAML)
	text = strings.Replace(text, "{share: 50%, bake: 1h}", "{share: 50%, bake: 1h, approvals: 1}", 1)
	text = strings.Replace(text, "source: tasks\n    metric: {name: worst_wait_ms, unit: ms}", "source: cloudwatch\n    metric: {namespace: AWS/RDS, name: Waits, stat: p99, period: 1m, unit: ms}", 1)
	state, err := w.of[web.Operator].Plan(t.Context(), []byte(text), rollout.Command{Reason: "the peak", Request: "plan-" + name})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestLookingFromTheOtherSide(t *testing.T) {
	w, ctx := open(t), t.Context()
	c := w.of[web.Viewer]
	for _, name := range []string{"orders-db", "users-db", "carts-db"} {
		w.planned(t, name)
	}

	page, next, err := c.FindPage(ctx, client.Filter{Phases: []rollout.Phase{rollout.Draft, rollout.Held}, Owner: "team-orders"}, "", 2)
	if err != nil || len(page) != 2 || page[0].Name != "carts-db" || next != "orders-db" {
		t.Errorf("the first part: %d, next %q, %v", len(page), next, err)
	}
	page, next, err = c.FindPage(ctx, client.Filter{}, next, 2)
	if err != nil || len(page) != 1 || page[0].Name != "users-db" || next != "" {
		t.Errorf("the last part: %d, next %q, %v", len(page), next, err)
	}
	if all, err := c.Find(ctx, client.Filter{Database: "users"}); err != nil || len(all) != 1 || all[0].Name != "users-db" {
		t.Errorf("by database: %v, %v", all, err)
	}

	events, place, err := c.AllEvents(ctx, client.EventFilter{Kinds: []rollout.Kind{rollout.Planned}, By: "the-operator"}, 1, 1)
	if err != nil || len(events) != 1 || events[0].Rollout != "users-db" || place != 2 {
		t.Errorf("events: %v, to %d, %v", events, place, err)
	}
	var told []string
	for e, err := range c.StreamAll(ctx, client.EventFilter{}, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if told = append(told, e.Rollout); len(told) == 2 {
			break
		}
	}
	if !slices.Equal(told, []string{"users-db", "carts-db"}) {
		t.Errorf("the stream told %v", told)
	}
	for e, err := range c.Stream(ctx, "carts-db", 0) {
		if err != nil || e.Seq != 1 || e.Plan == nil || e.Place != 3 {
			t.Errorf("the stream of one told %+v, %v", e, err)
		}
		break
	}

	who, err := c.Whoami(ctx)
	if err != nil || who.Name != "the-viewer" || len(who.Grants) != 1 || who.Grants[0].Role != "viewer" || !slices.Equal(who.May["read"], []string{"*"}) {
		t.Errorf("who am I: %+v, %v", who, err)
	}
}

func TestAStepFromTheOtherSide(t *testing.T) {
	w, ctx := open(t), t.Context()
	c := w.of[web.Operator]
	w.planned(t, "orders-db")
	for n := range 20 {
		report := rollout.TaskReport{
			Task: fmt.Sprintf("t-%02d", n), Service: "checkout", SentAt: time.Now(), StartedAt: time.Now().Add(-time.Hour),
			Lanes: []rollout.LaneReport{{Lane: "reads", Endpoint: "orders.example:3306", Open: 3}},
		}
		if err := w.of[web.Reporter].Report(ctx, report); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := c.LastPreflight(ctx, "orders-db"); err != nil || last != nil {
		t.Errorf("before there was a preflight: %+v, %v", last, err)
	}
	report, err := c.Preflight(ctx, "orders-db")
	if err != nil || len(report.Checks) == 0 || !report.Passed() {
		t.Fatalf("the preflight: %+v, %v", report, err)
	}
	if _, err := c.Do(ctx, "orders-db", rollout.Command{Verb: rollout.Start, Expect: 1}); err != nil {
		t.Fatal(err)
	}
	if last, err := w.ready(ctx, c); err != nil || last == nil || !last.Passed() {
		t.Fatalf("its preflight: %+v, %v", last, err)
	}

	readings, err := c.Gates(ctx, "orders-db", time.Hour)
	if err != nil || len(readings) != 1 || readings[0].Gate.Name != "waits" || readings[0].Verdict.Gate != "waits" || len(readings[0].Points) == 0 {
		t.Errorf("gates: %+v, %v", readings, err)
	}
	tasks, err := c.Tasks(ctx, "orders-db", client.TaskFilter{Lane: "reads", Use: rollout.OnSource}, "checkout t-04", 10)
	want := map[string]map[rollout.TaskUse]int{"reads": {rollout.OnSource: 20}}
	if err != nil || len(tasks.Tasks) != 10 || tasks.Tasks[0].Task != "t-05" || tasks.Next != "checkout t-14" || !cmp.Equal(tasks.Counts, want) {
		t.Errorf("tasks: %+v, %v", tasks, err)
	}

	asked, err := w.of[web.Approver].Approvals(ctx)
	if err != nil || len(asked) != 1 || asked[0].Rollout != "orders-db" || asked[0].Lane != "reads" || asked[0].To != 50 || !asked[0].May {
		t.Fatalf("what waits for approval: %+v, %v", asked, err)
	}
	if own, err := c.ApprovalsOf(ctx, "orders-db"); err != nil || len(own) != 1 || own[0].May || !strings.Contains(own[0].Why, "approver") {
		t.Errorf("an operator may approve: %+v, %v", own, err)
	}
	step := rollout.Command{Verb: rollout.Approve, Expect: asked[0].Version, To: []rollout.LaneShare{{Lane: "reads", Share: 50}}}
	if _, err := w.of[web.Approver].Do(ctx, "orders-db", step); err != nil {
		t.Fatal(err)
	}
	if asked, err = w.of[web.Approver].Approvals(ctx); err != nil || len(asked) != 1 || asked[0].May || len(asked[0].Given) != 1 {
		t.Errorf("once it is approved: %+v, %v", asked, err)
	}

	_, err = w.of[web.Approver].Do(ctx, "orders-db", rollout.Command{Verb: rollout.HoldIt, Expect: step.Expect})
	p, ok := errors.AsType[*client.Problem](err)
	if !ok || p.Code != "conflict" || p.Changed == nil || p.Changed.Expected != step.Expect || p.Changed.Now <= step.Expect {
		t.Fatalf("a stale hold: %#v", err)
	}
	change := p.Changed.Events[0]
	if len(p.Changed.Events) != 1 || change.Kind != rollout.Approved || change.By != "the-approver" || change.What != "reads 0% to 50%" {
		t.Errorf("what changed: %+v", p.Changed.Events)
	}
	if _, err := c.Do(ctx, "orders-db", rollout.Command{Verb: rollout.HoldIt, Reason: "lunch", Request: "h-1"}); err != nil {
		t.Fatal(err)
	}
	if holds, err := c.Holds(ctx, "orders-db"); err != nil || len(holds) != 1 || holds[0].Why != "lunch" {
		t.Errorf("holds: %+v, %v", holds, err)
	}
	_, err = c.Do(ctx, "orders-db", rollout.Command{Verb: rollout.Resume, Request: "h-1"})
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Code != "request_reused" {
		t.Errorf("a request id for something else: %#v", err)
	}
}

// ready carries on until the preflight is through.
func (w *whole) ready(ctx context.Context, c *client.Client) (*rollout.Report, error) {
	for now := time.Now(); now.Before(time.Now().Add(10 * time.Minute)); now = now.Add(time.Second) {
		w.Cycle(ctx, now)
		if status, err := c.Status(ctx, "orders-db"); err != nil || status.State.Phase == rollout.Ready {
			last, odd := c.LastPreflight(ctx, "orders-db")
			return last, errors.Join(err, odd)
		}
	}
	return nil, errors.New("it never became ready")
}

func TestWhatStandsForAllFromTheOtherSide(t *testing.T) {
	w, ctx := open(t), t.Context()
	ann, ben := w.of[web.Operator], w.of[web.Admin]

	held, err := ann.HoldAll(ctx, rollout.HouseCommand{Reason: "storm", Request: "s-1"})
	if err != nil || held.Hold == nil || held.Hold.Why != "storm" || held.Hold.Owner != "the-operator" {
		t.Errorf("hold all: %+v, %v", held, err)
	}
	if again, err := ann.HoldAll(ctx, rollout.HouseCommand{Reason: "storm", Request: "s-1"}); err != nil || again.Hold == nil {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	if held, err = ann.ReleaseAll(ctx, rollout.HouseCommand{Reason: "over"}); err != nil || held.Hold == nil || held.Releasing != "the-operator" {
		t.Errorf("the first release: %+v, %v", held, err)
	}
	if held, err = ben.ReleaseAll(ctx, rollout.HouseCommand{}); err != nil || held.Hold != nil {
		t.Errorf("the second release: %+v, %v", held, err)
	}
	if held, err = ben.HeldAll(ctx); err != nil || held.Hold != nil || held.Releasing != "" {
		t.Errorf("released: %+v, %v", held, err)
	}

	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	frozen, err := ann.Freeze(ctx, rollout.HouseCommand{Database: rollout.AllDatabases, Until: until, Reason: "the peak"})
	if err != nil || len(frozen) != 1 || frozen[0].Database != "*" || !frozen[0].Until.Equal(until) {
		t.Errorf("freeze: %+v, %v", frozen, err)
	}
	if frozen, err = ben.Freezes(ctx); err != nil || len(frozen) != 1 {
		t.Errorf("freezes: %+v, %v", frozen, err)
	}
	if frozen, err = ben.Thaw(ctx, rollout.HouseCommand{Database: rollout.AllDatabases}); err != nil || len(frozen) != 0 {
		t.Errorf("thaw: %+v, %v", frozen, err)
	}

	deploy := rollout.HouseCommand{Database: "orders", What: "deploy checkout 2.4", Until: until}
	if list, err := ann.Disturb(ctx, deploy); err != nil || len(list) != 1 || list[0].What != deploy.What {
		t.Errorf("disturb: %+v, %v", list, err)
	}
	if list, err := ann.Disturbances(ctx); err != nil || len(list) != 1 {
		t.Errorf("disturbances: %+v, %v", list, err)
	}
	if list, err := ann.Quiet(ctx, deploy); err != nil || len(list) != 0 {
		t.Errorf("quiet: %+v, %v", list, err)
	}

	secret, token, err := ben.MakeToken(ctx, client.Token{Name: "eve", Grants: []client.Grant{{Role: "viewer", Databases: []string{"orders"}}}}, 24*time.Hour, "t-1")
	if err != nil || !strings.HasPrefix(secret, "cut_") || token.Name != "eve" || token.Expires.Before(time.Now()) {
		t.Errorf("a token: %+v, %v", token, err)
	}
	if list, err := ben.Tokens(ctx); err != nil || len(list) != 6 || list[0].Name != "eve" {
		t.Errorf("tokens: %+v, %v", list, err)
	}
	if err := ben.TakeToken(ctx, "eve", "t-2"); err != nil {
		t.Errorf("taking it away: %v", err)
	}
}
