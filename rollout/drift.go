package rollout

import (
	"fmt"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// 5. A flag above its confirmed share that is no raise of ours, or of an unknown
// revision at the same value; tasks beyond what is published.
func (d *decision) drifting() (Step, bool) {
	for i := range d.Lanes {
		lane, f := &d.Lanes[i], &d.seen.Flags[i]
		if f.Err != "" {
			continue
		}
		if lane.Fence != "" && f.Revision == lane.Fence && !f.Failed {
			return d.write(i, flags.Fence, 0, f.Revision)
		}
		if lane.Returned > lane.Confirmed && f.Share == lane.Returned && d.pending() != i && !f.Failed &&
			(f.Ours(d.Name) || lane.Restoring) && (lane.Confirmed == 0 || d.seen.Lease) {
			return d.write(i, flags.Lower, lane.Confirmed, f.Revision)
		}
	}
	if step, applies := d.writesAboveReads(); applies {
		return step, true
	}
	for i := range d.Lanes {
		if why := d.drift(i); why != "" {
			return d.drifted(i, why)
		}
	}
	return no()
}

// writesAboveReads lowers writes lanes that another hand left above their reads.
func (d *decision) writesAboveReads() (Step, bool) {
	for w := range d.Lanes {
		for r := range d.Lanes {
			fw, fr := &d.seen.Flags[w], &d.seen.Flags[r]
			if d.Plan.follows(w, r) && fw.Err == "" && fr.Err == "" && fw.Share > fr.Share {
				why := fmt.Sprintf("writes (%s, %v) were found above reads (%s, %v)", d.Lanes[w].Name, fw.Share, d.Lanes[r].Name, fr.Share)
				return d.down([]LaneShare{{Lane: d.Lanes[w].Name, Share: fr.Share}}, why, nil, HoldDrift)
			}
		}
	}
	return no()
}

// drift says how a lane differs from what we know, or nothing.
func (d *decision) drift(i int) string {
	lane, f, tasks := &d.Lanes[i], &d.seen.Flags[i], &d.seen.Tasks[i]
	if f.Err != "" {
		return ""
	}
	own := d.pending() == i && d.published(i)
	switch {
	case f.Share > lane.Confirmed && !own:
		return fmt.Sprintf("flag of lane %s is at %v, not %v, raised by %s", lane.Name, f.Share, lane.Confirmed, by(f.Author))
	case f.Share == lane.Confirmed && f.Revision != lane.Revision && lane.Revision != "" && !d.fresh(i) && d.pending() != i:
		return fmt.Sprintf("flag of lane %s was written by %s, at the same %v", lane.Name, by(f.Author), f.Share)
	case !d.Settled.IsZero() && f.Share == lane.Confirmed && tasks.Stray > tolerated(tasks.Live):
		return fmt.Sprintf("%d tasks of lane %s use the target though the flag's %v does not ask them to", tasks.Stray, lane.Name, f.Share)
	}
	return ""
}

// fresh reports whether a flag's present share and revision are of a write of
// ours that is newer than what is on record. Another hand leaves our old stamp behind.
func (d *decision) fresh(i int) bool {
	f := &d.seen.Flags[i]
	return f.Ours(d.Name) && f.Stamp.By == "" && f.Stamp.Seq > d.Lanes[i].Seq
}

// tolerated is how many tasks may not follow: none under 200, else 1 %.
func tolerated(tasks int) int {
	if tasks < 200 {
		return 0
	}
	return tasks / 100
}

// drifted holds, or puts back what another hand has raised where the plan says so.
func (d *decision) drifted(i int, why string) (Step, bool) {
	lane, f := &d.Lanes[i], &d.seen.Flags[i]
	fresh := !f.Before.IsZero() && d.now.Sub(f.Before) <= time.Minute
	rare := d.Restored.IsZero() || d.now.Sub(d.Restored) >= time.Hour
	unused := !d.seen.Tasks[i].Converged && !d.Untouched
	if d.Plan.OnRaise == OnRaiseRestore && f.Share > lane.Confirmed && fresh && rare && unused && d.pending() < 0 {
		e := d.event(Restored, why)
		e.Lane, e.From, e.To, e.Page = lane.Name, lane.Confirmed, f.Share, true
		return happens(e)
	}
	if d.holds(HoldDrift) {
		return no()
	}
	return happens(d.holdEvent(HoldDrift, why, true))
}
