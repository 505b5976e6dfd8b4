package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// crowd is a fleet with a clock of its own.
type crowd struct {
	t *testing.T
	*Fleet
	at time.Time
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, at: noon}
	c.Fleet = NewFleet(func() time.Time { return c.at })
	return c
}

// says lets a task that started at a moment report how many opens have failed.
func (c *crowd) says(started time.Time, failed int64) {
	c.t.Helper()
	c.report(rollout.TaskReport{
		Task: "task-1", Service: "checkout", StartedAt: started, SentAt: c.at,
		Lanes: []rollout.LaneReport{{Lane: "reads", Decided: true, FailedOpens: failed}},
	})
}

func (c *crowd) report(r rollout.TaskReport) {
	c.t.Helper()
	if err := c.Report(c.t.Context(), r); err != nil {
		c.t.Fatal(err)
	}
}

// reads returns what a metric of the last hour is, bucket by bucket.
func (c *crowd) reads(m gates.Metric) []float64 {
	c.t.Helper()
	p := &rollout.Plan{
		Services: []rollout.Service{{Name: "checkout"}},
		Lanes: []rollout.LanePlan{
			{Name: "reads", Services: []string{"checkout"}, Flag: flags.Key{Name: "orders-r"}},
			{Name: "writes", Services: []string{"checkout"}, Flag: flags.Key{Name: "orders-w"}},
		},
	}
	var values []float64
	s := c.series(p, m, c.at.Add(-time.Hour), c.at.Add(time.Second))
	if s.Cause != "" {
		c.t.Errorf("%s: %s", s.Cause, s.Note)
	}
	for _, point := range s.Points {
		values = append(values, point.Value)
	}
	return values
}

var failures = gates.Metric{Name: "failed_opens", Period: 10 * time.Second}

