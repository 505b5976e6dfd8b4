package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// 4. On the way down: write the targets, writes lanes first, read them back,
// prove by what tasks use, and wait for the gates to recover; else stuck.
func (d *decision) lowering() (Step, bool) {
	if !d.Phase.Lowering() {
		return no()
	}
	for i := range slices.Backward(d.Lanes) {
		if step, applies := d.lowerFlag(i); applies {
			return step, true
		}
	}
	for i := range d.Lanes {
		if step, applies := d.readBack(i); applies {
			return step, true
		}
	}
	return d.proveDown()
}

// lowerFlag writes a lane's target where its flag is above it, or where a raise
// that was taken back may still be in flight. Lanes come in reverse order:
// writes are down, and read back, before their reads.
func (d *decision) lowerFlag(i int) (Step, bool) {
	lane, f := &d.Lanes[i], &d.seen.Flags[i]
	var needed bool
	if f.Err != "" {
		needed = lane.Target == flags.None // unconditional: it needs no reading
	} else {
		needed = f.Share > lane.Target || lane.Fence != "" && f.Revision == lane.Fence
	}
	switch {
	case !needed || f.Failed:
		return no()
	case d.keptUp(i):
		return no()
	case lane.Target > flags.None && !d.seen.Lease:
		return no() // to more than 0 only the leader lowers; time runs out to stuck, and so to 0
	}
	return d.write(i, flags.Lower, lane.Target, f.Revision)
}

// keptUp reports whether a reads lane must wait for the writes above it. A
// writes flag that cannot be lowered keeps the reads up for three guard cycles,
// no longer: half a rollback is better than none.
func (d *decision) keptUp(r int) bool {
	if d.now.Sub(d.Changed) > 3*d.Plan.Guard.Every {
		return false
	}
	for w := range d.Lanes {
		if f := &d.seen.Flags[w]; d.Plan.follows(w, r) && f.Err == "" && f.Share > d.Lanes[r].Target {
			return true
		}
	}
	return false
}

// readBack confirms a flag that is at or below its target.
func (d *decision) readBack(i int) (Step, bool) {
	lane, f := &d.Lanes[i], &d.seen.Flags[i]
	down := d.isDown(i)
	if !down || lane.Confirmed == f.Share && lane.Intended == f.Share && lane.Revision == f.Revision {
		return no()
	}
	e := d.event(Confirmed, "")
	e.Lane, e.From, e.To, e.Revision, e.Stamp = lane.Name, lane.Confirmed, f.Share, f.Revision, f.Stamp.Seq
	return happens(e)
}

// isDown reports whether a lane's flag is at or below its target and stays there.
func (d *decision) isDown(i int) bool {
	lane, f := &d.Lanes[i], &d.seen.Flags[i]
	return f.Err == "" && f.Share <= lane.Target && (lane.Fence == "" || f.Revision != lane.Fence)
}

func (d *decision) proveDown() (Step, bool) {
	unproven := d.unproven()
	sick := d.notRecovered()
	waited := d.now.Sub(d.Changed)
	switch {
	case len(unproven) == 0 && len(sick) == 0:
		return happens(d.event(Proven, d.summary()))
	case len(unproven) == 0 && d.anyTarget() && waited > d.Plan.Grace:
		return d.down(d.zeroes(), "gates have not recovered: "+strings.Join(sick, ", "), nil, HoldGate)
	case waited > d.Plan.Recovery && d.Phase != Stuck:
		e := d.event(BecameStuck, "the rollback is not proven: "+reasons(unproven))
		if len(unproven) == 0 {
			e.Why = "not_ours: all lanes are proven at 0 %, and gates have not recovered: " + strings.Join(sick, ", ")
		}
		e.Page = true
		return happens(e)
	}
	for _, gate := range sick {
		unproven = append(unproven, Wait{WaitGate, gate, "has not recovered: " + d.why([]string{gate})})
	}
	return rest(unproven...)
}

// unproven returns what is still missing for all lanes to be back.
func (d *decision) unproven() []Wait {
	var waits []Wait
	for i := range d.Lanes {
		lane, f, tasks := &d.Lanes[i], &d.seen.Flags[i], &d.seen.Tasks[i]
		switch {
		case f.Err != "":
			waits = append(waits, Wait{WaitFlag, lane.Name, f.Err})
		case !d.isDown(i):
			waits = append(waits, Wait{WaitFlag, lane.Name, fmt.Sprintf("the flag is at %v, not yet %v", f.Share, lane.Target)})
		case !tasks.Converged:
			waits = append(waits, Wait{WaitTasks, lane.Name, tasks.Why})
		}
	}
	return waits
}

// notRecovered returns the gates that caused the rollback and are still bad.
func (d *decision) notRecovered() []string {
	var sick []string
	for i := range d.seen.Verdicts {
		v := &d.seen.Verdicts[i]
		if slices.Contains(d.Causes, v.Gate) && !v.Recovered && v.Cause != gates.NotStarted {
			sick = append(sick, v.Gate)
		}
	}
	return sick
}

// anyTarget reports whether a lane is to keep a share.
func (d *decision) anyTarget() bool {
	return slices.ContainsFunc(d.Lanes, func(l Lane) bool { return l.Target > flags.None })
}

// summary says where all lanes are.
func (d *decision) summary() string {
	parts := make([]string, len(d.Lanes))
	for i := range d.Lanes {
		parts[i] = fmt.Sprintf("%s %v", d.Lanes[i].Name, d.seen.Flags[i].Share)
	}
	return strings.Join(parts, ", ")
}

// reasons joins what is waited for.
func reasons(waits []Wait) string {
	parts := make([]string, len(waits))
	for i, w := range waits {
		parts[i] = strings.TrimSpace(w.Subject + " " + w.Why)
	}
	return strings.Join(parts, "; ")
}
