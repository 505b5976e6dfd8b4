package cloudwatch_test

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// borrow and cpu are two metrics of a region.
var (
	borrow = metric("DatabaseConnectionsBorrowLatency")
	cpu    = metric("CPUUtilization")
)

func metric(name string) gates.Metric {
	return gates.Metric{
		Region: "eu-west-1", Namespace: "AWS/RDS", Name: name, Stat: "Maximum", Period: time.Minute,
		Dimensions: map[string]string{"ProxyName": "orders", "EndpointName": "default"},
	}
}

func points(values ...float64) []gates.Point {
	var points []gates.Point
	for i, v := range values {
		points = append(points, gates.Point{Start: noon.Add(time.Duration(i) * time.Minute), Value: v})
	}
	return points
}

// service is the stand-in, at one o'clock, and the requests that it got.
type service struct {
	*cloudwatchtest.Server

	mu    sync.Mutex
	calls []cloudwatchtest.Call
}

func serve(t *testing.T) *service { return servePages(t, 0) }

// servePages serves pages of so many points.
func servePages(t *testing.T, points int) *service {
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_PROFILE": "", "AWS_MAX_ATTEMPTS": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
	} {
		t.Setenv(name, value) // the machine's own configuration is no part of a test
	}
	s := &service{}
	s.Server = cloudwatchtest.New(cloudwatchtest.Options{
		Page: points,
		Now:  func() time.Time { return noon.Add(time.Hour) },
		OnCall: func(c cloudwatchtest.Call) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls = append(s.calls, c)
		},
	})
	t.Cleanup(s.Close)
	return s
}

// got returns the requests so far.
func (s *service) got() []cloudwatchtest.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// reader reads from the stand-in, and does not pause for long.
func (s *service) reader(change ...func(*cloudwatch.Options)) *cloudwatch.Reader {
	o := cloudwatch.Options{
		Endpoint:    s.URL,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		Pause:       time.Millisecond,
	}
	for _, c := range change {
		c(&o)
	}
	return cloudwatch.New(o)
}

// read reads the hour from noon on.
func read(t *testing.T, r *cloudwatch.Reader, metrics ...gates.Metric) []gates.Series {
	t.Helper()
	return r.Read(t.Context(), metrics, noon, noon.Add(time.Hour))
}

func TestSeriesComeInTheOrderOfTheirMetrics(t *testing.T) {
	s := serve(t)
	s.Set(borrow, points(1, 2)...)
	s.Set(cpu, points(30)...)
	s.Fault(cloudwatchtest.Reversed, 0) // neither results nor points come in order
	unknown := metric("Unknown")
	got := read(t, s.reader(), cpu, borrow, unknown, cpu)
	want := []gates.Series{{Points: points(30)}, {Points: points(1, 2)}, {}, {Points: points(30)}}
	if diff := cmp.Diff(want, got, emptyIsNil); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if calls := s.got(); len(calls) != 1 || len(calls[0].Accounts) != 3 || calls[0].ScanBy != "TimestampAscending" {
		t.Errorf("requests %+v, want one of three queries, oldest first", calls)
	}
}

// emptyIsNil takes a list without points for none.
var emptyIsNil = cmp.Transformer("emptyIsNil", func(p []gates.Point) []gates.Point {
	if len(p) == 0 {
		return nil
	}
	return p
})

func TestAMetricThatTheServiceWouldRefuseIsNotAskedFor(t *testing.T) {
	s := serve(t)
	with := func(change func(*gates.Metric)) gates.Metric { m := borrow; change(&m); return m }
	tests := map[string]gates.Metric{
		"the metric has no namespace": with(func(m *gates.Metric) { m.Namespace = "" }),
		"the metric has no name":      with(func(m *gates.Metric) { m.Name = "" }),
		"the metric has no stat":      with(func(m *gates.Metric) { m.Stat = "" }),
		"the period is 0s":            with(func(m *gates.Metric) { m.Period = 0 }),
		"the period is 7s":            with(func(m *gates.Metric) { m.Period = 7 * time.Second }),
		"the period is 1m30s":         with(func(m *gates.Metric) { m.Period = 90 * time.Second }),
		"the period is 500ms":         with(func(m *gates.Metric) { m.Period = 500 * time.Millisecond }),
		"the period is 48h0m0s":       with(func(m *gates.Metric) { m.Period = 48 * time.Hour }),
	}
	for note, m := range tests {
		got := read(t, s.reader(), m)[0]
		if got.Cause != gates.Config || !strings.HasPrefix(got.Note, note) {
			t.Errorf("cause %q, note %q; want config: %s", got.Cause, got.Note, note)
		}
	}
	if calls := s.got(); len(calls) > 0 {
		t.Errorf("asked %+v", calls)
	}
}