func TestARestartMakesNoSpikeOfWhatTasksCount(t *testing.T) {
	type say struct {
		started time.Duration // since noon, when the controller began to listen
		failed  int64
	}
	cases := map[string]struct {
		says []say // ten seconds apart
		want []float64
	}{
		"a task counts on":                                       {[]say{{1, 2}, {1, 5}, {1, 5}}, []float64{2, 3, 0}},
		"a task that restarts counts from nothing":               {[]say{{1, 100}, {15e9, 3}, {15e9, 4}}, []float64{100, 3, 1}},
		"a restarted task that has counted more than before":     {[]say{{1, 2}, {15e9, 7}}, []float64{2, 7}},
		"what a task counted before the controller is no news":   {[]say{{-3600e9, 500}, {-3600e9, 503}}, []float64{0, 3}},
		"a task that began since has all its failures to tell":   {[]say{{5e9, 4}}, []float64{4}},
		"a task that restarts after the controller is a new one": {[]say{{-3600e9, 500}, {15e9, 6}}, []float64{0, 6}},
		"a count that falls without a restart is no failure":     {[]say{{1, 9}, {1, 4}, {1, 6}}, []float64{9, 0, 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fleet := newCrowd(t)
			for _, say := range c.says {
				fleet.at = fleet.at.Add(10 * time.Second)
				fleet.says(noon.Add(say.started), say.failed)
			}
			if diff := cmp.Diff(c.want, fleet.reads(failures)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOnlyAReportThatIsNewerCounts(t *testing.T) {
	fleet := newCrowd(t)
	fleet.at = noon.Add(20 * time.Second)
	fleet.says(noon, 5)
	for _, late := range []time.Duration{0, -time.Second, -15 * time.Second} {
		fleet.report(rollout.TaskReport{
			Task: "task-1", Service: "checkout", StartedAt: noon, SentAt: fleet.at.Add(late),
			Lanes: []rollout.LaneReport{{Lane: "reads", FailedOpens: 50}},
		})
	}
	if diff := cmp.Diff([]float64{5}, fleet.reads(failures)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	heard := fleet.heard(&rollout.Plan{Services: []rollout.Service{{Name: "checkout"}}})
	if len(heard) != 1 || !heard[0].Lanes[0].Decided {
		t.Errorf("what is known of the task is %+v", heard)
	}
}

func TestWhatTasksSayIsReadAsTheMetricAsks(t *testing.T) {
	fleet := newCrowd(t)
	for n, task := range []string{"a", "b", "c"} {
		fleet.at = noon.Add(time.Duration(10+n) * time.Second)
		fleet.report(rollout.TaskReport{
			Task: task, Service: "checkout", StartedAt: noon, SentAt: fleet.at,
			Lanes: []rollout.LaneReport{
				{Lane: "reads", Decided: task == "a", FailedOpens: 10, WorstWaitMS: float64(100 * n)},
				{Lane: "orders-w", FailedOpens: 5, OldestOldSecond: 7}, // the flag's key names a lane, too
			},
		})
	}
	fleet.report(rollout.TaskReport{Task: "d", Service: "billing", StartedAt: noon, SentAt: fleet.at, Lanes: []rollout.LaneReport{{Lane: "reads", FailedOpens: 1000}}})
	ten := 10 * time.Second
	cases := map[string]struct {
		metric gates.Metric
		want   []float64
	}{
		"a count is a sum over tasks and lanes":      {failures, []float64{45}},
		"per second it is a rate":                    {gates.Metric{Name: "failed_opens", Per: "second", Period: ten}, []float64{4.5}},
		"a bucket that is longer has a smaller rate": {gates.Metric{Name: "failed_opens", Per: "second", Period: 30 * time.Second}, []float64{1.5}},
		"of one lane":                                 {gates.Metric{Name: "failed_opens", Lane: "writes", Period: ten}, []float64{15}},
		"of tasks on the target":                      {gates.Metric{Name: "failed_opens", Target: true, Period: ten}, []float64{10}},
		"a wait is the worst of all":                  {gates.Metric{Name: "worst_wait_ms", Period: ten}, []float64{200}},
		"a wait has no rate":                          {gates.Metric{Name: "worst_wait_ms", Per: "second", Period: ten}, []float64{200}},
		"the oldest connection to the other endpoint": {gates.Metric{Name: "oldest_old_s", Period: ten}, []float64{7}},
		"what did not happen is zero":                 {gates.Metric{Name: "indeterminate", Period: ten}, []float64{0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fleet.reads(c.metric)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	fleet.at = fleet.at.Add(time.Minute)
	if got := fleet.reads(failures); len(got) != 1 {
		t.Errorf("buckets in which nobody reported have points: %v", got)
	}
}

func TestAMetricThatTasksDoNotHaveIsTheGatesFault(t *testing.T) {
	fleet := newCrowd(t)
	fleet.says(noon, 1)
	for name, m := range map[string]gates.Metric{
		"an unknown name":           {Name: "failed_open", Period: 10 * time.Second},
		"less than a second a time": {Name: "failed_opens", Period: 100 * time.Millisecond},
		"no period at all":          {Name: "failed_opens"},
	} {
		if s := fleet.series(&rollout.Plan{}, m, noon, noon.Add(time.Hour)); s.Cause != gates.Config || s.Note == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestAReportThatSaysTooLittleOrTooMuchIsRefused(t *testing.T) {
	lanes := func(n int) []rollout.LaneReport { return make([]rollout.LaneReport, n) }
	cases := map[string]struct {
		report  rollout.TaskReport
		refused bool
	}{
		"without a task":    {rollout.TaskReport{Service: "checkout"}, true},
		"without a service": {rollout.TaskReport{Task: "task-1"}, true},
		"of 21 lanes":       {rollout.TaskReport{Task: "task-1", Service: "checkout", SentAt: noon, Lanes: lanes(21)}, true},
		"of 20 lanes":       {rollout.TaskReport{Task: "task-1", Service: "checkout", SentAt: noon, Lanes: lanes(20)}, false},
		"of no lane":        {rollout.TaskReport{Task: "task-1", Service: "checkout", SentAt: noon}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fleet := newCrowd(t)
			err := fleet.Report(t.Context(), c.report)
			if refused := errors.As(err, new(rollout.Invalid)); refused != c.refused || err != nil && !refused {
				t.Errorf("%v", err)
			}
			if c.refused && len(fleet.tasks)+len(fleet.slots) > 0 {
				t.Error("something of it is kept")
			}
		})
	}
}

func TestATaskThatWasForgottenMakesNoSpike(t *testing.T) {
	fleet := newCrowd(t)
	began := noon.Add(time.Minute)
	for _, say := range []struct {
		at     time.Duration
		failed int64
	}{{2 * time.Minute, 0}, {5 * time.Hour, 500}, {5*time.Hour + 10*time.Second, 502}} {
		fleet.at = noon.Add(say.at)
		fleet.says(began, say.failed)
	}
	if diff := cmp.Diff([]float64{0, 2}, fleet.reads(failures)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	const each = 10 * time.Second // another task of another service comes and goes
	fleet := newCrowd(t)
	for n := range int(6 * time.Hour / each) {
		fleet.at = noon.Add(time.Duration(n) * each)
		fleet.report(rollout.TaskReport{
			Task: fmt.Sprint("task-", n), Service: fmt.Sprint("service-", n), StartedAt: fleet.at, SentAt: fleet.at,
			Lanes: []rollout.LaneReport{{Lane: "reads"}},
		})
	}
	most := int((retention + 2*time.Minute) / each)
	if slots, services := len(fleet.slots), len(fleet.tasks); slots > most || services > most || slots < most/2 {
		t.Errorf("kept of six hours: %d slots, %d services; of two hours there are %d", slots, services, most)
	}
}
