package cloudwatch_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

func TestWhatTheServiceSaysBecomesACause(t *testing.T) {
	tests := []struct {
		fault  cloudwatchtest.Fault
		cause  gates.Cause
		note   string // a part of it
		points []gates.Point
		asked  int
	}{
		{cloudwatchtest.PartialData, gates.Partial, "points are missing; PartialData: Some of it is missing", points(1, 2), 1},
		{cloudwatchtest.Forbidden, gates.Forbidden, "cloudwatch:GetMetricData is refused for this metric", nil, 1},
		{cloudwatchtest.InternalError, gates.Failed, "the service failed to read this metric", nil, 1},
		{cloudwatchtest.Odd, gates.Failed, `status "Odd", which is not known`, points(1, 2), 1},
		{cloudwatchtest.ShortValues, gates.Failed, "times and values that do not pair", nil, 1},
		{cloudwatchtest.Unanswered, gates.Failed, "said nothing of this metric", nil, 1},
		{cloudwatchtest.Hollow, gates.Failed, "said nothing of this metric", nil, 1},
		{cloudwatchtest.Empty, gates.Failed, "said nothing of this metric", nil, 1},
		{cloudwatchtest.GlobalMessages, "", "MaxMetricsExceeded: Maximum number of allowed metrics exceeded", points(1, 2), 1},
		{cloudwatchtest.RepeatedToken, gates.Partial, "names a page that it gave before", points(1, 2), 2},
		{cloudwatchtest.Throttling, gates.Throttled, "cloudwatch:GetMetricData is throttled: Throttling: Rate exceeded", nil, 3},
		{cloudwatchtest.TooMany, gates.Throttled, "StatusCode: 429", nil, 3},
		{cloudwatchtest.LimitFault, gates.Failed, "LimitExceeded: The quota", nil, 1},
		{cloudwatchtest.AccessDenied, gates.Forbidden, "cloudwatch:GetMetricData is refused: AccessDenied: User: arn", nil, 1},
		{cloudwatchtest.ExpiredToken, gates.Forbidden, "cloudwatch:GetMetricData is refused: ExpiredToken: The security token", nil, 1},
		{cloudwatchtest.InternalFault, gates.Failed, "InternalServiceError: Internal service error", nil, 3},
		{cloudwatchtest.Unavailable, gates.Failed, "StatusCode: 503", nil, 3},
		{cloudwatchtest.Truncated, gates.Failed, "unexpected EOF", nil, 3},
		{cloudwatchtest.Cut, gates.Failed, "deserialization failed", nil, 3},
		{cloudwatchtest.Foreign, gates.Failed, "deserialization failed", nil, 3},
		{cloudwatchtest.Hangup, gates.Failed, "EOF", nil, 3},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			s := serve(t)
			s.Set(borrow, points(1, 2)...)
			s.Fault(tt.fault, 0)
			got := read(t, s.reader(), borrow)[0]
			if got.Cause != tt.cause || !strings.Contains(got.Note, tt.note) {
				t.Errorf("cause %q, note %q; want %q and %q", got.Cause, got.Note, tt.cause, tt.note)
			}
			if diff := cmp.Diff(tt.points, got.Points, emptyIsNil); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
			if asked := len(s.got()); asked != tt.asked {
				t.Errorf("asked %d times, want %d", asked, tt.asked)
			}
			gate := gates.Gate{Metric: borrow, Limit: gates.Limit{Above: new(9.0), M: 1, N: 1}, Absent: gates.AbsentZero}
			if v := gates.Judge(gate, got, noon, noon.Add(2*time.Minute)); v.Allows() != (tt.cause == "") {
				t.Errorf("a gate says %+v", v)
			}
		})
	}
}

func TestAPageThatFailedIsNotMadeGoodByTheNext(t *testing.T) {
	s := servePages(t, 1)
	s.Set(borrow, points(1, 2, 3)...)
	s.Fault(cloudwatchtest.InternalError, 1)
	got := read(t, s.reader(), borrow)[0]
	if diff := cmp.Diff(points(1, 2, 3)[1:], got.Points); got.Cause != gates.Failed || diff != "" {
		t.Errorf("cause %q, want an error; points (-want +got):\n%s", got.Cause, diff)
	}
}

