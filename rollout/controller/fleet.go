package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Fleet keeps what tasks report: each one's newest report, to prove that tasks
// follow the flags, and what they count, as a source of gates.
type Fleet struct {
	now   func() time.Time
	began time.Time

	mu    sync.Mutex
	tasks map[string]map[string]rollout.Heard // by service and task
	slots map[slotKey]*slot
	swept time.Time
}

// slotKey names a second of one lane of a service, on the target or not.
type slotKey struct {
	service, lane string
	target        bool
	second        int64
}

// slot is what the reports of one second count.
type slot struct {
	counts [counters]float64
	worst  [gauges]float64
}

// What tasks count, as differences between two reports, and what they measure.
const (
	failedOpens = iota
	opened
	readOnlyErrors
	indeterminate
	counters
)

const (
	worstWait = iota
	oldestOld
	gauges
)

// mostLanes bounds what one task may report of.
const mostLanes = 20

// retention is how long counts are kept, and silent tasks remembered.
const retention = 2 * time.Hour

// NewFleet returns a fleet of which nothing has been heard.
func NewFleet(now func() time.Time) *Fleet {
	return &Fleet{now: now, began: now().UTC().Round(0), tasks: map[string]map[string]rollout.Heard{}, slots: map[slotKey]*slot{}}
}

// Report takes a task's report; one that is older than what is known is ignored.
func (f *Fleet) Report(_ context.Context, r rollout.TaskReport) error {
	if r.Task == "" || r.Service == "" {
		return rollout.Invalid{{Field: "task, service", Allowed: "a report must name its task and its service"}}
	}
	if len(r.Lanes) > mostLanes {
		return rollout.Invalid{{Field: "lanes", Value: strconv.Itoa(len(r.Lanes)), Allowed: fmt.Sprintf("at most %d lanes a task", mostLanes)}}
	}
	now := f.now().UTC().Round(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep(now)
	tasks := f.tasks[r.Service]
	if tasks == nil {
		tasks = map[string]rollout.Heard{}
		f.tasks[r.Service] = tasks
	}
	last, known := tasks[r.Task]
	if known && !r.SentAt.After(last.SentAt) {
		return nil
	}
	for i := range r.Lanes {
		before := laneOf(&last.TaskReport, &r, r.Lanes[i].Lane)
		if !known && (r.StartedAt.Before(f.began) || now.Sub(r.StartedAt) > retention) {
			before = r.Lanes[i] // it counted before we listened, or was forgotten: only what comes from now on is news
		}
		f.count(now, &r, &r.Lanes[i], before)
	}
	tasks[r.Task] = rollout.Heard{TaskReport: r, At: now}
	return nil
}

// laneOf returns what the same run of the task last said of a lane; zero if nothing.
func laneOf(last, r *rollout.TaskReport, lane string) rollout.LaneReport {
	if !last.StartedAt.Equal(r.StartedAt) {
		return rollout.LaneReport{}
	}
	for _, l := range last.Lanes {
		if l.Lane == lane {
			return l
		}
	}
	return rollout.LaneReport{}
}

// count adds the difference between two reports to the second in which the newer came in.
func (f *Fleet) count(now time.Time, r *rollout.TaskReport, l *rollout.LaneReport, last rollout.LaneReport) {
	key := slotKey{r.Service, l.Lane, l.Decided, now.Unix()}
	s := f.slots[key]
	if s == nil {
		s = &slot{}
		f.slots[key] = s
	}
	for c, delta := range [counters]int64{
		failedOpens:    l.FailedOpens - last.FailedOpens,
		opened:         l.Opened - last.Opened,
		readOnlyErrors: l.ReadOnlyErrors - last.ReadOnlyErrors,
		indeterminate:  l.Indeterminate - last.Indeterminate,
	} {
		s.counts[c] += float64(max(0, delta))
	}
	s.worst[worstWait] = max(s.worst[worstWait], l.WorstWaitMS)
	s.worst[oldestOld] = max(s.worst[oldestOld], l.OldestOldSecond)
}

// sweep forgets what is too old, once a minute.
func (f *Fleet) sweep(now time.Time) {
	if now.Sub(f.swept) < time.Minute {
		return
	}
	f.swept = now
	for key := range f.slots {
		if now.Unix()-key.second > int64(retention/time.Second) {
			delete(f.slots, key)
		}
	}
	for service, tasks := range f.tasks {
		for id, h := range tasks {
			if now.Sub(h.At) > retention {
				delete(tasks, id)
			}
		}
		if len(tasks) == 0 {
			delete(f.tasks, service)
		}
	}
}

// heard returns the newest report of each task of a plan's services.
func (f *Fleet) heard(p *rollout.Plan) []rollout.Heard {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []rollout.Heard
	for i := range p.Services {
		for _, h := range f.tasks[p.Services[i].Name] {
			all = append(all, h)
		}
	}
	return all
}

// counterByName returns a counter of source tasks.
func counterByName(name string) (int, bool) {
	i := slices.Index([]string{"failed_opens", "opened", "read_only_errors", "indeterminate"}, name)
	return i, i >= 0
}

func gaugeByName(name string) (int, bool) {
	i := slices.Index([]string{"worst_wait_ms", "oldest_old_s"}, name)
	return i, i >= 0
}

// TaskMetrics are the metrics that source tasks has.
const TaskMetrics = "failed_opens, opened, read_only_errors, indeterminate, worst_wait_ms, oldest_old_s"

// series returns a metric of a plan's tasks, in buckets that start in [from, to).
// A bucket in which no task reported has no point; one without errors is zero.
func (f *Fleet) series(p *rollout.Plan, m gates.Metric, from, to time.Time) gates.Series {
	counter, isCounter := counterByName(m.Name)
	gauge, isGauge := gaugeByName(m.Name)
	if !isCounter && !isGauge || m.Period < time.Second {
		return gates.Series{Cause: gates.Config, Note: fmt.Sprintf("metric %q each %v: source tasks has %s, each second or longer", m.Name, m.Period, TaskMetrics)}
	}
	values := map[int64]float64{}
	f.mu.Lock()
	for key, s := range f.slots {
		at := time.Unix(key.second, 0)
		if !speaksOf(p, m, key) || at.Before(from) || !at.Before(to) {
			continue
		}
		bucket := at.Truncate(m.Period).Unix()
		if isCounter {
			values[bucket] += s.counts[counter]
		} else {
			values[bucket] = max(values[bucket], s.worst[gauge])
		}
	}
	f.mu.Unlock()
	if isCounter && m.Per == "second" {
		for at := range values {
			values[at] /= m.Period.Seconds()
		}
	}
	return inOrder(values)
}

// speaksOf reports whether a slot belongs to a metric of a plan.
func speaksOf(p *rollout.Plan, m gates.Metric, key slotKey) bool {
	if m.Target && !key.target {
		return false
	}
	return slices.ContainsFunc(p.Lanes, func(l rollout.LanePlan) bool {
		return (m.Lane == "" || m.Lane == l.Name) && (key.lane == l.Name || key.lane == l.Flag.Name) && slices.Contains(l.Services, key.service)
	})
}

func inOrder(values map[int64]float64) gates.Series {
	var s gates.Series
	for at, v := range values {
		s.Points = append(s.Points, gates.Point{Start: time.Unix(at, 0).UTC(), Value: v})
	}
	slices.SortFunc(s.Points, func(a, b gates.Point) int { return a.Start.Compare(b.Start) })
	return s
}
