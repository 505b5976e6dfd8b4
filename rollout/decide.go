package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// Decide says what comes next: one event, one write, or rest. The first of the
// twelve rules that applies wins. The lanes of seen are those of the plan.
func Decide(s *State, seen *Seen, now time.Time) Step {
	d := &decision{State: s, seen: seen, now: now}
	for i, rule := range rules {
		step, applies := rule(d)
		switch {
		case !applies:
		case step.Event == nil || seen.Journal || step.Event.Lowers(s.Phase):
			return step
		case i == 0:
			return Step{Waits: []Wait{{WaitLease, "journal", "the journal is away"}}}
		}
		// What cannot be recorded now must not keep a later rule from lowering.
	}
	return Step{}
}

// rules are DESIGN's, in their order: what lowers, what holds, what raises.
var rules = [...]func(*decision) (Step, bool){
	(*decision).resting,      // 1
	(*decision).adopting,     // 2
	(*decision).zeroing,      // 3
	(*decision).lowering,     // 4
	(*decision).drifting,     // 5
	(*decision).steppingBack, // 6
	(*decision).blinded,      // 7
	(*decision).holding,      // 8
	(*decision).proving,      // 9
	(*decision).baking,       // 10
	(*decision).waiting,      // 11
	(*decision).stepping,     // 12
}

// decision is one call of Decide.
type decision struct {
	*State
	seen *Seen
	now  time.Time
}

// rest is the step of a rule that applies and has nothing to do.
func rest(waits ...Wait) (Step, bool) { return Step{Waits: waits}, true }

// no is what a rule says that does not apply.
func no() (Step, bool) { return Step{}, false }

func happens(e *Event) (Step, bool) { return Step{Event: e}, true }

func (d *decision) event(kind Kind, why string) *Event {
	return &Event{
		Rollout: d.Name, Seq: d.Version + 1, Kind: kind, At: d.now,
		By: Controller, Surface: Controller, Why: why,
	}
}

func (d *decision) holdEvent(kind HoldKind, why string, page bool) *Event {
	e := d.event(HeldOn, why)
	e.Hold, e.Page = d.newHold(kind, why), page
	return e
}

func (d *decision) newHold(kind HoldKind, why string) *Hold {
	return &Hold{Kind: kind, Owner: Controller, Why: why, At: d.now}
}

// write returns a change of a lane's flag.
func (d *decision) write(lane int, kind flags.Kind, share flags.Share, revision string) (Step, bool) {
	return Step{Write: &Write{Lane: lane, Change: flags.Change{
		Kind: kind, Share: share, Revision: revision,
		Rollout: d.Name, Epoch: d.Epoch, Seq: d.Lanes[lane].Seq,
		Lane: d.Lanes[lane].Name, Class: string(d.Plan.Lanes[lane].Class), Safe: d.safe(),
	}}}, true
}

// share returns the highest share that a lane may have: published, observed,
// confirmed or intended.
func (d *decision) share(lane int) flags.Share {
	l := &d.Lanes[lane]
	share := max(l.Confirmed, l.Intended, d.seen.Tasks[lane].Share)
	if f := &d.seen.Flags[lane]; f.Err == "" {
		share = max(share, f.Share)
	}
	return share
}

// 1. Ended, draft, preflight: rest. Rolled back: a flag above 0 is lowered again.
func (d *decision) resting() (Step, bool) {
	switch {
	case d.Phase == Preflight && d.seen.Report != nil:
		e := d.event(Checked, "")
		e.Report, e.Evidence = d.seen.Report, d.seen.Report.Hash
		for i := range d.Lanes {
			e.Targets = append(e.Targets, d.at(i))
		}
		return happens(e)
	case d.Phase == RolledBack:
		for i := range d.Lanes {
			if f := &d.seen.Flags[i]; f.Err == "" && f.Share > 0 {
				return d.down(d.zeroes(), fmt.Sprintf("flag of lane %s was found at %v after the rollback", d.Lanes[i].Name, f.Share), nil, HoldDrift)
			}
		}
		return rest(Wait{Kind: WaitStart, Why: "rolled back; retry makes a new attempt"})
	case d.Phase == Draft:
		return rest(Wait{Kind: WaitStart, Why: "nobody has started it"})
	case d.Phase == Preflight:
		return rest(Wait{Kind: WaitStart, Why: "the preflight runs"})
	case d.Phase == Completed && !d.Sealed:
		return d.sealing()
	case d.Phase.Ended():
		return rest(Wait{Kind: WaitStart, Why: "it is over"})
	}
	return no()
}

