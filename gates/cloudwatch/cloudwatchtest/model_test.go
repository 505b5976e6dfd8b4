package cloudwatchtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

// world is a server in a time that the test moves, and a client of it.
type world struct {
	*cloudwatchtest.Server
	t      *testing.T
	client *cloudwatch.Client
	now    time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: noon}
	w.Server = cloudwatchtest.New(cloudwatchtest.Options{Now: func() time.Time { return w.now }})
	t.Cleanup(w.Close)
	w.client = client(w.URL)
	return w
}

// sees says what a statistic of the hour from noon on is, at a time after noon.
func (w *world) sees(after time.Duration, stat string, m gates.Metric) string {
	w.now = noon.Add(after)
	out, err := w.client.GetMetricData(w.t.Context(), hour(query("m", stat, m)))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(told(out.MetricDataResults)[0], "m Complete"))
}

func TestHowPointsComeToBeSeen(t *testing.T) {
	type look struct {
		after time.Duration
		stat  string
		want  string
	}
	tests := []struct {
		name    string
		publish cloudwatchtest.Publishing
		points  []gates.Point
		looks   []look
	}{
		{
			"a bucket is seen once it has ended",
			cloudwatchtest.Publishing{},
			points(5, 6),
			[]look{{59 * time.Second, "Sum", ""}, {time.Minute, "Sum", "12:00=5"}, {2 * time.Minute, "Sum", "12:00=5 12:01=6"}},
		},
		{
			"a delayed one later",
			cloudwatchtest.Publishing{Delay: 2 * time.Minute},
			points(5),
			[]look{{179 * time.Second, "Sum", ""}, {3 * time.Minute, "Sum", "12:00=5"}},
		},
		{
			"a growing one before, but less of it",
			cloudwatchtest.Publishing{Delay: time.Minute, Grows: true},
			points(8),
			[]look{{time.Minute, "Sum", ""}, {75 * time.Second, "Sum", "12:00=2"}, {105 * time.Second, "Maximum", "12:00=6"}, {2 * time.Minute, "Sum", "12:00=8"}},
		},
		{
			"zeros may never be published",
			cloudwatchtest.Publishing{AbsentZero: true},
			points(1, 0, 2),
			[]look{{time.Hour, "Sum", "12:00=1 12:02=2"}},
		},
		{
			"each node reports its part",
			cloudwatchtest.Publishing{Nodes: 4},
			points(100),
			[]look{{time.Hour, "Sum", "12:00=100"}, {time.Hour, "SampleCount", "12:00=4"}, {time.Hour, "Average", "12:00=25"}, {time.Hour, "Maximum", "12:00=25"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.Set(borrow, tt.points...)
			w.Publish(borrow, tt.publish)
			for _, l := range tt.looks {
				if got := w.sees(l.after, l.stat, borrow); got != l.want {
					t.Errorf("after %v the %s is %q, want %q", l.after, l.stat, got, l.want)
				}
			}
		})
	}
}

func TestASampleOfANodeThatIsLateRaisesTheBucket(t *testing.T) {
	w := newWorld(t)
	w.Add(borrow, cloudwatchtest.Sample{At: noon, Value: 30}, cloudwatchtest.Sample{At: noon, Value: 40})
	if got := w.sees(time.Second, "Sum", borrow); got != "12:00=70" {
		t.Errorf("of two nodes %q, want 12:00=70", got)
	}
	w.Add(borrow, cloudwatchtest.Sample{At: noon.Add(50 * time.Second), Value: 5, Count: 2})
	if got := w.sees(2*time.Second, "Sum", borrow); got != "12:00=70" {
		t.Errorf("before its time %q, want 12:00=70", got)
	}
	if got := w.sees(time.Minute, "Sum", borrow); got != "12:00=80" {
		t.Errorf("with the third %q, want 12:00=80", got)
	}
}

func TestAComputedSeriesIsAskedUpToNow(t *testing.T) {
	w := newWorld(t)
	everySecond := borrow
	everySecond.Period = time.Second
	w.Func(everySecond, func(start time.Time) (float64, bool) {
		second := start.Sub(noon).Seconds()
		return second, second >= 0 && second != 2
	})
	w.now = noon.Add(4*time.Second + 500*time.Millisecond)
	out, err := w.client.GetMetricData(t.Context(), hour(query("m", "Sum", everySecond)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0, 1, 3}, out.MetricDataResults[0].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if got := w.sees(10*time.Minute, "Maximum", borrow); !strings.HasPrefix(got, "12:00=59 12:01=119 ") {
		t.Errorf("by the minute %q, want the greatest of each 60 seconds", got)
	}
	w.Set(borrow, points(7)...)
	if got := w.sees(10*time.Minute, "Maximum", borrow); got != "12:00=7" {
		t.Errorf("after points were set %q, want 12:00=7", got)
	}
}

func TestTheWindowIsCutAsTheServiceDoes(t *testing.T) {
	w := newWorld(t)
	w.now = noon.Add(time.Hour)
	w.Set(borrow, points(1, 2, 3, 4, 5, 6)...)
	in := hour(query("m", "Sum", borrow))
	in.StartTime, in.EndTime = aws.Time(noon.Add(90*time.Second)), aws.Time(noon.Add(4*time.Minute))
	fives := query("five", "Sum", borrow)
	fives.MetricStat.Period = aws.Int32(300)
	in.MetricDataQueries = append(in.MetricDataQueries, fives)
	out, err := w.client.GetMetricData(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"m Complete 12:01=2 12:02=3 12:03=4", "five Complete 12:00=9"}
	if diff := cmp.Diff(want, told(out.MetricDataResults)); diff != "" {
		t.Errorf("from a minute rounded down to an end that is left out (-want +got):\n%s", diff)
	}
}

func TestShortPeriodsAreKeptForThreeHours(t *testing.T) {
	w := newWorld(t)
	seconds := borrow
	seconds.Period = time.Second
	w.Set(seconds, points(1)...)
	if got := w.sees(3*time.Hour-time.Second, "Sum", seconds); got != "12:00=1" {
		t.Errorf("before three hours are over %q, want 12:00=1", got)
	}
	if got := w.sees(3*time.Hour+time.Second, "Sum", seconds); got != "" {
		t.Errorf("after three hours %q, want nothing", got)
	}
	minutes := seconds
	minutes.Period = time.Minute
	if got := w.sees(3*time.Hour+time.Second, "Sum", minutes); got != "12:00=1" {
		t.Errorf("by the minute %q, want 12:00=1", got)
	}
}

func TestFaultsEnd(t *testing.T) {
	w := newWorld(t)
	w.Set(borrow, points(1)...)
	w.Fault(cloudwatchtest.Throttling, 2)
	for i, fails := range []bool{true, true, false} {
		_, err := w.client.GetMetricData(t.Context(), hour(query("m", "Sum", borrow)))
		if (err != nil) != fails {
			t.Errorf("request %d: error %v", i, err)
		}
	}
	w.Fault(cloudwatchtest.Unavailable, 0)
	w.FaultIn(borrow, cloudwatchtest.Forbidden)
	for range 3 {
		if _, err := w.client.GetMetricData(t.Context(), hour(query("m", "Sum", borrow))); err == nil {
			t.Error("no error while the service is unavailable")
		}
	}
	w.Heal()
	if got := w.sees(time.Hour, "Sum", borrow); got != "12:00=1" {
		t.Errorf("after healing %q, want 12:00=1", got)
	}
}

func TestARequestThatIsNoneIsRefused(t *testing.T) {
	s := serve(t)
	tests := []struct {
		name    string
		headers map[string]string
		body    string
		want    string
	}{
		{"an unknown action", nil, "Action=DeleteAlarms", "InvalidAction"},
		{"no action", nil, "", "InvalidAction"},
		{"a form that is none", nil, "%zz", "InvalidAction"},
		{"a period that is no number", nil, "Action=GetMetricData&MetricDataQueries.member.1.MetricStat.Period=x", "MalformedInput"},
		{"a member that is no number", nil, "Action=GetMetricData&MetricDataQueries.member.one.Id=x", "MalformedInput"},
		{"broken JSON", map[string]string{"X-Amz-Target": "GraniteServiceVersion20100801.GetMetricData"}, "{", "SerializationException"},
		{"a body that is not compressed", map[string]string{"Content-Encoding": "gzip"}, "Action=ListMetrics", "compressed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range tt.headers {
				r.Header.Set(name, value)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), tt.want) {
				t.Errorf("status %d: %s; want 400 and %s", answer.StatusCode, text, tt.want)
			}
		})
	}
}