func TestANaNIsHandedOn(t *testing.T) {
	s := serve(t)
	s.Set(borrow, points(1, 2)...)
	s.FaultIn(borrow, cloudwatchtest.NaN)
	got := read(t, s.reader(), borrow)[0]
	if len(got.Points) != 2 || !math.IsNaN(got.Points[1].Value) || got.Cause != "" {
		t.Errorf("got %+v, want 1 and NaN for the judge", got)
	}
}

func TestAnswersOfManyPagesAreOne(t *testing.T) {
	s := servePages(t, 2)
	s.Set(borrow, points(1, 2, 3)...)
	s.Set(cpu, points(4, 5, 6, 7)...)
	got := read(t, s.reader(), borrow, cpu)
	want := []gates.Series{{Points: points(1, 2, 3)}, {Points: points(4, 5, 6, 7)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if calls := s.got(); len(calls) != 4 {
		t.Errorf("%d requests, want 4 pages", len(calls))
	}
}

func TestOfAnAnswerWithoutAnEndTheFirstPagesAreKept(t *testing.T) {
	s := servePages(t, 1)
	seconds := borrow
	seconds.Period = time.Second
	s.Func(seconds, func(start time.Time) (float64, bool) { return 1, start.Before(noon.Add(2 * time.Minute)) })
	got := read(t, s.reader(), seconds)[0]
	if got.Cause != gates.Partial || len(got.Points) != 100 || !strings.Contains(got.Note, "does not end within 100 pages") {
		t.Errorf("cause %q, note %q, %d points; want 100 of a partial series", got.Cause, got.Note, len(got.Points))
	}
}

func TestOfAnAnswerThatBreaksOffTheFirstPageIsKept(t *testing.T) {
	var s *cloudwatchtest.Server
	calls := 0
	s = cloudwatchtest.New(cloudwatchtest.Options{
		Page: 2, Now: func() time.Time { return noon.Add(time.Hour) },
		OnCall: func(cloudwatchtest.Call) {
			if calls++; calls == 2 {
				s.Fault(cloudwatchtest.AccessDenied, 0)
			}
		},
	})
	defer s.Close()
	s.Set(borrow, points(90, 91, 1)...)
	got := read(t, (&service{Server: s}).reader(), borrow)[0]
	if diff := cmp.Diff(points(90, 91), got.Points); diff != "" || got.Cause != gates.Forbidden {
		t.Errorf("cause %q, want forbidden; points (-want +got):\n%s", got.Cause, diff)
	}
	gate := gates.Gate{Metric: borrow, Limit: gates.Limit{Above: new(50.0), M: 2, N: 3}}
	if v := gates.Judge(gate, got, noon, noon.Add(3*time.Minute)); !v.Breach {
		t.Errorf("what came may breach: %+v", v)
	}
}

func TestAServiceThatHangsIsGivenUp(t *testing.T) {
	s := serve(t)
	s.Fault(cloudwatchtest.Hang, 0)
	r := s.reader(func(o *cloudwatch.Options) { o.Attempt = 100 * time.Millisecond })
	got := read(t, r, borrow)[0]
	if got.Cause != gates.Failed || got.Note != "no answer in time" {
		t.Errorf("got %+v, want an error: no answer in time", got)
	}
	if asked := len(s.got()); asked > 3 {
		t.Errorf("asked %d times, want no more than 3", asked)
	}
}

func TestAServiceThatHangsOnceIsReadAllTheSame(t *testing.T) {
	s := serve(t)
	s.Set(borrow, points(1)...)
	s.Fault(cloudwatchtest.Hang, 1)
	r := s.reader(func(o *cloudwatch.Options) { o.Attempt = time.Second })
	if got := read(t, r, borrow)[0]; got.Cause != "" || len(got.Points) != 1 {
		t.Errorf("got %+v, want one point", got)
	}
}

func TestAReadingEndsAtItsDeadline(t *testing.T) {
	s := serve(t)
	s.Fault(cloudwatchtest.Hang, 0)
	r := s.reader(func(o *cloudwatch.Options) { o.Attempt, o.Deadline = time.Hour, 20*time.Millisecond })
	if got := read(t, r, borrow)[0]; got.Cause != gates.Failed || got.Note != "no answer in time" {
		t.Errorf("got %+v, want an error: no answer in time", got)
	}
}

func TestAReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := cloudwatchtest.New(cloudwatchtest.Options{OnCall: func(cloudwatchtest.Call) { cancel() }})
	defer s.Close()
	s.Fault(cloudwatchtest.Hang, 0)
	r := (&service{Server: s}).reader()
	if got := r.Read(ctx, []gates.Metric{borrow}, noon, noon.Add(time.Hour))[0]; got.Cause != gates.Failed || got.Note != "the reading was ended" {
		t.Errorf("got %+v, want an error: the reading was ended", got)
	}
}
