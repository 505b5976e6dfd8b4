package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

const (
	reads  = 0
	writes = 1
	period = time.Minute
)

// ladderPlan is two lanes of one service, with a gate of each kind.
func ladderPlan() *rollout.Plan {
	limit := 50.0
	gate := func(name string, b gates.OnBreach, scope gates.Scope, lanes ...string) gates.Gate {
		return gates.Gate{
			Name: name, Source: "tasks", Metric: gates.Metric{Name: name, Period: period},
			Limit: gates.Limit{Above: &limit, M: 1, N: 1}, OnBreach: b, Scope: scope, Lanes: lanes,
		}
	}
	var stages []rollout.Stage
	for _, share := range []flags.Share{1, 10, 25, 50, 75, 100} {
		stage := rollout.Stage{Share: share, Bake: 2 * period, MinTasks: 1}
		if share == 50 {
			stage.Approvals = 2
		}
		stage.Manual = share == 100
		stages = append(stages, stage)
	}
	return &rollout.Plan{
		Name: "orders", Owner: "team-orders", Kind: rollout.SameData,
		Database: rollout.Database{Name: "orders"},
		Lanes: []rollout.LanePlan{
			{Name: "reads", Class: rollout.Reads, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: "r"}, Stages: stages},
			{Name: "writes", Class: rollout.Writes, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: "w"}, Stages: stages},
		},
		Gates: []gates.Gate{
			gate("all", gates.OnBreachZero, gates.ScopeDatabase),
			gate("r", gates.OnBreachZero, gates.ScopeLane, "reads"),
			gate("w", gates.OnBreachZero, gates.ScopeLane, "writes"),
			gate("headroom", gates.OnBreachPrevious, gates.ScopeDatabase),
			gate("benefit", gates.OnBreachHold, gates.ScopeDatabase),
		},
		Guard:    rollout.Guard{Every: 10 * time.Second},
		OnRaise:  rollout.OnRaiseHold,
		Converge: rollout.Converge{Within: 5 * time.Minute, MinReporting: 90, Interval: 10 * time.Second},
		Patience: 30 * time.Minute, Grace: 2 * time.Minute, Recovery: 10 * time.Minute,
		Soak: rollout.Soak{For: 3 * period},
	}
}

// inFlight is a write whose fate is not known to whoever sent it.
type inFlight struct {
	lane   int
	change flags.Change
}

// seat is one process that thinks it leads.
type seat struct {
	state rollout.State
	epoch int64
	base  *rollout.State      // the last folded state, while it goes on without the journal
	wrote []rollout.LaneShare // what it lowered meanwhile
}

// world is everything around one rollout: a store, a journal, tasks, gates, a
// clock, people, other hands, and their faults.
type world struct {
	plan *rollout.Plan
	now  time.Time

	store    [2]flags.Setting
	wrote    int64
	obs      [2]flags.Share // what tasks use
	obsSince [2]time.Time
	flight   []inFlight

	journal rollout.State // the folded row
	events  []rollout.Event
	me      seat
	zombie  *seat

	storeUp, journalUp, lease, clock bool
	faults                           bool // writes may be lost, delayed or repeated
	breach                           [5]bool
	silent                           bool // gates are inconclusive
	frozen                           bool // something outside stands against a raise
	badFrom                          time.Time
	bake                             int
	bakeFrom                         time.Time
	dice                             func(n int) int // 0…n-1

	// What the invariants are told by.
	needPerson bool // something was lowered, and no person has resumed since
	onRecord   bool // the same, of what the journal knows
	goodReads  bool // reads baked at 100 % and have not been lowered since
	given      map[string]bool
	unseen     bool          // another hand has lowered a flag, and we have not looked since
	decided    bool          // the present leader has recorded a step of the way up
	gone       bool          // an operator's go since the last change
	raisedBy   *rollout.Plan // what the raise on record goes by
	broken     string
}

func newWorld() *world {
	w := emptyWorld()
	_ = w.command(rollout.Command{Verb: rollout.Start, By: "operator"})
	return w
}

