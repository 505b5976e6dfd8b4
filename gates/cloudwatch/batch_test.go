package cloudwatch_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch"
)

func TestMetricsOfOnePlaceAreAskedForTogether(t *testing.T) {
	s := serve(t)
	var metrics []gates.Metric
	add := func(times int, change func(*gates.Metric)) {
		for range times {
			m := borrow
			m.Dimensions = map[string]string{"ProxyName": fmt.Sprint("proxy", len(metrics))}
			change(&m)
			metrics = append(metrics, m)
		}
	}
	add(501, func(*gates.Metric) {})
	add(2, func(m *gates.Metric) { m.Region = "us-east-1" })
	add(3, func(m *gates.Metric) { m.Region = "" })
	add(4, func(m *gates.Metric) { m.Account = "111122223333" })
	add(5, func(m *gates.Metric) { m.Period = 7 * time.Minute }) // another window
	r := s.reader(func(o *cloudwatch.Options) { o.Region, o.CrossAccount = "ap-northeast-1", true })
	for i, series := range read(t, r, metrics...) {
		if series.Cause != "" {
			t.Fatalf("metric %d: %+v", i, series)
		}
	}
	var got []string
	for _, c := range s.got() {
		got = append(got, fmt.Sprintf("%s %q %d %s", c.Region, c.Accounts[0], len(c.Accounts), c.Start.Format("15:04")))
	}
	slices.SortFunc(got, cmp.Compare)
	want := []string{
		`ap-northeast-1 "" 3 12:00`,
		`eu-west-1 "" 1 12:00`,
		`eu-west-1 "" 5 12:02`,
		`eu-west-1 "" 500 12:00`,
		`eu-west-1 "111122223333" 4 12:00`,
		`us-east-1 "" 2 12:00`,
	}
	if d := diff.Diff(want, got); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

func TestAnAccountIsNamedOnlyAcrossAccounts(t *testing.T) {
	s := serve(t)
	m := borrow
	m.Account = "111122223333"
	read(t, s.reader(), m)
	if calls := s.got(); len(calls) != 1 || calls[0].Accounts[0] != "" {
		t.Errorf("requests %+v, want one that names no account", calls)
	}
}

func TestTheWindowIsOfWholeBuckets(t *testing.T) {
	tests := []struct {
		name       string
		period     time.Duration
		from, to   time.Duration // after noon
		start, end string
		want       []gates.Point
	}{
		{"on the grid", time.Minute, 0, 3 * time.Minute, "12:00:00", "12:03:00", points(1, 2, 3)},
		{"from the next bucket on", time.Minute, time.Second, 3 * time.Minute, "12:01:00", "12:03:00", points(1, 2, 3)[1:]},
		{"from the next bucket on, by a hair", time.Minute, time.Nanosecond, 3 * time.Minute, "12:01:00", "12:03:00", points(1, 2, 3)[1:]},
		{"to the end of the last one begun", time.Minute, 0, 121 * time.Second, "12:00:00", "12:03:00", points(1, 2, 3)},
		{"not to one that begins at the end", time.Minute, 0, 2 * time.Minute, "12:00:00", "12:02:00", points(1, 2)},
		{"of five minutes", 5 * time.Minute, -time.Minute, 4 * time.Minute, "12:00:00", "12:05:00", []gates.Point{{Start: noon, Value: 5}}},
		{"of a second, which the service begins earlier", time.Second, 90 * time.Second, 121 * time.Second, "12:01:30", "12:02:01", points(1, 2, 3)[2:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t)
			s.Set(borrow, points(1, 2, 3, 4, 5)...)
			m := borrow
			m.Period = tt.period
			got := s.reader().Read(t.Context(), []gates.Metric{m}, noon.Add(tt.from), noon.Add(tt.to))[0]
			if d := diff.Diff(gates.Series{Points: tt.want}, got); d != "" {
				t.Errorf("series (-want +got):\n%s", d)
			}
			call := s.got()[0]
			if start, end := call.Start.Format(time.TimeOnly), call.End.Format(time.TimeOnly); start != tt.start || end != tt.end {
				t.Errorf("asked for %s to %s, want %s to %s", start, end, tt.start, tt.end)
			}
		})
	}
}

func TestAWindowWithoutABucketIsNotAskedFor(t *testing.T) {
	s := serve(t)
	got := s.reader().Read(t.Context(), []gates.Metric{borrow}, noon.Add(time.Second), noon.Add(2*time.Second))[0]
	if len(got.Points) > 0 || got.Cause != "" || len(s.got()) > 0 {
		t.Errorf("series %+v, requests %+v; want none of either", got, s.got())
	}
}

func TestWithoutARegionNothingIsRead(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	s := serve(t)
	m := borrow
	m.Region = ""
	got := read(t, s.reader(), m)[0]
	if got.Cause != gates.Config || got.Note != "no region: neither the metric nor the environment names one" {
		t.Errorf("got %+v, want config", got)
	}
	t.Setenv("AWS_REGION", "eu-north-1")
	read(t, s.reader(), m)
	if calls := s.got(); len(calls) != 1 || calls[0].Region != "eu-north-1" {
		t.Errorf("requests %+v, want one in the environment's region", calls)
	}
}

func TestReadersMayBeShared(t *testing.T) {
	s := serve(t)
	s.Set(borrow, points(1)...)
	r := s.reader()
	done := make(chan gates.Series)
	for range 8 {
		go func() { done <- read(t, r, borrow)[0] }()
	}
	for range 8 {
		if got := <-done; len(got.Points) != 1 {
			t.Errorf("got %+v, want one point", got)
		}
	}
}
