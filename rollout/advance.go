package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// 8. Held: nothing rises. An unconfirmed raise is read back, and kept or taken
// back; holds whose cause is gone end.
func (d *decision) holding() (Step, bool) {
	if len(d.Holds) == 0 {
		return no()
	}
	if d.Pending != nil {
		return d.resolve()
	}
	var gone []HoldKind
	for _, h := range d.Holds {
		if h.Kind.clearsItself() && d.causeGone(h.Kind) {
			gone = append(gone, h.Kind)
		}
	}
	if len(gone) > 0 {
		e := d.event(Released, "the cause is gone")
		e.Holds = gone
		return happens(e)
	}
	waits := make([]Wait, len(d.Holds))
	for i, h := range d.Holds {
		waits[i] = Wait{WaitHold, string(h.Kind), h.Why + " (" + h.Owner + ")"}
	}
	return rest(waits...)
}

// causeGone reports whether what a self-clearing hold was for is over. A flag
// that can be read has got past rule 7.
func (d *decision) causeGone(kind HoldKind) bool {
	switch kind {
	case HoldNotConverged:
		return len(d.following()) == 0
	case HoldData:
		return !d.seen.Blind && d.seen.BadFrom.IsZero() && !d.inconclusive()
	default:
		return kind == HoldFlagUnknown
	}
}

// inconclusive reports whether a gate of a lane with a share, whose points count,
// has no verdict.
func (d *decision) inconclusive() bool {
	for i := range d.seen.Verdicts {
		v := &d.seen.Verdicts[i]
		from, counts := d.JudgeFrom(&d.Plan.Gates[i])
		if counts && !from.After(d.now) && d.concerns(&d.Plan.Gates[i]) && v.Result == gates.Inconclusive && v.Cause != gates.NotStarted {
			return true
		}
	}
	return false
}

// resolve ends an unconfirmed raise under a hold: published, it is kept; else a
// fence first kills the write that may be in flight, and then it is taken back.
func (d *decision) resolve() (Step, bool) {
	i, p := d.pending(), d.Pending
	f := &d.seen.Flags[i]
	switch {
	case d.published(i):
		return d.confirmed(i)
	case f.Revision != p.Revision:
		return d.takenBack(i)
	case f.Failed:
		return rest(Wait{WaitFlag, p.Lane, "the flag cannot be written"})
	default:
		return d.write(i, flags.Fence, 0, p.Revision)
	}
}

// published reports whether the unconfirmed raise has reached the store.
func (d *decision) published(i int) bool {
	f := &d.seen.Flags[i]
	return f.Share == d.Pending.To && d.fresh(i) && f.Revision != d.Pending.Revision
}

func (d *decision) confirmed(i int) (Step, bool) {
	f := &d.seen.Flags[i]
	e := d.event(Confirmed, "")
	e.Lane, e.From, e.To, e.Revision, e.Stamp = d.Lanes[i].Name, d.Lanes[i].Confirmed, f.Share, f.Revision, f.Stamp.Seq
	return happens(e)
}

func (d *decision) takenBack(i int) (Step, bool) {
	f, p := &d.seen.Flags[i], d.Pending
	e := d.event(TakenBack, "")
	e.Lane, e.From, e.To, e.Revision, e.Stamp = p.Lane, p.To, p.From, f.Revision, f.Stamp.Seq
	if !d.fresh(i) || f.Share != p.From {
		e.Why = fmt.Sprintf("another hand wrote the flag of lane %s before our raise to %v", p.Lane, p.To)
		e.Hold, e.Page = d.newHold(HoldDrift, e.Why), true
	}
	return happens(e)
}