func TestAnAnswerThatCannotBeReadIsAskedForAgain(t *testing.T) {
	for _, fault := range []cloudwatchtest.Fault{
		cloudwatchtest.Truncated, cloudwatchtest.Cut, cloudwatchtest.Foreign, cloudwatchtest.Unavailable,
		cloudwatchtest.Hangup, cloudwatchtest.Throttling, cloudwatchtest.InternalFault,
	} {
		t.Run(string(fault), func(t *testing.T) {
			s := serve(t)
			s.Set(borrow, points(1, 2)...)
			s.Fault(fault, 2)
			got := read(t, s.reader(), borrow)[0]
			if diff := cmp.Diff(gates.Series{Points: points(1, 2)}, got); diff != "" {
				t.Errorf("after two of them (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMetricThatFailsLeavesTheOthersWhole(t *testing.T) {
	s := serve(t)
	s.Set(borrow, points(1)...)
	s.Set(cpu, points(30)...)
	for fault, cause := range map[cloudwatchtest.Fault]gates.Cause{
		cloudwatchtest.Forbidden: gates.Forbidden, cloudwatchtest.InternalError: gates.Failed, cloudwatchtest.PartialData: gates.Partial,
		cloudwatchtest.Unanswered: gates.Failed, cloudwatchtest.ShortValues: gates.Failed,
	} {
		s.Heal()
		s.FaultIn(cpu, fault)
		got := read(t, s.reader(), cpu, borrow)
		if got[0].Cause != cause {
			t.Errorf("%s: cause %q, want %q", fault, got[0].Cause, cause)
		}
		if diff := cmp.Diff(gates.Series{Points: points(1)}, got[1]); diff != "" {
			t.Errorf("%s: the other (-want +got):\n%s", fault, diff)
		}
	}
}

func TestAnInvalidMetricLeavesTheOthersWhole(t *testing.T) {
	s := serve(t)
	s.Set(borrow, points(1)...)
	var metrics []gates.Metric
	for i := range 40 {
		m := borrow
		m.Dimensions = map[string]string{"ProxyName": fmt.Sprint("proxy", i)}
		metrics = append(metrics, m)
	}
	metrics[7].Stat = "p101"
	metrics[30].Stat = "median"
	metrics[39] = borrow
	got := read(t, s.reader(), metrics...)
	for i, series := range got {
		want := gates.Cause("")
		if i == 7 || i == 30 {
			want = gates.Config
		}
		if series.Cause != want {
			t.Errorf("metric %d: cause %q (%s), want %q", i, series.Cause, series.Note, want)
		}
	}
	if diff := cmp.Diff(points(1), got[39].Points); diff != "" {
		t.Errorf("the last (-want +got):\n%s", diff)
	}
	if note := got[7].Note; note != "the service refuses to read this: ValidationError: The value p101 for parameter Stat is not supported." {
		t.Errorf("note %q", note)
	}
}

func TestWhenAllIsInvalidTheServiceIsNotAskedForever(t *testing.T) {
	s := serve(t)
	var metrics []gates.Metric
	for i := range 500 {
		m := borrow
		m.Stat = "median"
		m.Dimensions = map[string]string{"ProxyName": fmt.Sprint("proxy", i)}
		metrics = append(metrics, m)
	}
	for i, series := range read(t, s.reader(), metrics...) {
		if series.Cause != gates.Config {
			t.Fatalf("metric %d: cause %q, want config", i, series.Cause)
		}
	}
	if asked := len(s.got()); asked > 70 {
		t.Errorf("asked %d times", asked)
	}
}

func TestWithoutCredentialsNothingIsRead(t *testing.T) {
	s := serve(t)
	got := read(t, s.reader(func(o *cloudwatch.Options) { o.Credentials = nil }), borrow)[0]
	if got.Cause != gates.Failed || !strings.Contains(got.Note, "credentials") || len(s.got()) > 0 {
		t.Errorf("got %+v, want an error that speaks of credentials", got)
	}
}

func TestAReadingThatFailedIsLoggedOnce(t *testing.T) {
	s := serve(t)
	s.Fault(cloudwatchtest.Throttling, 0)
	var log strings.Builder
	r := s.reader(func(o *cloudwatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	read(t, r, borrow, cpu)
	want := `level=WARN msg="reading metrics failed" region=eu-west-1 account="" metrics=2 why=throttled err=`
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), want) {
		t.Errorf("%d lines logged, want one with %s:\n%s", lines, want, log.String())
	}
}