// sealing writes into the flags of a completed rollout that the target is their
// safe value now: break-glass must not go back to what is no longer there.
func (d *decision) sealing() (Step, bool) {
	if !d.seen.Journal || !d.seen.Lease || !d.seen.Clock {
		return rest(Wait{WaitLease, "lease", "leadership is not proven in this cycle"})
	}
	var waits []Wait
	for i := range d.Lanes {
		switch f := &d.seen.Flags[i]; {
		case f.Err != "":
			waits = append(waits, Wait{WaitFlag, d.Lanes[i].Name, f.Err})
		case f.Stamp.Rollout == d.Name && f.Stamp.Safe == d.safe():
		case f.Failed:
			waits = append(waits, Wait{WaitFlag, d.Lanes[i].Name, "the flag does not take the mark of the completion"})
		default:
			return d.write(i, flags.Fence, 0, f.Revision)
		}
	}
	if len(waits) > 0 {
		return rest(waits...)
	}
	return happens(d.event(Sealed, ""))
}

// at returns what a lane's flag shows.
func (d *decision) at(lane int) LaneShare {
	f := &d.seen.Flags[lane]
	return LaneShare{Lane: d.Lanes[lane].Name, Share: f.Share, Revision: f.Revision, Stamp: f.Stamp.Seq}
}

// zeroes returns all lanes at 0 %.
func (d *decision) zeroes() []LaneShare {
	shares := make([]LaneShare, len(d.Lanes))
	for i := range d.Lanes {
		shares[i].Lane = d.Lanes[i].Name
	}
	return shares
}

// down returns the event that lowers lanes, writes lanes with their reads.
func (d *decision) down(targets []LaneShare, why string, gatesInBreach []string, hold HoldKind) (Step, bool) {
	e := d.event(Lowered, why)
	e.Targets = d.Plan.cascade(d.base(targets))
	e.Gates, e.Hold, e.Page = gatesInBreach, d.newHold(hold, why), true
	return happens(e)
}

// 2. A flag below min(confirmed, intended): another hand has lowered it; so be it.
func (d *decision) adopting() (Step, bool) {
	for i := range d.Lanes {
		lane, f := &d.Lanes[i], &d.seen.Flags[i]
		if f.Err != "" || f.Share >= min(lane.Confirmed, lane.Intended) {
			continue
		}
		why := fmt.Sprintf("flag of lane %s was lowered from %v to %v by %s", lane.Name, lane.Confirmed, f.Share, by(f.Author))
		e := d.event(Adopted, why)
		e.Lane, e.From, e.To, e.Revision, e.Stamp = lane.Name, lane.Confirmed, f.Share, f.Revision, f.Stamp.Seq
		e.Hold, e.Page = d.newHold(HoldDrift, why), true
		base := d.base([]LaneShare{{Lane: lane.Name, Share: f.Share}})
		targets := d.Plan.cascade(slices.Clone(base))
		allZero := !slices.ContainsFunc(targets, func(t LaneShare) bool { return t.Share > 0 })
		if allZero || !slices.Equal(base, targets) {
			e.Targets = targets
		}
		return happens(e)
	}
	return no()
}

func by(author string) string {
	if author == "" {
		return "another hand"
	}
	return author
}

// 3. A confirmed breach of a `zero` gate: the lanes in scope go to 0 %, whatever
// the phase; unless the source itself is bad: then both endpoints may share the trouble.
func (d *decision) zeroing() (Step, bool) {
	var breached []string
	var targets []LaneShare
	for i := range d.seen.Verdicts {
		g := &d.Plan.Gates[i]
		if g.OnBreach != gates.OnBreachZero || !d.seen.Verdicts[i].Breach {
			continue
		}
		hit := false
		for l := range d.Lanes {
			if inScope(g, d.Lanes[l].Name) && d.share(l) > 0 && (!d.Phase.Lowering() || d.Lanes[l].Target > 0) {
				targets = append(targets, LaneShare{Lane: d.Lanes[l].Name})
				hit = true
			}
		}
		if hit {
			breached = append(breached, g.Name)
		}
	}
	if len(breached) == 0 {
		return no()
	}
	if bad := d.seen.BadFrom; !bad.IsZero() && d.now.Sub(bad) < d.Plan.Grace {
		if d.holds(HoldData) {
			return no()
		}
		return happens(d.holdEvent(HoldData, "the source fails its own probe: "+d.why(breached), true))
	}
	return d.down(targets, d.why(breached), breached, HoldGate)
}

// inScope reports whether a gate speaks of a lane.
func inScope(g *gates.Gate, lane string) bool {
	return g.Scope != gates.ScopeLane || len(g.Lanes) == 0 || slices.Contains(g.Lanes, lane)
}

// why says what gates say.
func (d *decision) why(names []string) string {
	parts := make([]string, 0, len(names))
	for i := range d.seen.Verdicts {
		if v := &d.seen.Verdicts[i]; slices.Contains(names, v.Gate) {
			parts = append(parts, "gate "+v.Gate+": "+v.Why)
		}
	}
	return strings.Join(parts, "; ")
}

