package gates_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// minutes gives a point to each value, a minute apart, the first at noon.
// A value that is no number leaves its minute without a point.
func minutes(values ...float64) []gates.Point {
	var points []gates.Point
	for i, v := range values {
		if !math.IsNaN(v) {
			points = append(points, gates.Point{Start: noon.Add(time.Duration(i) * time.Minute), Value: v})
		}
	}
	return points
}

var gap = math.NaN()

// above is a gate on an upper limit, two of three.
func above(limit float64) gates.Gate {
	return gates.Gate{
		Name:   "borrow-wait",
		Metric: gates.Metric{Name: "borrow", Period: time.Minute, Unit: "us"},
		Limit:  gates.Limit{Above: &limit, M: 2, N: 3},
		Absent: gates.AbsentUnknown,
	}
}

func below(limit float64) gates.Gate {
	g := above(0)
	g.Limit.Above, g.Limit.Below = nil, &limit
	return g
}

func band(low, high float64) gates.Gate {
	g := above(high)
	g.Limit.Below = &low
	return g
}

func absent(g gates.Gate, a gates.Absent) gates.Gate { g.Absent = a; return g }

func delayed(g gates.Gate, d time.Duration) gates.Gate { g.Delay = d; return g }

func rule(g gates.Gate, m, n int) gates.Gate { g.Limit.M, g.Limit.N = m, n; return g }

func unit(g gates.Gate, u string) gates.Gate { g.Metric.Unit = u; return g }

func series(values ...float64) gates.Series { return gates.Series{Points: minutes(values...)} }

// told is a series for which the reader gives a cause.
func told(c gates.Cause, note string, values ...float64) gates.Series {
	return gates.Series{Points: minutes(values...), Cause: c, Note: note}
}