// emptyWorld is a world with a plan that nobody has started.
func emptyWorld() *world {
	w := &world{
		plan: ladderPlan(), now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC),
		storeUp: true, journalUp: true, lease: true, clock: true, given: map[string]bool{},
		dice: func(int) int { return 0 },
	}
	for l := range w.store {
		w.put(l, flags.Setting{})
		w.obsSince[l] = w.now
	}
	w.record(rollout.Event{Seq: 1, Kind: rollout.Planned, At: w.now, By: "planner", Plan: w.plan})
	w.lead()
	return w
}

// clone returns a world that can go on apart from this one.
func (w *world) clone() *world {
	next := *w
	next.events = slices.Clip(w.events)
	next.given = map[string]bool{}
	maps.Copy(next.given, w.given)
	return &next
}

func (w *world) violate(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// --- the store.

func (w *world) put(l int, s flags.Setting) {
	w.wrote++
	s.Revision = strconv.FormatInt(w.wrote, 10)
	w.store[l] = s
}

// apply lets a write reach the store, and holds it against the invariants.
func (w *world) apply(q inFlight, delayed bool) error {
	old := w.store[q.lane]
	next, err := q.change.Apply(old)
	if err != nil {
		return err
	}
	if next.Share > old.Share {
		w.checkRaise(q, old.Share, next.Share)
	}
	if q.change.Kind == flags.Lower && next.Share > old.Share {
		w.violate("I6 a lowering raised a flag")
	}
	w.put(q.lane, next)
	if l := q.lane; l == reads && next.Share < old.Share && w.store[writes].Share > next.Share && w.store[writes].Share <= old.Share &&
		!delayed && w.now.Sub(w.me.state.Changed) <= 3*w.plan.Guard.Every && q.change.Epoch == w.me.epoch {
		w.violate("I2 reads were lowered to %v below writes at %v", next.Share, w.store[writes].Share)
	}
	w.lowered(q.lane, old.Share, next.Share)
	return nil
}

func (w *world) lowered(l int, from, to flags.Share) {
	if l == reads && to < flags.All {
		w.goodReads = false
	}
	if from != to {
		clear(w.given)
		w.gone = false
	}
}

// checkRaise holds a raise that lands against the invariants.
func (w *world) checkRaise(q inFlight, from, to flags.Share) {
	s := &w.journal
	p := s.Pending
	alive := func(s *rollout.State) bool { return s.Lanes[q.lane].Fence == q.change.Revision }
	if alive(s) || alive(&w.me.state) || w.unseen && p != nil && p.Revision == q.change.Revision {
		return // taken back, and the fence has not reached the store: it may still land once
	}
	stage := w.raisedBy.Lanes[q.lane].Stages
	above := slices.IndexFunc(stage, func(s rollout.Stage) bool { return s.Share > from })
	switch {
	case q.change.Kind != flags.Raise:
		w.violate("I6 a %s raised a flag from %v to %v", q.change.Kind, from, to)
	case q.change.Epoch != w.me.epoch && w.decided:
		w.violate("I9 a stale leader's raise was accepted")
	case p == nil || w.plan.Lanes[q.lane].Name != p.Lane || p.To != to:
		w.violate("I6/I16 a raise of lane %d to %v landed that is not on record (%+v), in %s", q.lane, to, p, s.Phase)
	case w.needPerson:
		w.violate("I4 rose from %v to %v after a lowering without a person", from, to)
	case above < 0 || stage[above].Share != to:
		w.violate("I4 rose from %v to %v: not exactly one stage", from, to)
	case q.lane == writes && (w.store[reads].Share != flags.All || !w.goodReads):
		w.violate("I2 writes rose while reads were at %v, baked %v", w.store[reads].Share, w.goodReads)
	case q.lane == writes && to > w.store[reads].Share:
		w.violate("I2 writes rose above reads")
	}
}

// send gives a write to the store, over a wire that may lose, delay or repeat it.
func (w *world) send(q inFlight) error {
	if !w.storeUp {
		return fmt.Errorf("the store is down")
	}
	fate := 0
	if w.faults {
		fate = w.dice(20)
	}
	switch {
	case fate < 12:
		return w.apply(q, false)
	case fate < 14: // done, and the answer is lost
		_ = w.apply(q, false)
		return fmt.Errorf("the answer was lost")
	case fate < 15: // done, and done again later
		w.later(q)
		return w.apply(q, false)
	case fate < 18: // done later, if at all
		w.later(q)
		return fmt.Errorf("no answer")
	default:
		return fmt.Errorf("refused")
	}
}

func (w *world) later(q inFlight) {
	if len(w.flight) < 4 {
		w.flight = append(slices.Clip(w.flight), q)
	}
}

// --- the journal.

// record appends an event; what it tells is what the invariants are told by.
func (w *world) record(e rollout.Event) {
	before := w.journal
	w.journal = rollout.Apply(w.journal, &e)
	w.events = append(w.events, e)
	switch e.Kind {
	case rollout.Late:
		if w.journal.Phase.Lowering() { // else it is history only
			w.needPerson, w.onRecord = true, true
		}
	case rollout.Lowered, rollout.Adopted:
		w.needPerson, w.onRecord = true, true
	case rollout.Resumed, rollout.Retried:
		w.needPerson, w.onRecord = false, false
	case rollout.HeldOn, rollout.Voided, rollout.Rejected:
		clear(w.given)
		w.gone = false
	case rollout.TakenOver, rollout.Proposed, rollout.Amended, rollout.HandedOver:
		w.agreed(&before, &e)
	case rollout.Led:
		w.decided = false
	case rollout.Settled, rollout.TakenBack:
		w.decided = true
	case rollout.Baked:
		w.checkBake(&before)
	case rollout.Raised:
		w.decided, w.raisedBy = true, w.plan
		w.checkRecord(&before, &e)
	}
	for l := range w.journal.Lanes {
		if l == reads && w.journal.Lanes[l].Baked && w.store[l].Share == flags.All {
			w.goodReads = true
		}
	}
}

func (w *world) checkBake(s *rollout.State) {
	at := slices.IndexFunc(s.Lanes, func(l rollout.Lane) bool { return l.Intended > 0 && !l.Baked })
	if at < 0 { // all that have a share have baked: the last of them
		at = min(1, int(s.Lanes[writes].Intended))
	}
	if stage := w.stage(at, s.Lanes[at].Intended); s.Phase != rollout.Baking || !w.bakeFrom.Equal(s.Settled) || time.Duration(w.bake)*period < stage.Bake {
		w.violate("I13 a bake of %v ended in %s with %d buckets", stage.Bake, s.Phase, w.bake)
	}
}

func (w *world) checkRecord(s *rollout.State, e *rollout.Event) {
	stage := w.stage(slices.IndexFunc(s.Lanes, func(l rollout.Lane) bool { return l.Name == e.Lane }), e.To)
	if len(w.given) < stage.Approvals {
		w.violate("I11 a step to %v with %d approvals of %d", e.To, len(w.given), stage.Approvals)
	}
	if stage.Manual && !w.gone {
		w.violate("a manual step without a go")
	}
	if len(s.Holds) > 0 || s.Phase != rollout.Ready && s.Phase != rollout.Waiting {
		w.violate("I4 a raise was recorded in %s with holds %v", s.Phase, s.Holds)
	}
	if s.Phase == rollout.Ready && !s.Settled.IsZero() {
		w.violate("ready with a settled share")
	}
}

// command lets a person do something.
func (w *world) command(c rollout.Command) error {
	if !w.journalUp {
		if c.Verb != rollout.Rollback || w.me.state.Plan == nil {
			return fmt.Errorf("the journal is away")
		}
		e, err := rollout.Obey(&w.me.state, &c, w.now)
		if err == nil {
			w.inMemory(&w.me, &e)
			w.needPerson = true
		}
		return err
	}
	w.comeBack(&w.me)
	e, err := rollout.Obey(&w.journal, &c, w.now)
	if err != nil {
		return err
	}
	w.record(e)
	switch e.Kind {
	case rollout.Approved:
		w.given[c.By] = true
	case rollout.Advanced:
		w.gone = true
	}
	w.me.state = w.journal
	return nil
}

// lead makes a process the leader of a new epoch; the former one lives on as a zombie.
func (w *world) lead() {
	w.forget()
	if w.me.epoch > 0 {
		old := w.me
		w.zombie = &old
	}
	w.me = seat{state: w.journal, epoch: w.me.epoch + 1}
	w.record(rollout.Event{Rollout: w.journal.Name, Seq: w.journal.Version + 1, Kind: rollout.Led, At: w.now, By: rollout.Controller, Epoch: w.me.epoch})
	w.me.state = w.journal
}

// forget is what becomes of a way down that was neither recorded nor written.
func (w *world) forget() {
	if w.me.base == nil {
		return
	}
	w.needPerson = w.onRecord
	for l := range w.store {
		w.needPerson = w.needPerson || w.store[l].Share < w.journal.Lanes[l].Confirmed
	}
}

// crash forgets all that is not in the journal.
func (w *world) crash() {
	w.forget()
	w.me.state, w.me.base, w.me.wrote = w.journal, nil, nil
	if w.journalUp {
		zombie := w.zombie
		w.lead() // whoever starts again leads a new epoch
		w.zombie = zombie
	}
}

// --- the end of a history.

// settleAll makes everything work, and people answer: does the machine come to where it should?
func (w *world) settleAll() {
	w.storeUp, w.journalUp, w.lease, w.clock = true, true, true, true
	w.faults, w.silent, w.frozen, w.flight = false, false, false, nil
	w.breach, w.badFrom = [5]bool{}, time.Time{}
	for range 150 {
		w.pass(period)
		w.cycle(false, false)
		if w.broken != "" {
			w.broken = "at the end, with all well: " + w.broken
			return
		}
		if w.journal.Phase == rollout.Waiting || w.journal.Phase == rollout.Ready {
			for _, by := range []string{"ann", "ben", "cat"} {
				_ = w.command(rollout.Command{Verb: rollout.Approve, By: by})
			}
			_ = w.command(rollout.Command{Verb: rollout.Advance, By: "operator"})
		}
		if w.journal.Phase == rollout.RolledBack || w.journal.Phase == rollout.Soaking && w.journal.Soaked {
			break
		}
	}
	w.checkEnd()
}

func (w *world) checkEnd() {
	s := &w.journal
	drift := slices.ContainsFunc(s.Holds, func(h rollout.Hold) bool { return h.Kind == rollout.HoldDrift })
	kinds := ""
	for _, h := range s.Holds {
		kinds += string(h.Kind) + " "
	}
	person := strings.Contains(kinds, "person") || strings.Contains(kinds, "gate") || drift || strings.Contains(kinds, "hold_all")
	switch {
	case w.store[writes].Share > w.store[reads].Share && !drift:
		w.violate("I2 writes rest above reads and nothing lowers them")
	case s.Phase.Lowering():
		w.violate("L a rollback is never proven: %s", s.Phase)
	case s.Phase == rollout.RolledBack && (w.store[reads].Share > 0 || w.store[writes].Share > 0):
		w.violate("L rolled back, a flag is above 0, and nobody looks")
	case s.Phase == rollout.Held && !drift && (w.store[reads].Share > s.Lanes[reads].Intended || w.store[writes].Share > s.Lanes[writes].Intended):
		w.violate("I6 a decided lowering is never written again")
	case s.Phase == rollout.Held && s.Pending != nil:
		w.violate("L an unconfirmed raise is never resolved under a hold")
	case s.Phase == rollout.Held && !person:
		w.violate("L a hold that clears itself never does: %s", kinds)
	case len(s.Holds) == 0 && s.Phase != rollout.RolledBack && s.Phase != rollout.Soaking && s.Phase != rollout.Draft && !s.Phase.Ended():
		w.violate("L no holds, all good, and it never moves on: %s", s.Phase)
	}
}

// pass lets time go by: tasks follow, buckets fill.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for l := range w.obs {
		if w.obs[l] != w.store[l].Share {
			w.obs[l], w.obsSince[l] = w.store[l].Share, w.now.Add(-period)
		}
	}
	if d >= period && !w.silent {
		w.bake += int(d / period)
	}
}