// 6. A breach of a `previous` gate: the lane raised last goes back one stage;
// the second time all go to 0. A breach of a `hold` gate: hold.
func (d *decision) steppingBack() (Step, bool) {
	if d.Settled.IsZero() && (d.Phase != Held || d.Pending != nil) {
		return no()
	}
	var back, hold []string
	for i := range d.seen.Verdicts {
		switch g := &d.Plan.Gates[i]; {
		case !d.seen.Verdicts[i].Breach || !d.concerns(g):
		case g.OnBreach == gates.OnBreachPrevious:
			back = append(back, g.Name)
		case g.OnBreach == gates.OnBreachHold:
			hold = append(hold, g.Name)
		}
	}
	if len(back) > 0 {
		return d.stepBack(back)
	}
	if len(hold) > 0 && !d.holds(HoldGate) {
		return happens(d.holdEvent(HoldGate, d.why(hold), false))
	}
	return no()
}

// concerns reports whether a gate speaks of a lane with a share.
func (d *decision) concerns(g *gates.Gate) bool {
	for l := range d.Lanes {
		if inScope(g, d.Lanes[l].Name) && d.share(l) > 0 {
			return true
		}
	}
	return false
}

func (d *decision) stepBack(breached []string) (Step, bool) {
	targets := d.zeroes()
	if last := d.highest(); d.Previous == 0 && last >= 0 {
		from := d.Lanes[last].Intended
		if d.pending() == last {
			from = d.Lanes[last].Confirmed
		}
		targets = []LaneShare{{Lane: d.Lanes[last].Name, Share: d.Plan.Lanes[last].previous(from)}}
	}
	step, applies := d.down(targets, d.why(breached), breached, HoldGate)
	step.Event.Again = true
	return step, applies
}

// highest returns the lane raised last, or the last that has a share; -1 if none.
func (d *decision) highest() int {
	if d.LastRaised >= 0 && d.Lanes[d.LastRaised].Intended > 0 {
		return d.LastRaised
	}
	for i, lane := range slices.Backward(d.Lanes) {
		if lane.Intended > 0 {
			return i
		}
	}
	return -1
}

// 7. What cannot be seen is not trusted; who does not lead does not raise.
func (d *decision) blinded() (Step, bool) {
	if !d.seen.Journal { // no hold can be recorded, and nothing below here lowers
		return rest(Wait{WaitLease, "journal", "the journal is away"})
	}
	for i := range d.Lanes {
		if f := &d.seen.Flags[i]; f.Err != "" {
			if d.holds(HoldFlagUnknown) {
				return rest(Wait{WaitFlag, d.Lanes[i].Name, f.Err})
			}
			return happens(d.holdEvent(HoldFlagUnknown, "flag of lane "+d.Lanes[i].Name+" cannot be read: "+f.Err, true))
		}
	}
	switch {
	case d.seen.Blind && !d.atZero() && !d.holds(HoldData):
		return happens(d.holdEvent(HoldData, "all independent sources are blind", true))
	case !d.seen.Clock:
		return rest(Wait{WaitLease, "clock", "the clock is in doubt"})
	case !d.seen.Lease:
		return rest(Wait{WaitLease, "lease", "leadership is not proven in this cycle"})
	}
	return d.stamping()
}

// stamping puts a new leader's epoch on every flag before it decides anything
// more, and keeps the record of which revisions are ours.
func (d *decision) stamping() (Step, bool) {
	if d.Untouched { // nothing rises before it is resumed
		return no()
	}
	for i := range d.Lanes {
		f := &d.seen.Flags[i]
		switch {
		case d.pending() == i && f.Revision != d.Pending.Revision && !d.fresh(i):
			return d.takenBack(i) // before our stamp hides that another hand wrote it
		case f.Stamp.Epoch < d.Epoch && f.Failed:
			return rest(Wait{WaitFlag, d.Lanes[i].Name, "the flag does not take the new leader's stamp"})
		case f.Stamp.Epoch < d.Epoch:
			return d.write(i, flags.Fence, 0, f.Revision)
		case d.restamped(i) && f.Replaced == "" && d.Lanes[i].Revision != "" && (d.Go || len(d.Approvals) > 0):
			// A guard that crashed may have lowered what another hand had raised.
			return happens(d.event(Voided, "the flag of lane "+d.Lanes[i].Name+" was written by us, and it is not on record why"))
		case d.restamped(i):
			e := d.event(Stamped, "")
			e.Lane, e.Revision, e.Stamp, e.Epoch = d.Lanes[i].Name, f.Revision, f.Stamp.Seq, d.Epoch
			return happens(e)
		}
	}
	return no()
}

// restamped reports whether a flag has a revision of ours that is not on record
// yet. That of a recorded raise is put on record only where our stamp is known
// to have replaced the very revision that the raise is conditional on.
func (d *decision) restamped(i int) bool {
	lane, f := &d.Lanes[i], &d.seen.Flags[i]
	if d.pending() == i {
		return f.Replaced != "" && f.Replaced == d.Pending.Revision && f.Share == d.Pending.From && d.fresh(i) && len(d.Holds) == 0
	}
	return f.Share == lane.Confirmed && f.Revision != lane.Revision && (lane.Revision == "" || d.fresh(i))
}