// provisional marks the newest point.
func provisional(s gates.Series) gates.Series {
	s.Points[len(s.Points)-1].Provisional = true
	return s
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name   string
		gate   gates.Gate
		series gates.Series
		after  time.Duration // now, since noon
		want   string        // result, cause, complete buckets, why
	}{
		{"values well within the limit pass", above(50_000), series(300, 412, 380), 3 * time.Minute, "pass, 3: 380 us ≤ 50000 us, newest 12:02"},
		{"two bad buckets of three are a breach", above(50_000), series(100, 60_000, 100, 61_000), 4 * time.Minute, "fail, 4: 61000 us > 50000 us in 2 of 3"},
		{"two bad buckets that three cannot hold are none", above(50), series(60, 1, 1, 60), 4 * time.Minute, "marginal, 4: 60 us > 50 us in 1 of 3, newest 12:03"},
		{"an old bad bucket is forgotten", above(50), series(60, 1, 1, 2), 4 * time.Minute, "pass, 4: 2 us ≤ 50 us, newest 12:03"},
		{"a bucket without a point is not bad, but takes up its place", above(50), series(60, gap, gap, 60), 4 * time.Minute, "marginal, 2: 60 us > 50 us in 1 of 3, newest 12:03"},
		{"a breach is told by its worst value", above(50), series(60, 90, 70, 1, 1, 1), 6 * time.Minute, "fail, 6: 90 us > 50 us in 3 of 3"},
		{"a breach long ago stands", above(50), series(60, 60, 1, 1, 1, 1, 1), 7 * time.Minute, "fail, 7: 60 us > 50 us in 2 of 3"},
		{"the limit itself is allowed, but marginal", above(50), series(50), time.Minute, "marginal, 1: 50 us ≤ 50 us, nearly at the limit, newest 12:00"},
		{"within a tenth of the limit is marginal", above(50), series(45), time.Minute, "marginal, 1: 45 us ≤ 50 us, nearly at the limit, newest 12:00"},
		{"a limit of zero is kept by zero", rule(above(0), 1, 1), series(0), time.Minute, "pass, 1: 0 us ≤ 0 us, newest 12:00"},
		{"a limit of zero is broken by the first one", unit(rule(above(0), 1, 1), "count"), series(0, 1), 2 * time.Minute, "fail, 2: 1 > 0 in 1 of 1"},
		{"a value below a lower limit is a breach", unit(rule(below(99), 1, 1), "percent"), series(100, 98), 2 * time.Minute, "fail, 2: 98 % < 99 % in 1 of 1"},
		{"a value above a lower limit passes", below(100), series(500), time.Minute, "pass, 1: 500 us ≥ 100 us, newest 12:00"},
		{"a band is kept inside", band(20, 80), series(50), time.Minute, "pass, 1: 20 us ≤ 50 us ≤ 80 us, newest 12:00"},
		{"a band is broken on both sides together", band(20, 80), series(10, 90), 2 * time.Minute, "fail, 2: 10 us < 20 us in 2 of 3"},

		{"a provisional bucket breaches an upper limit", rule(above(50), 1, 1), provisional(series(1, 60)), 90 * time.Second, "fail, 1: 60 us > 50 us in 1 of 1"},
		{"a bucket is provisional until its delay is over", delayed(above(50), time.Minute), series(1, 2), 2 * time.Minute, "pass, 1: 1 us ≤ 50 us, newest 12:00"},
		{"a provisional bucket alone never passes", delayed(above(50), 3*time.Minute), series(1, 2), 2 * time.Minute, "inconclusive too_few, 0: no complete bucket since 12:00 yet"},
		{"a provisional bucket never breaches a lower limit", rule(below(100), 1, 1), provisional(series(500, 3)), 90 * time.Second, "pass, 1: 500 us ≥ 100 us, newest 12:00"},
		{"a provisional bucket that bears no lower limit may still break the upper one of a band", rule(band(20, 80), 1, 1), provisional(series(50, 90)), 90 * time.Second, "fail, 1: 90 us > 80 us in 1 of 1"},

		{"the newest bucket of two periods is good enough", above(50), series(1), 3 * time.Minute, "pass, 1: 1 us ≤ 50 us, newest 12:00"},
		{"beyond two periods it is stale", above(50), series(1), 3*time.Minute + time.Second, "inconclusive stale, 1: newest 12:00 is 2m1s late"},
		{"the delay is no staleness", delayed(above(50), 3*time.Minute), series(1), 6 * time.Minute, "pass, 1: 1 us ≤ 50 us, newest 12:00"},
		{"stale data still breaches", above(50), series(60, 60), time.Hour, "fail, 2: 60 us > 50 us in 2 of 3"},

		{"no point is no data", above(50), series(), 2 * time.Minute, "inconclusive no_data, 0: no point since 12:00"},
		{"before the first bucket is due there is too little", above(50), series(), 59 * time.Second, "inconclusive too_few, 0: no complete bucket since 12:00 yet"},
		{"a series that may begin later has not started", absent(above(50), gates.AbsentNotStarted), series(), time.Hour, "inconclusive not_started, 0: no point yet: the series begins with the first traffic"},
		{"a series that began and ended is stale", absent(above(50), gates.AbsentNotStarted), series(1), time.Hour, "inconclusive stale, 1: newest 12:00 is 59m0s late"},
		{"absent zeros pass an upper limit", absent(above(50), gates.AbsentZero), series(), 10 * time.Minute, "pass, 10: 0 us ≤ 50 us, newest 12:09"},
		{"absent zeros need one whole bucket", absent(above(50), gates.AbsentZero), series(), 59 * time.Second, "inconclusive too_few, 0: no complete bucket since 12:00 yet"},
		{"absent zeros between points separate what is bad", absent(above(50), gates.AbsentZero), series(60, gap, gap, 60), 10 * time.Minute, "pass, 10: 0 us ≤ 50 us, newest 12:09"},
		{"absent zeros breach a lower limit", absent(below(100), gates.AbsentZero), series(500, gap, gap, 500), 4 * time.Minute, "fail, 4: 0 us < 100 us in 2 of 3"},
		{"a source that did not answer in full has no zeros", absent(above(50), gates.AbsentZero), told(gates.Throttled, "Rate exceeded"), 10 * time.Minute, "inconclusive throttled, 0: Rate exceeded"},

		{"partial data never passes", above(50), told(gates.Partial, "", 1, 1), 2 * time.Minute, "inconclusive partial, 2: the source says partial"},
		{"partial data may breach", above(50), told(gates.Partial, "", 60, 60), 2 * time.Minute, "fail, 2: 60 us > 50 us in 2 of 3"},
		{"a value that is no number never passes", above(50), gates.Series{Points: []gates.Point{{Start: noon, Value: math.NaN()}, {Start: noon.Add(time.Minute), Value: 1}}}, 2 * time.Minute, "inconclusive nan, 1: a value is no number"},
		{"an endless value is no number either", rule(above(50), 1, 1), gates.Series{Points: []gates.Point{{Start: noon, Value: math.Inf(1)}}}, time.Minute, "inconclusive nan, 0: a value is no number"},
		{"a breach beside a value that is no number stands", rule(above(50), 1, 1), gates.Series{Points: []gates.Point{{Start: noon, Value: math.NaN()}, {Start: noon.Add(time.Minute), Value: 60}}}, 2 * time.Minute, "fail, 1: 60 us > 50 us in 1 of 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := gates.Judge(tt.gate, tt.series, noon, noon.Add(tt.after))
			words := strings.TrimSpace(string(v.Result) + " " + string(v.Cause))
			if got := fmt.Sprintf("%s, %d: %s", words, v.Complete, v.Why); got != tt.want {
				t.Errorf("says  %s\nwants %s", got, tt.want)
			}
			if v.Gate != "borrow-wait" || v.Unit != tt.gate.Metric.Unit || v.Breach != (v.Result == gates.Fail) {
				t.Errorf("not whole: %+v", v)
			}
		})
	}
}

