package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

const tablePlan = `
rollout: orders-db
owner: team-orders
kind: same-data
database: {name: payments, engine: aurora-mysql, max_connections: 16000}
source: {host: orders.cluster.example, port: 3306, kind: direct}
target: {host: orders-proxy.example, port: 3306, kind: rds-proxy}
services: [{name: checkout, tasks: 40, pool_max: 38}]
lanes:
  - {name: reads, class: reads, services: [checkout], flag: {key: orders-db-reads}, stages: [{share: 50%, bake: 1h, approvals: 1, go: manual}, {share: 100%, bake: 1h, approvals: 1, go: manual}]}
  - {name: writes, class: writes, services: [checkout], flag: {key: orders-db-writes}, stages: [{share: 50%, bake: 1h}, {share: 100%, bake: 1h}]}
soak: {for: 7d}
gates:
  - {name: wait, source: tasks, metric: {name: worst_wait_ms, unit: ms, period: 5s}, limit: {above: 50ms, for: 2 of 3}, on_breach: zero}
`

// stateOf is a state of the table, and the events that lead there.
type stateOf struct {
	name   string
	phase  rollout.Phase
	events []rollout.Event
}

// states are those that the table is about.
func states() []stateOf {
	event := func(kind rollout.Kind, change ...func(*rollout.Event)) rollout.Event {
		e := rollout.Event{Kind: kind, By: "planner"}
		for _, f := range change {
			f(&e)
		}
		return e
	}
	share := func(lane string, from, to flags.Share) func(*rollout.Event) {
		return func(e *rollout.Event) { e.Lane, e.From, e.To, e.Revision = lane, from, to, "r" }
	}
	held := event(rollout.HeldOn, func(e *rollout.Event) { e.Hold = &rollout.Hold{Kind: rollout.HoldGate, Owner: rollout.Controller} })
	passed := event(rollout.Checked, func(e *rollout.Event) {
		e.Report, e.Evidence = &rollout.Report{Checks: []rollout.Check{{Name: "flags", Result: rollout.CheckPass}}}, "report"
	})
	down := event(rollout.Lowered, func(e *rollout.Event) { e.Targets = []rollout.LaneShare{{Lane: "writes"}, {Lane: "reads"}} })

	started := []rollout.Event{event(rollout.Started)}
	ready := append(slices.Clone(started), passed)
	advancing := append(slices.Clone(ready), event(rollout.Raised, share("reads", 0, 50)), event(rollout.Confirmed, share("reads", 0, 50)))
	baking := append(slices.Clone(advancing), event(rollout.Settled))
	waiting := append(slices.Clone(baking), event(rollout.Baked, func(e *rollout.Event) { e.Evidence = "bake" }))
	heldUp := append(slices.Clone(waiting), held)
	lowering := append(slices.Clone(baking), down)
	soaking := append(slices.Clone(waiting),
		event(rollout.Raised, share("reads", 50, 100)), event(rollout.Confirmed, share("reads", 50, 100)), event(rollout.Settled), event(rollout.Baked),
		event(rollout.Raised, share("writes", 0, 100)), event(rollout.Confirmed, share("writes", 0, 100)), event(rollout.Settled), event(rollout.Baked),
		event(rollout.SoakBegan))
	soaked := append(slices.Clone(soaking), event(rollout.SoakEnded, func(e *rollout.Event) { e.Evidence = "soak" }),
		event(rollout.Approved, func(e *rollout.Event) {
			e.Approval = &rollout.Approval{By: "planner", From: 100, To: 100, Evidence: "soak", Expires: time.Now().Add(1000 * time.Hour)}
		}))
	proposed := event(rollout.Proposed, func(e *rollout.Event) { e.Loosens = []string{"soak.for: 7d to 5d"} })
	return []stateOf{
		{"draft", rollout.Draft, nil},
		{"preflight", rollout.Preflight, started},
		{"ready", rollout.Ready, ready},
		{"advancing", rollout.Advancing, advancing},
		{"baking", rollout.Baking, baking},
		{"waiting", rollout.Waiting, waiting},
		{"held", rollout.Held, heldUp},
		{"held at 0 %", rollout.Held, append(slices.Clone(ready), held)},
		{"held with an amendment", rollout.Held, append(slices.Clone(heldUp), proposed)},
		{"rolling_back", rollout.RollingBack, lowering},
		{"stuck", rollout.Stuck, append(slices.Clone(lowering), event(rollout.BecameStuck))},
		{"rolled_back", rollout.RolledBack, append(slices.Clone(lowering), event(rollout.Confirmed, share("reads", 50, 0)), event(rollout.Proven))},
		{"soaking", rollout.Soaking, soaking},
		{"soaked", rollout.Soaking, soaked},
		{"completed", rollout.Completed, append(slices.Clone(soaked), event(rollout.Done))},
		{"withdrawn", rollout.Withdrawn, []rollout.Event{event(rollout.GivenUp)}},
	}
}

