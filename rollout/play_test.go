package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// desk is a process that thinks it leads.
type desk struct {
	state rollout.State
	base  *rollout.State // the last folded state, while it goes on without the journal
	wrote []rollout.LaneShare
}

// delayed is a write that is under way.
type delayed struct {
	lane   int
	change flags.Change
}

// play is the small world of a story.
type play struct {
	t     *testing.T
	out   strings.Builder
	quiet bool
	last  string // what was told of the state

	plan    *rollout.Plan
	now     time.Time
	checks  []rollout.Check
	journal rollout.State
	events  []rollout.Event
	leader  desk
	former  desk

	store     [2]flags.Setting
	writes    int
	unread    [2]bool
	blunt     bool   // the store cannot refuse a write that is under way, as Flipt v1
	fate      string // of the next write
	underWay  []delayed
	crashes   string // after what the leader crashes
	seenAs    [2]string
	seenAt    [2]time.Time // when seenAs was last seen
	before    [2]time.Time // when another revision was
	tasks     [2]flags.Share
	since     [2]time.Time
	stay      bool // tasks do not follow
	few       bool // no task hashes below the shares
	strays    int
	lag       int
	replaced  int
	says      map[string]string // of gates
	away      map[string]bool
	badFrom   time.Time
	outside   []rollout.Wait
	lost, gap time.Duration // without data: in all, and until the last settle
}

func newPlay(t *testing.T) *play {
	p := &play{t: t, now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), plan: storyPlan(), says: map[string]string{}, away: map[string]bool{}}
	for l := range p.store {
		p.put(l, flags.Setting{})
		p.since[l] = p.now
	}
	return p
}

// storyPlan has two lanes of three stages, and a gate of each kind.
func storyPlan() *rollout.Plan {
	gate := func(name string, b gates.OnBreach, lanes ...string) gates.Gate {
		g := gates.Gate{Name: name, Source: "tasks", Metric: gates.Metric{Name: name, Period: time.Minute}, OnBreach: b, Scope: gates.ScopeDatabase, Lanes: lanes}
		if lanes != nil {
			g.Scope = gates.ScopeLane
		}
		return g
	}
	lane := func(name string, class rollout.Class) rollout.LanePlan {
		return rollout.LanePlan{
			Name: name, Class: class, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: "orders-" + name},
			Stages: []rollout.Stage{
				{Share: 10, Bake: 10 * time.Minute, MinTasks: 1},
				{Share: 50, Bake: 30 * time.Minute, MinTasks: 1, Approvals: 2},
				{Share: 100, Bake: time.Hour, MinTasks: 1, Manual: true},
			},
		}
	}
	return &rollout.Plan{
		Name: "orders", Owner: "team-orders", Kind: rollout.SameData, Database: rollout.Database{Name: "orders"},
		Lanes: []rollout.LanePlan{lane("reads", rollout.Reads), lane("writes", rollout.Writes)},
		Gates: []gates.Gate{
			gate("borrow-wait", gates.OnBreachZero), gate("failed-writes", gates.OnBreachZero, "writes"),
			gate("headroom", gates.OnBreachPrevious), gate("benefit", gates.OnBreachHold),
		},
		Windows: map[string]rollout.Window{
			"burst": {FromMinute: 25, ToMinute: 26},
			"night": {Daily: true, From: time.Hour, To: 5 * time.Hour, Zone: "UTC"},
		},
		Guard: rollout.Guard{Every: 10 * time.Second}, OnRaise: rollout.OnRaiseHold,
		Converge: rollout.Converge{Within: 5 * time.Minute, MinReporting: 90, Interval: 10 * time.Second},
		Patience: 30 * time.Minute, Grace: 2 * time.Minute, Recovery: 10 * time.Minute, Soak: rollout.Soak{For: 2 * time.Hour},
	}
}

// pass lets time go by; tasks follow their flags, and data come in.
func (p *play) pass(text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	p.now = p.now.Add(d)
	if slices.ContainsFunc(p.plan.Gates, p.dumb) {
		p.lost += d
	}
	if !p.stay {
		p.follow()
		for l, soon := range p.since { // at once, and not only when the pass is over
			if settled := p.now.Add(-min(d, time.Minute)); settled.Before(soon) {
				p.since[l] = settled
			}
		}
	}
}

// dumb reports whether a gate of a lane with a share has no data.
func (p *play) dumb(g gates.Gate) bool {
	idle := slices.Contains(g.Lanes, "writes") && p.store[writes].Share == 0
	return p.says[g.Name] == "silent" && !idle
}

func (p *play) follow() {
	for l := range p.tasks {
		if p.tasks[l] != p.store[l].Share {
			p.tasks[l], p.since[l] = p.store[l].Share, p.now
		}
	}
}