func TestAVerdictHasTheNewestValueOrTheOneThatBroke(t *testing.T) {
	tests := []struct {
		name         string
		gate         gates.Gate
		series       gates.Series
		value, limit float64
	}{
		{"the newest of a pass", band(20, 80), series(60, 40, 41), 41, 20},
		{"the newest, nearer to the upper side", band(20, 80), series(40, 60), 60, 80},
		{"the newest after a bad one", above(50), series(60, 7), 7, 50},
		{"the worst of a breach above", band(20, 80), series(50, 81, 99, 50), 99, 80},
		{"the worst of a breach below", band(20, 80), series(50, 5, 19, 50), 5, 20},
		{"the newest of what came of a part", above(50), told(gates.Partial, "", 3, 4), 4, 50},
		{"nothing of nothing", above(50), series(), 0, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := gates.Judge(tt.gate, tt.series, noon, noon.Add(4*time.Minute))
			if v.Value != tt.value || v.Limit != tt.limit {
				t.Errorf("value %v, limit %v; want %v, %v", v.Value, v.Limit, tt.value, tt.limit)
			}
		})
	}
}

func TestBucketsBeforeTheBeginningDoNotCount(t *testing.T) {
	s := series(90, 90, 90, 1, 2)
	got := gates.Judge(above(50), s, noon.Add(2*time.Minute+time.Second), noon.Add(5*time.Minute))
	if got.Result != gates.Pass || got.Complete != 2 {
		t.Errorf("after the beginning: %+v", got)
	}
	got = gates.Judge(above(50), s, noon.Add(2*time.Minute), noon.Add(5*time.Minute))
	if got.Result != gates.Marginal || got.Complete != 3 {
		t.Errorf("a bucket that starts with the beginning counts: %+v", got)
	}
}

func TestASeriesThatEndedBeforeTheBeginningHasStarted(t *testing.T) {
	got := gates.Judge(absent(above(50), gates.AbsentNotStarted), series(1, 1), noon.Add(5*time.Minute), noon.Add(8*time.Minute))
	if got.Cause != gates.NoData {
		t.Errorf("cause %q, want no_data: %+v", got.Cause, got)
	}
}

func TestAVerdictSaysHowOldItsNewestCompleteBucketIs(t *testing.T) {
	g := delayed(above(50), 2*time.Minute)
	got := gates.Judge(g, provisional(series(1, 2, 3)), noon, noon.Add(4*time.Minute+30*time.Second))
	if want := noon.Add(time.Minute); !got.Newest.Equal(want) || got.Age != 30*time.Second || got.Value != 2 {
		t.Errorf("newest %v, age %v, value %v; want %v, 30s, 2", got.Newest, got.Age, got.Value, want)
	}
}