// ledger is a journal in memory that can be laid out anew.
type ledger struct {
	states map[string]rollout.State
	told   []rollout.Event // since it was laid out
}

// lay puts a rollout into a state, and what stands for all beside it.
func (l *ledger) lay(before rollout.State, house []rollout.Event) {
	l.told = nil
	all := rollout.State{Name: rollout.HouseName}
	for i := range house {
		house[i].Rollout, house[i].Seq = rollout.HouseName, all.Version+1
		all = rollout.Apply(all, &house[i])
	}
	l.states = map[string]rollout.State{before.Name: before, rollout.HouseName: all}
}

func (l *ledger) State(_ context.Context, name string) (rollout.State, error) {
	s, ok := l.states[name]
	if !ok {
		return s, rollout.ErrNotFound
	}
	return s, nil
}

func (l *ledger) Active(context.Context) ([]rollout.State, error) {
	var list []rollout.State
	for _, s := range l.states {
		if s.Plan != nil && s.Phase.Active() {
			list = append(list, s)
		}
	}
	return list, nil
}

func (l *ledger) Append(_ context.Context, before rollout.State, e rollout.Event) (rollout.State, rollout.Event, error) {
	e.Rollout, e.Seq = before.Name, before.Version+1
	if l.states[before.Name].Version != before.Version {
		return before, e, rollout.ErrConflict
	}
	after := rollout.Apply(before, &e)
	l.states[before.Name], l.told = after, append(l.told, e)
	return after, e, nil
}

func (l *ledger) States(ctx context.Context) ([]rollout.State, error) { return l.Active(ctx) }

func (l *ledger) Events(context.Context, string, uint64, int) ([]rollout.Event, error) {
	return l.told, nil
}

func (l *ledger) Find(context.Context, rollout.Query) ([]rollout.Event, error) { return l.told, nil }

// sound is a journal that nobody has touched, and that is empty.
type sound struct{}

func (sound) Verify(context.Context, ...audit.Checkpoint) (audit.Result, error) {
	return audit.Result{}, nil
}

func (sound) Export(context.Context, io.Writer, int64) error { return nil }

// tables is everything that the table is tried on: the real controller and API on
// a journal in memory.
type tables struct {
	*testing.T

	ledger  *ledger
	server  *server // what console and Slack will ask
	handler http.Handler
	tokens  map[string]string
	cases   int
}

func newTables(t *testing.T) *tables {
	t.Helper()
	w := &tables{T: t, ledger: &ledger{}, tokens: map[string]string{}}
	_, heir := NewToken("heir", Operator, "")
	entries := []Entry{heir}
	for _, who := range callers() {
		e := Entry{Name: who.Name, Grants: who.Grants, Service: who.Service}
		w.tokens[who.Name] = e.Mint()
		entries = append(entries, e)
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := SaveTokens(path, entries); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour) // or it would be read again and again
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	store := &flags.Memory{}
	for _, name := range []string{"orders-db-reads", "orders-db-writes"} {
		store.Create(flags.Key{Namespace: "default", Name: name})
	}
	log := slog.New(slog.DiscardHandler)
	desk := controller.New(controller.Options{Journal: w.ledger, Flags: store, Fleet: controller.NewFleet(time.Now), Log: log})
	refusals := NewRefusals(desk, log)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- refusals.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	o := Options{
		Desk: desk, House: desk, Inspector: desk, Amender: desk, Journal: w.ledger, Fleet: controller.NewFleet(time.Now), Plans: planfile.Parse,
		Tokens: mustLoad(t, path), Log: log, Refusals: refusals, Audit: sound{},
		Decisions: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}
	w.server, w.handler = &server{Options: o, limits: newLimits(Rates{})}, New(o)
	return w
}

// in returns the rollout in one of the states.
func (w *tables) in(of stateOf) rollout.State {
	w.Helper()
	plan, err := planfile.Parse("plan.yaml", []byte(tablePlan))
	if err != nil {
		w.Fatal(err)
	}
	looser := *plan
	looser.Soak.For = 5 * 24 * time.Hour
	events := append([]rollout.Event{{Kind: rollout.Planned, Plan: plan, By: "planner"}}, of.events...)
	for i := range events {
		events[i].Rollout, events[i].Seq, events[i].At = "orders-db", uint64(i+1), time.Now().UTC()
		if events[i].Kind == rollout.Proposed {
			events[i].Plan = &looser
		}
	}
	s := rollout.Fold(events)
	if s.Phase != of.phase || (s.Proposal != nil) != strings.Contains(of.name, "amendment") {
		w.Fatalf("the state %q is %s", of.name, s.Phase)
	}
	return s
}

// offered is a rollout that is offered to somebody.
func offered(s rollout.State, to string) rollout.State {
	return rollout.Apply(s, &rollout.Event{Kind: rollout.Offered, Rollout: s.Name, Seq: s.Version + 1, At: time.Now().UTC(), Subject: to})
}
