package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// inconclusive reports whether a gate whose points count has no verdict.
func (d *decision) inconclusive() bool {
	for i := range d.seen.Verdicts {
		v := &d.seen.Verdicts[i]
		_, counts := d.JudgeFrom(&d.Plan.Gates[i])
		if counts && v.Result == gates.Inconclusive && v.Cause != gates.NotStarted {
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
	case f.Failed:
		return rest(Wait{WaitFlag, p.Lane, "the flag could not be written"})
	default:
		return d.write(i, flags.Raise, p.To, p.Revision)
	}
}

// approvalsFor returns how many approvals a stage asks for.
func (d *decision) approvalsFor(lane int, share flags.Share) int {
	stage, _ := d.Plan.Lanes[lane].stage(share)
	return stage.Approvals
}

// lagging names the tasks that do not follow.
func (d *decision) lagging() string {
	var text strings.Builder
	for i := range d.Lanes {
		if names := d.seen.Tasks[i].Lagging; len(names) > 0 {
			fmt.Fprintf(&text, "; lagging in lane %s: %s", d.Lanes[i].Name, listed(names))
		}
	}
	return text.String()
}

// following returns the lanes whose tasks do not follow their flags, or whose
// flag a raise that was taken back may still reach.
func (d *decision) following() []Wait {
	var waits []Wait
	for i := range d.Lanes {
		if fence := d.Lanes[i].Fence; fence != "" && d.seen.Flags[i].Revision == fence {
			waits = append(waits, Wait{WaitFlag, d.Lanes[i].Name, "a raise that was taken back may still reach the flag"})
		} else if tasks := &d.seen.Tasks[i]; !tasks.Converged {
			waits = append(waits, Wait{WaitTasks, d.Lanes[i].Name, tasks.Why})
		} else if d.Lanes[i].Confirmed > 0 && tasks.Cohort == 0 {
			waits = append(waits, Wait{WaitTasks, d.Lanes[i].Name, fmt.Sprintf("too_few: no task hashes below %v", d.Lanes[i].Confirmed)})
		}
	}
	return waits
}

// 10. Baking: time, data, exposure and windows; patience over, hold data.
func (d *decision) baking() (Step, bool) {
	if d.Phase != Baking {
		return no()
	}
	lane, stage := d.present()
	tasks := &d.seen.Tasks[lane]
	if d.seen.BakeFrom.Equal(d.Settled) && tasks.Live > 0 && tasks.Replaced*10 > tasks.Live {
		return happens(d.event(Rebaked, fmt.Sprintf("%d of %d tasks of lane %s were replaced", tasks.Replaced, tasks.Live, d.Lanes[lane].Name)))
	}
	if !d.seen.BakeFrom.Equal(d.Settled) {
		return rest(Wait{WaitBake, d.Lanes[lane].Name, "what has baked is not measured yet"})
	}
	elapsed := d.now.Sub(d.Settled)
	baked := d.baked()
	if lacks := elapsed - baked; baked < stage.Bake && lacks > d.Plan.Patience {
		return happens(d.holdEvent(HoldData, fmt.Sprintf("only %v of data after %v", baked, elapsed.Round(time.Second)), true))
	}
	var waits []Wait
	if baked < stage.Bake {
		waits = append(waits, Wait{WaitBake, d.Lanes[lane].Name, fmt.Sprintf("%v of %v baked", baked, stage.Bake)})
	}
	if tasks.On < stage.MinTasks {
		waits = append(waits, Wait{WaitBake, d.Lanes[lane].Name, fmt.Sprintf("%d of at least %d tasks exposed", tasks.On, stage.MinTasks)})
	}
	waits = append(waits, d.windows(stage.Contains, d.Settled)...)
	if len(waits) > 0 {
		return rest(waits...)
	}
	e := d.event(Baked, d.summary())
	e.Verdicts, e.Evidence = finite(d.seen.Verdicts), d.evidence()
	return happens(e)
}

// baked returns how much complete, settled data there is since the present settle.
func (d *decision) baked() time.Duration {
	if !d.seen.BakeFrom.Equal(d.Settled) {
		return 0 // it was measured before the settle
	}
	return d.seen.Bake
}

// present returns the lane that bakes and the stage where it stands: the first
// lane with a share that has not baked at 100 %, else the last with a share. Where
// reads were lowered under their writes, it is the reads that rise again first.
func (d *decision) present() (int, Stage) {
	at := -1
	for i := range d.Lanes {
		if d.Lanes[i].Intended > flags.None && (at < 0 || d.Lanes[at].Baked) {
			at = i
		}
	}
	if at < 0 {
		return 0, d.Plan.Lanes[0].Stages[0]
	}
	stage, ok := d.Plan.Lanes[at].stage(d.Lanes[at].Intended)
	if !ok { // adopted below the first stage
		stage = d.Plan.Lanes[at].Stages[0]
	}
	return at, stage
}

// windows returns those that no data since a moment contains.
func (d *decision) windows(names []string, since time.Time) []Wait {
	var waits []Wait
	for _, name := range names {
		if !d.Plan.Windows[name].Within(since, since.Add(d.baked())) {
			waits = append(waits, Wait{WaitWindow, name, "the data do not contain this window yet"})
		}
	}
	return waits
}

// evidence returns the hash of what a next step is judged by.
func (d *decision) evidence() string {
	text, err := json.Marshal(struct {
		At       time.Time
		Version  uint64
		Verdicts []gates.Verdict
	}{d.now, d.Version, finite(d.seen.Verdicts)})
	if err != nil {
		panic("verdicts that JSON cannot hold: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// finite drops the values that JSON has no word for.
func finite(verdicts []gates.Verdict) []gates.Verdict {
	verdicts = slices.Clone(verdicts)
	for i := range verdicts {
		if v := &verdicts[i]; v.Value-v.Value != 0 { // NaN and the infinities
			v.Value = 0
		}
	}
	return verdicts
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

// missing returns every condition of a raise that does not hold in this cycle.
func (d *decision) missing(n Next, approvals []Approval, gone bool) []Wait {
	var waits []Wait
	if !gone {
		waits = append(waits, Wait{WaitGo, d.Lanes[n.Lane].Name, fmt.Sprintf("an operator must advance it to %v", n.Stage.Share)})
	}
	if have := d.valid(n, approvals); have < n.Stage.Approvals {
		waits = append(waits, Wait{WaitApproval, d.Lanes[n.Lane].Name, fmt.Sprintf("%d of %d approvals for %v", have, n.Stage.Approvals, n.Stage.Share)})
	}
	for i := range d.seen.Verdicts {
		if g, v := &d.Plan.Gates[i], &d.seen.Verdicts[i]; !v.Allows() && !d.excused(g, v, n) {
			waits = append(waits, Wait{WaitGate, g.Name, strings.TrimSpace(string(v.Result)+" "+string(v.Cause)) + ": " + v.Why})
		}
	}
	if d.seen.Blind {
		waits = append(waits, Wait{WaitGate, "", "all independent sources are blind"})
	}
	waits = append(waits, d.seen.Outside...)
	waits = append(waits, d.following()...)
	for i := range d.Lanes {
		lane, f := &d.Lanes[i], &d.seen.Flags[i]
		if f.Share != lane.Confirmed {
			waits = append(waits, Wait{WaitFlag, lane.Name, "the flag is not as confirmed"})
		}
		if d.Plan.follows(n.Lane, i) && (!lane.Baked || lane.Confirmed != flags.All) {
			waits = append(waits, Wait{WaitLock, lane.Name, "reads come before writes"})
		}
	}
	return waits
}

// valid counts the approvals that hold for a step: of distinct people, bound to
// this plan, and alive.
func (d *decision) valid(n Next, approvals []Approval) int {
	var people []string
	for _, a := range approvals {
		if a.Lane == d.Lanes[n.Lane].Name && a.From == n.From && a.To == n.Stage.Share &&
			a.Plan == d.PlanHash && d.now.Before(a.Expires) && !slices.Contains(people, a.By) {
			people = append(people, a.By)
		}
	}
	return len(people)
}

// excused reports whether a gate does not stand against a step: its metric has
// not begun, and cannot before the lane's first stage; or it speaks of lanes
// that have no share and are not to get one now.
func (d *decision) excused(g *gates.Gate, v *gates.Verdict, n Next) bool {
	if v.Result != gates.Inconclusive {
		return false
	}
	if g.Scope == gates.ScopeLane && len(g.Lanes) > 0 && !slices.Contains(g.Lanes, d.Lanes[n.Lane].Name) {
		idle := true
		for i := range d.Lanes {
			idle = idle && (d.share(i) == 0 || !slices.Contains(g.Lanes, d.Lanes[i].Name))
		}
		return idle
	}
	return n.First && v.Cause == gates.NotStarted
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

// unwell returns the gates that do not pass and the tasks that do not follow.
func (d *decision) unwell() []Wait {
	var waits []Wait
	for i := range d.seen.Verdicts {
		if v := &d.seen.Verdicts[i]; !v.Allows() {
			waits = append(waits, Wait{WaitGate, v.Gate, v.Why})
		}
	}
	return append(waits, d.following()...)
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