// 9. Advancing: the recorded raise is written, on the conditions of a raise;
// then tasks must follow, for a whole metric period.
func (d *decision) proving() (Step, bool) {
	if d.Phase != Advancing {
		return no()
	}
	late := d.now.Sub(d.Since) > d.Plan.Converge.Within
	if d.Pending != nil {
		return d.raising(late)
	}
	late = late && d.now.Sub(d.Changed) > d.Plan.Converge.Within // a raise may have waited to be written
	if waits := d.following(); len(waits) > 0 && late {
		return happens(d.holdEvent(HoldNotConverged, reasons(waits)+d.lagging(), false))
	} else if len(waits) > 0 {
		return rest(waits...)
	}
	for i := range d.Lanes {
		if settle := d.now.Sub(d.seen.Tasks[i].Since); settle < d.Plan.Period() {
			return rest(Wait{WaitTasks, d.Lanes[i].Name, fmt.Sprintf("converged for %v of one metric period, %v", settle.Round(time.Second), d.Plan.Period())})
		}
	}
	return happens(d.event(Settled, d.summary()))
}

// raising carries a recorded raise to the store.
func (d *decision) raising(late bool) (Step, bool) {
	i, p := d.pending(), d.Pending
	f := &d.seen.Flags[i]
	switch {
	case d.published(i):
		return d.confirmed(i)
	case f.Revision != p.Revision:
		return d.takenBack(i)
	}
	next := Next{Lane: i, From: p.From, Stage: Stage{Share: p.To, Approvals: d.approvalsFor(i, p.To)}, First: p.From == flags.None}
	missing := d.missing(next, p.Approvals, true)
	switch {
	case len(missing) > 0 && late:
		return happens(d.holdEvent(HoldNotConverged, "the raise could not be written: "+reasons(missing), false))
	case len(missing) > 0:
		return rest(missing...)
	case d.seen.Guard:
		return rest(Wait{WaitCycle, "", "a guard cycle raises nothing"})
	case f.Failed && late:
		return happens(d.holdEvent(HoldNotConverged, "the raise could not be written: the flag does not take it", false))
	case f.Failed:
		return rest(Wait{WaitFlag, p.Lane, "the flag could not be written"})
	default:
		return d.write(i, flags.Raise, p.To, p.Revision)
	}
}

// 10. Baking: time, data, exposure and windows of each lane that has a share and
// has not baked at 100 %; patience over, hold data. There is one such lane, but
// where a takeover or a lowering left several.
func (d *decision) baking() (Step, bool) {
	if d.Phase != Baking {
		return no()
	}
	present := d.present()
	if !d.seen.BakeFrom.Equal(d.Settled) {
		return rest(Wait{WaitBake, d.Lanes[present].Name, "what has baked is not measured yet"})
	}
	var waits []Wait
	for lane := range d.Lanes {
		if lane != present && (d.Lanes[lane].Intended == flags.None || d.Lanes[lane].Baked) {
			continue
		}
		e, lacks := d.bakes(lane)
		if e != nil {
			return happens(e)
		}
		waits = append(waits, lacks...)
	}
	if len(waits) > 0 {
		return rest(waits...)
	}
	e := d.event(Baked, d.summary())
	e.Verdicts, e.Evidence = finite(d.seen.Verdicts), d.evidence()
	return happens(e)
}

// bakes returns what the bake of one lane still lacks, or the event that ends it early.
func (d *decision) bakes(lane int) (*Event, []Wait) {
	name, stage, tasks := d.Lanes[lane].Name, d.stands(lane), &d.seen.Tasks[lane]
	if tasks.Live > 0 && tasks.Replaced*10 > tasks.Live {
		return d.event(Rebaked, fmt.Sprintf("%d of %d tasks of lane %s were replaced", tasks.Replaced, tasks.Live, name)), nil
	}
	elapsed, baked := d.now.Sub(d.Settled), d.baked()
	if lacks := elapsed - baked; baked < stage.Bake && lacks > d.Plan.Patience {
		return d.holdEvent(HoldData, fmt.Sprintf("only %v of data after %v", baked, elapsed.Round(time.Second)), true), nil
	}
	var waits []Wait
	if baked < stage.Bake {
		waits = append(waits, Wait{WaitBake, name, fmt.Sprintf("%v of %v baked", baked, stage.Bake)})
	}
	if tasks.On < stage.MinTasks {
		waits = append(waits, Wait{WaitBake, name, fmt.Sprintf("%d of at least %d tasks exposed", tasks.On, stage.MinTasks)})
	}
	return nil, append(waits, d.windows(stage.Contains, d.Settled)...)
}