func TestAMetricHasRecoveredWhenItsNewestBucketIsSeenToBeGood(t *testing.T) {
	tests := []struct {
		name   string
		series gates.Series
		after  time.Duration
		want   bool
	}{
		{"good after a breach", series(60, 60, 1), 3 * time.Minute, true},
		{"good all the time", series(1, 1, 1), 3 * time.Minute, true},
		{"bad at the end", series(1, 60, 60), 3 * time.Minute, false},
		{"good, but provisional", provisional(series(60, 60, 1)), 3 * time.Minute, false},
		{"good, but followed by a bad provisional one", provisional(series(60, 60, 1, 60)), 3 * time.Minute, false},
		{"good, but long ago", series(60, 60, 1), time.Hour, false},
		{"good, but not all of it", told(gates.Partial, "", 60, 60, 1), 3 * time.Minute, false},
		{"nothing", series(), 3 * time.Minute, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := gates.Judge(above(50), tt.series, noon, noon.Add(tt.after)); got.Recovered != tt.want {
				t.Errorf("recovered %v, want %v: %+v", got.Recovered, tt.want, got)
			}
		})
	}
}

func TestTheLastNamedOfTwoPointsOfABucketIsTheNewest(t *testing.T) {
	points := append(minutes(1, 1), gates.Point{Start: noon, Value: 60}, gates.Point{Start: noon.Add(20 * time.Second), Value: 70})
	got := gates.Judge(rule(above(50), 1, 3), gates.Series{Points: points}, noon, noon.Add(2*time.Minute))
	if !got.Breach || got.Value != 70 || got.Complete != 2 {
		t.Errorf("got %+v, want a breach by 70 in two buckets", got)
	}
}

func TestAGateThatCannotBeJudgedIsNeverAPass(t *testing.T) {
	tests := []struct {
		name string
		gate gates.Gate
		why  string
	}{
		{"without a limit", gates.Gate{Metric: gates.Metric{Period: time.Minute}, Limit: gates.Limit{M: 1, N: 1}}, "the gate has no limit"},
		{"with a limit that is no number", above(math.NaN()), "the limit is no finite number"},
		{"with a band that holds nothing", band(80, 20), "no value is both at most 20 and at least 80"},
		{"with more bad buckets than buckets", rule(above(1), 3, 2), "a breach in 3 of 2 buckets: it must be 1 to N of at most 1440"},
		{"with no bad bucket", rule(above(1), 0, 2), "a breach in 0 of 2 buckets: it must be 1 to N of at most 1440"},
		{"with a window beyond measure", rule(above(1), 1, 1441), "a breach in 1 of 1441 buckets: it must be 1 to N of at most 1440"},
		{"with a delay below zero", delayed(above(1), -1), "the delay -1ns is below zero"},
		{"with an unknown meaning of absence", absent(above(1), "ignore"), `absent is "ignore": it must be unknown, zero or not_started`},
		{"without a period", func() gates.Gate { g := above(1); g.Metric.Period = 0; return g }(), "the period 0s is below a millisecond"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := gates.Judge(tt.gate, series(0, 0), noon, noon.Add(2*time.Minute))
			if got.Result != gates.Inconclusive || got.Cause != gates.Config || got.Why != tt.why {
				t.Errorf("got %+v, want config: %s", got, tt.why)
			}
		})
	}
}

func TestValuesAreWrittenForAPerson(t *testing.T) {
	for value, want := range map[float64]string{
		0.30000000000000004: "0.3 us ≤ 1e+15 us, newest 12:00",
		9999.7:              "10000 us ≤ 1e+15 us, newest 12:00",
		-123456.789:         "-123457 us ≤ 1e+15 us, newest 12:00",
		5e-9:                "5e-09 us ≤ 1e+15 us, newest 12:00",
	} {
		if got := gates.Judge(above(1e15), series(value), noon, noon.Add(time.Minute)).Why; got != want {
			t.Errorf("%v is written %q, want %q", value, got, want)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	g, s, now := above(50), series(1, 2, 60, 3, 4, 5, 6, 7, 8, 9), noon.Add(10*time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		gates.Judge(g, s, noon, now)
	}
}
