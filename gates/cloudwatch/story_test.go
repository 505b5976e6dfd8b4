package cloudwatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

// TestAGateSeesABadTargetAsTheServiceShowsIt walks through minutes in which the
// newest bucket grows and all of it comes two minutes late.
func TestAGateSeesABadTargetAsTheServiceShowsIt(t *testing.T) {
	var now time.Time
	s := cloudwatchtest.New(cloudwatchtest.Options{Now: func() time.Time { return now }})
	defer s.Close()
	r := (&service{Server: s}).reader()
	requests, waits := metric("QueryRequests"), borrow
	s.Set(requests, points(600, 600, 600, 600, 600, 600)...)
	s.Set(waits, points(0, 0, 0, 80, 80, 80)...)
	s.Publish(requests, cloudwatchtest.Publishing{Delay: 2 * time.Minute, Grows: true})
	s.Publish(waits, cloudwatchtest.Publishing{Delay: 2 * time.Minute, Grows: true, AbsentZero: true})
	traffic := gates.Gate{Name: "traffic", Metric: requests, Delay: 2 * time.Minute, Limit: gates.Limit{Below: new(300.0), M: 1, N: 1}}
	wait := gates.Gate{Name: "wait", Metric: waits, Delay: 2 * time.Minute, Limit: gates.Limit{Above: new(50.0), M: 2, N: 3}, Absent: gates.AbsentZero}

	var story []string
	for _, seconds := range []int{60, 150, 180, 330, 340, 360, 415, 420} {
		now = noon.Add(time.Duration(seconds) * time.Second)
		series := r.Read(t.Context(), []gates.Metric{requests, waits}, noon, now)
		a, b := gates.Judge(traffic, series[0], noon, now), gates.Judge(wait, series[1], noon, now)
		story = append(story, now.Format(time.TimeOnly)+" "+say(a)+", "+say(b))
	}
	want := []string{
		"12:01:00 traffic inconclusive too_few (no complete bucket since 12:00 yet), wait inconclusive too_few (no complete bucket since 12:00 yet)",
		"12:02:30 traffic inconclusive too_few (no complete bucket since 12:00 yet), wait inconclusive too_few (no complete bucket since 12:00 yet)",
		"12:03:00 traffic pass (600 ≥ 300, newest 12:00), wait pass (0 ≤ 50, newest 12:00)",
		"12:05:30 traffic pass (600 ≥ 300, newest 12:02), wait pass (0 ≤ 50, newest 12:02)",
		"12:05:40 traffic pass (600 ≥ 300, newest 12:02), wait marginal (53.33 > 50 in 1 of 3, newest 12:02)",
		"12:06:00 traffic pass (600 ≥ 300, newest 12:03), wait marginal (80 > 50 in 1 of 3, newest 12:03)",
		"12:06:55 traffic pass (600 ≥ 300, newest 12:03), wait fail (80 > 50 in 2 of 3)",
		"12:07:00 traffic pass (600 ≥ 300, newest 12:04), wait fail (80 > 50 in 2 of 3)",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("story (-want +got):\n%s\n%s", diff, strings.Join(story, "\n"))
	}
}

// say writes a verdict as part of a story.
func say(v gates.Verdict) string {
	return fmt.Sprintf("%s %s (%s)", v.Gate, strings.TrimSpace(string(v.Result)+" "+string(v.Cause)), v.Why)
}