// record appends an event to the journal.
func (p *play) record(e rollout.Event) {
	e.Seq = p.journal.Version + 1
	e.Place = int64(e.Seq)
	p.journal = rollout.Apply(p.journal, &e)
	p.events = append(p.events, e)
	if e.Kind == rollout.Amended {
		p.plan = e.Plan
	}
	if l := slices.IndexFunc(p.plan.Lanes, func(l rollout.LanePlan) bool { return l.Name == e.Lane }); l >= 0 && e.Revision != "" && e.Kind != rollout.Raised {
		if now := p.store[l]; e.Revision != now.Revision || e.Stamp != now.Stamp.Seq {
			p.t.Errorf("what is on record is not what the flag bears, %+v: %s", now, told(&e))
		}
	}
	if e.Kind == rollout.Settled || e.Kind == rollout.SoakBegan {
		p.gap = p.lost
	}
}

// keep records an event of a desk, or lets it go on in memory; it reports whether it could.
func (p *play) keep(d *desk, e *rollout.Event, journal bool) bool {
	switch {
	case journal:
		p.record(*e)
		d.state = p.journal
		p.say("%s", told(e))
	case e.Lowers(d.state.Phase):
		if d.base == nil {
			base := d.state
			d.base = &base
		}
		d.state = rollout.Apply(d.state, e)
		p.say("%s (not recorded)", told(e))
	default:
		return false
	}
	return true
}

// catchUp makes the leader know what the journal knows.
func (p *play) catchUp(d *desk) {
	if !p.away["journal"] {
		p.comeBack(d)
		d.state = p.journal
	}
}

// comeBack tells the journal what was lowered without it.
func (p *play) comeBack(d *desk) {
	if d.base == nil {
		return
	}
	e := rollout.NewLate(d.base, &d.state, d.wrote, p.now)
	p.record(e)
	d.base, d.wrote = nil, nil
	p.say("%s", told(&e))
}

// lead makes a process the leader of a new epoch.
func (p *play) lead() {
	p.leader = desk{state: p.journal}
	p.keep(&p.leader, &rollout.Event{Rollout: p.plan.Name, Kind: rollout.Led, At: p.now, By: rollout.Controller, Epoch: p.journal.Epoch + 1}, true)
}

// crash forgets what is not in the journal; whoever starts again leads anew.
func (p *play) crash() {
	p.crashes = ""
	p.say("the leader crashes")
	p.leader = desk{state: p.journal}
	if !p.away["journal"] {
		p.lead()
	}
}

// cycle is one pass of a controller: look, decide, record, act, look again.
func (p *play) cycle(d *desk, guard bool) {
	leads := d == &p.leader
	seen := p.see(&d.state)
	seen.Guard, seen.Journal, seen.Lease = guard, leads && !p.away["journal"], leads && !p.away["lease"]
	for range 40 {
		did := "write"
		switch step := rollout.Decide(&d.state, &seen, p.now); {
		case step.Event != nil:
			if did = "record"; !p.keep(d, step.Event, seen.Journal) {
				p.t.Fatalf("decided what cannot be recorded: %s", told(step.Event))
			}
		case step.Write != nil:
			p.act(d, step.Write, &seen)
		default:
			for _, w := range step.Waits {
				p.say("waits for %s: %s", strings.TrimSpace(string(w.Kind)+" "+w.Subject), w.Why)
			}
			return
		}
		if p.crashes == did {
			p.crash()
			return
		}
	}
	p.t.Fatal("the cycle never rests")
}

// act sends a write and looks again.
func (p *play) act(d *desk, w *rollout.Write, seen *rollout.Seen) {
	before := p.store[w.Lane].Revision
	err := p.send(w.Lane, w.Change)
	now := p.store[w.Lane]
	switch {
	case p.away["store"]:
		seen.Flags[w.Lane] = rollout.Flag{Err: "the store does not answer", Failed: true}
	case err != nil:
		p.say("the flag of %s does not take it: %v", p.plan.Lanes[w.Lane].Name, err)
		seen.Flags[w.Lane] = rollout.Flag{Setting: now, Failed: true}
	default:
		seen.Flags[w.Lane] = rollout.Flag{Setting: now, Replaced: before}
		if d.base != nil {
			d.wrote = slices.DeleteFunc(slices.Clone(d.wrote), func(a rollout.LaneShare) bool { return a.Lane == p.plan.Lanes[w.Lane].Name })
			d.wrote = append(d.wrote, rollout.LaneShare{Lane: p.plan.Lanes[w.Lane].Name, Share: now.Share, Revision: now.Revision, Stamp: now.Stamp.Seq})
		}
	}
	seen.Tasks[w.Lane] = p.watch(w.Lane)
}

func (p *play) put(l int, s flags.Setting) {
	p.writes++
	s.Revision = strconv.Itoa(p.writes)
	p.store[l] = s
}

