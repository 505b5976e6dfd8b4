package rollout

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// TaskUse says where a task stands in a lane.
type TaskUse string

// Where a task may stand: where its hash asks it to be, or not; or nobody knows.
const (
	OnTarget TaskUse = "target"
	OnSource TaskUse = "source"
	Lagging  TaskUse = "lagging" // on the source, and its hash asks for the target
	Stray    TaskUse = "stray"   // on the target, and its hash asks for the source
	Silent   TaskUse = "silent"  // not heard within three intervals: probably gone
	Mute     TaskUse = "mute"    // it reports, but not of this lane
)

// TaskStatus is one task of a rollout, as it was heard last.
type TaskStatus struct {
	Task      string     `json:"task"`
	Service   string     `json:"service"`
	Version   string     `json:"version,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	HeardAt   time.Time  `json:"heard_at"`
	Lanes     []TaskLane `json:"lanes"` // those that carry its service, in the plan's order
}

// TaskLane is where a task stands in one lane. The numbers are of its connections.
type TaskLane struct {
	Lane            string  `json:"lane"`
	Bucket          int     `json:"bucket"` // 0 to 99; on the target once the share is above it
	Use             TaskUse `json:"use"`
	Endpoint        string  `json:"endpoint,omitempty"`
	Open            int     `json:"open"`
	InUse           int     `json:"in_use"`
	OldestOldSecond float64 `json:"oldest_old_s"` // age of the oldest connection to the other endpoint
}

// Tasks says where each task of a plan stands at the published shares, by
// service and name.
func Tasks(p *Plan, heard []Heard, published []flags.Share, now time.Time) []TaskStatus {
	tasks := make([]TaskStatus, 0, len(heard))
	for i := range heard {
		h := &heard[i]
		t := TaskStatus{Task: h.Task, Service: h.Service, Version: h.Version, StartedAt: h.StartedAt, HeardAt: h.At}
		for l := range p.Lanes {
			if slices.Contains(p.Lanes[l].Services, h.Service) {
				t.Lanes = append(t.Lanes, p.taskLane(l, h, published[l], now))
			}
		}
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b TaskStatus) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Task, b.Task))
	})
	return tasks
}

func (p *Plan) taskLane(lane int, h *Heard, published flags.Share, now time.Time) TaskLane {
	plan := &p.Lanes[lane]
	t := TaskLane{Lane: plan.Name, Bucket: flags.Bucket(plan.Flag.Name, flags.TargetingKey(h.Task))}
	said := h.of(plan)
	if said != nil {
		t.Endpoint, t.Open, t.InUse, t.OldestOldSecond = said.Endpoint, said.Open, said.InUse, said.OldestOldSecond
	}
	asks := t.Bucket < int(published)
	switch {
	case !h.live(now, p.Converge.Interval):
		t.Use = Silent
	case said == nil:
		t.Use = Mute
	case said.uses(p) && asks:
		t.Use = OnTarget
	case said.uses(p):
		t.Use = Stray
	case asks:
		t.Use = Lagging
	default:
		t.Use = OnSource
	}
	return t
}

// of returns what a task says of a lane, by the lane's name or its flag's; nil if nothing.
func (r *TaskReport) of(lane *LanePlan) *LaneReport {
	for i := range r.Lanes {
		if name := r.Lanes[i].Lane; name == lane.Name || name == lane.Flag.Name {
			return &r.Lanes[i]
		}
	}
	return nil
}

// Reading is a gate, what it says now, and the points that it says it by.
type Reading struct {
	Gate    gates.Gate    `json:"gate"`
	Verdict gates.Verdict `json:"verdict"`
	Points  []gates.Point `json:"points"` // oldest first
	Note    string        `json:"note,omitempty"`
}
