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
