package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Heard is a task's newest report and when it came in.
type Heard struct {
	TaskReport
	At time.Time
}

// live reports whether a task has reported within three intervals. It may have
// done so since the look began; but one that was heard further in the future was
// not: the clock has gone back.
func (h *Heard) live(now time.Time, interval time.Duration) bool {
	age := now.Sub(h.At)
	return -interval <= age && age <= 3*interval
}

// Observe says what the tasks of a lane use, held against what each one's own
// bucket asks for at the published share. Since is left to whoever looks again
// and again; began is when the bake did, zero for none.
func Observe(p *Plan, lane int, heard []Heard, published flags.Share, began, now time.Time) Observation {
	plan := &p.Lanes[lane]
	var o Observation
	for i := range p.Services {
		if slices.Contains(plan.Services, p.Services[i].Name) {
			o.Inventory += p.Services[i].Tasks
		}
	}
	for i := range heard {
		h := &heard[i]
		if !slices.Contains(plan.Services, h.Service) || !h.live(now, p.Converge.Interval) {
			continue
		}
		o.Live++
		if !began.IsZero() && h.StartedAt.After(began) {
			o.Replaced++
		}
		o.count(p, plan, h, published)
	}
	slices.Sort(o.Lagging)
	if o.Live > 0 {
		o.Share = flags.Share((o.On*100 + o.Live - 1) / o.Live)
	}
	o.conclude(p)
	return o
}

// count adds one live task.
func (o *Observation) count(p *Plan, plan *LanePlan, h *Heard, published flags.Share) {
	asks := published.Holds(plan.Flag.Name, flags.TargetingKey(h.Task))
	if asks {
		o.Cohort++
	}
	said := h.of(plan)
	if said == nil { // it reports, but not of this lane: nothing proves what it uses
		o.Lagging = append(o.Lagging, h.Task)
		return
	}
	on := said.uses(p)
	switch {
	case on && !asks:
		o.Stray++
	case asks && !on:
		o.Lagging = append(o.Lagging, h.Task)
	}
	if on {
		o.On++
	}
}

// uses reports whether a task really uses the target: by the endpoint of its
// newest connection where it says it, else by its decision.
func (l *LaneReport) uses(p *Plan) bool {
	switch {
	case l.Endpoint == "":
		return l.Decided
	case p.Target.named(l.Endpoint):
		return true
	case p.Source.named(l.Endpoint):
		return false
	default:
		return l.Decided
	}
}

// named reports whether a task's word for an endpoint means this one.
func (e *Endpoint) named(name string) bool {
	return name == e.Host || name == fmt.Sprintf("%s:%d", e.Host, e.Port)
}

// conclude says whether the lane has converged, and if not, why.
func (o *Observation) conclude(p *Plan) {
	var why []string
	if astray := len(o.Lagging) + o.Stray; astray > tolerated(o.Live) {
		why = append(why, fmt.Sprintf("%d of %d tasks do not follow the flag", astray, o.Live))
	}
	if o.Live == 0 || o.Live*100 < p.Converge.MinReporting*o.Inventory {
		why = append(why, fmt.Sprintf("%d of %d tasks report, %d%% must", o.Live, o.Inventory, p.Converge.MinReporting))
	}
	o.Converged, o.Why = len(why) == 0, strings.Join(why, "; ")
}