// hand is another hand than ours.
func (p *play) hand(l int, share string) {
	next := p.store[l]
	next.Author = "dana"
	if share != "same" {
		next.Share = p.share(share)
	}
	p.put(l, next)
}

// send puts a write on its way.
func (p *play) send(l int, c flags.Change) error {
	if p.away["store"] {
		p.say("%s the flag of %s: no answer", c.Kind, p.plan.Lanes[l].Name)
		return errors.New("no answer")
	}
	fate := p.fate
	switch {
	case fate != "refuse the writes of writes":
		p.fate = ""
	case p.plan.Lanes[l].Name == "writes":
		return errors.New("permission denied")
	}
	switch fate {
	case "lose the answer":
		if err := p.land(l, c); err != nil {
			return err
		}
		return errors.New("no answer")
	case "lose the write":
		return errors.New("no answer")
	case "delay the write":
		p.underWay = append(p.underWay, delayed{l, c})
		return errors.New("no answer yet")
	default:
		return p.land(l, c)
	}
}

// land lets a write reach the store.
func (p *play) land(l int, c flags.Change) error {
	old := p.store[l]
	if p.blunt {
		c.Revision, c.Epoch = old.Revision, max(c.Epoch, old.Stamp.Epoch)
	}
	name := p.plan.Lanes[l].Name
	next, err := c.Apply(old)
	if err != nil {
		p.say("%s the flag of %s: refused, %v", c.Kind, name, err)
		return err
	}
	p.put(l, next)
	p.say("%s the flag of %s: %v→%v, stamped by epoch %d", c.Kind, name, old.Share, next.Share, next.Stamp.Epoch)
	return nil
}

func (p *play) see(s *rollout.State) rollout.Seen {
	seen := rollout.Seen{
		Bake: p.now.Sub(s.Settled) - (p.lost - p.gap), BakeFrom: s.Settled, Clock: !p.away["clock"],
		Blind: p.away["sources"], BadFrom: p.badFrom, Outside: p.outside,
	}
	if s.Phase == rollout.Preflight {
		seen.Report = &rollout.Report{Checks: p.checks, Hash: "preflight"}
	}
	for l := range p.store {
		f := &p.store[l]
		if f.Revision != p.seenAs[l] {
			p.before[l], p.seenAs[l] = p.seenAt[l], f.Revision
		}
		p.seenAt[l] = p.now
		seen.Flags = append(seen.Flags, rollout.Flag{Setting: *f, Before: p.before[l]})
		if p.away["store"] || p.unread[l] {
			seen.Flags[l] = rollout.Flag{Err: "the store does not answer"}
		}
		seen.Tasks = append(seen.Tasks, p.watch(l))
	}
	for i := range p.plan.Gates {
		seen.Verdicts = append(seen.Verdicts, p.judge(s, &p.plan.Gates[i]))
	}
	return seen
}

// watch says what the hundred tasks of a lane do.
func (p *play) watch(l int) rollout.Observation {
	use, share := p.tasks[l], p.store[l].Share
	o := rollout.Observation{
		Share: use, Live: 100, Inventory: 100, On: int(use), Cohort: int(share), Converged: use == share, Since: p.since[l],
		Stray: max(0, int(use-share)), Replaced: p.replaced,
	}
	if p.few {
		o.Cohort, o.On = 0, 0
	}
	if share > 0 && p.strays > 0 {
		o.Share, o.Stray, o.Converged = use+flags.Share(p.strays), p.strays, false
	}
	if share > 0 && p.lag > 0 {
		o.Share, o.On, o.Converged = use-flags.Share(p.lag), o.On-p.lag, false
	}
	if !o.Converged {
		o.Why = fmt.Sprintf("%d tasks use the target, %d should", o.Share, o.Cohort)
	}
	return o
}

func (p *play) judge(s *rollout.State, g *gates.Gate) gates.Verdict {
	v := gates.Verdict{Gate: g.Name, Result: gates.Pass, Recovered: true, Why: "20ms ≤ 50ms"}
	from, counts := s.JudgeFrom(g)
	switch said := p.says[g.Name]; {
	case !counts || from.After(p.now):
		return gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData, Why: "no point counts yet"}
	case said == "breach":
		v.Result, v.Breach, v.Recovered, v.Why = gates.Fail, true, false, "80ms > 50ms in 2 of 3"
	case said == "marginal":
		v.Result, v.Why = gates.Marginal, "48ms, near 50ms"
	case said == "bad":
		v.Result, v.Recovered, v.Why = gates.Fail, false, "80ms > 50ms in 1 of 3"
	case said == "silent":
		v = gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData, Why: "the source answers without a point"}
	case said == "unborn":
		v = gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NotStarted, Why: "no point before the first traffic"}
	}
	return v
}