// baked returns how much complete, settled data there is since the present settle.
func (d *decision) baked() time.Duration {
	if !d.seen.BakeFrom.Equal(d.Settled) {
		return 0 // it was measured before the settle
	}
	return d.seen.Bake
}

// present returns the lane that bakes: the first lane with a share that has not
// baked at 100 %, else the last with a share. Where reads were lowered under
// their writes, it is the reads that rise again first.
func (d *decision) present() int {
	at := -1
	for i := range d.Lanes {
		if d.Lanes[i].Intended > flags.None && (at < 0 || d.Lanes[at].Baked) {
			at = i
		}
	}
	return max(at, 0)
}

// stands returns the stage where a lane stands.
func (d *decision) stands(lane int) Stage {
	if stage, ok := d.Plan.Lanes[lane].stage(d.Lanes[lane].Intended); ok {
		return stage
	}
	return d.Plan.Lanes[lane].Stages[0] // adopted below it
}

// 11. All that a next step, or the end, waits for.
func (d *decision) waiting() (Step, bool) {
	next, ok := d.Next()
	switch {
	case d.Phase == Soaking:
		return d.soaking()
	case d.Phase != Waiting && d.Phase != Ready:
		return rest()
	case !ok:
		return no()
	}
	waits := d.missing(next, d.Approvals, d.Go || !next.Stage.Manual)
	if len(waits) == 0 {
		if d.seen.Guard {
			return rest(Wait{WaitCycle, "", "the next bake cycle takes the step"})
		}
		return no()
	}
	gateWaits := func(w Wait) bool { return w.Kind == WaitGate }
	switch {
	case len(d.Approvals) > 0 && slices.ContainsFunc(waits, gateWaits):
		return happens(d.event(Voided, "approvals are void: "+reasons(waits)))
	case d.Phase == Waiting && !sameWaits(d.Waits, waits):
		e := d.event(Awaited, names(waits))
		e.Waits = waits
		return happens(e)
	}
	return rest(waits...)
}

// sameWaits reports whether the same things are waited for, whatever their values.
func sameWaits(a, b []Wait) bool {
	return slices.EqualFunc(a, b, func(x, y Wait) bool { return x.Kind == y.Kind && x.Subject == y.Subject })
}

func names(waits []Wait) string {
	parts := make([]string, len(waits))
	for i, w := range waits {
		parts[i] = strings.TrimSpace(string(w.Kind) + " " + w.Subject)
	}
	return strings.Join(parts, ", ")
}

// soaking waits for the time and the windows, and then for people.
func (d *decision) soaking() (Step, bool) {
	waits := d.unwell()
	switch {
	case d.Soaked && len(waits) > 0 && len(d.Approvals) > 0:
		return happens(d.event(Voided, "approvals are void: "+reasons(waits)))
	case d.Soaked:
		return rest(append(waits, Wait{WaitApproval, "complete", "the soak is over; approve and complete it, or roll back"})...)
	}
	if soaked := d.baked(); soaked < d.Plan.Soak.For {
		waits = append(waits, Wait{WaitSoak, "", fmt.Sprintf("%v of %v soaked", soaked, d.Plan.Soak.For)})
	}
	waits = append(waits, d.windows(d.Plan.Soak.Contains, d.Settled)...)
	if len(waits) > 0 {
		return rest(waits...)
	}
	e := d.event(SoakEnded, d.summary())
	e.Verdicts, e.Evidence = finite(d.seen.Verdicts), d.evidence()
	return happens(e)
}

// 12. The next step, or the soak once there is none.
func (d *decision) stepping() (Step, bool) {
	next, ok := d.Next()
	if !ok {
		if slices.ContainsFunc(d.Lanes, func(l Lane) bool { return !l.Baked }) {
			return rest(Wait{WaitBake, "", "a lane has not baked at 100%"})
		}
		return happens(d.event(SoakBegan, d.summary()))
	}
	e := d.event(Raised, "")
	e.Lane, e.From, e.To = d.Lanes[next.Lane].Name, next.From, next.Stage.Share
	e.Revision, e.Evidence = d.seen.Flags[next.Lane].Revision, d.Evidence
	return happens(e)
}
