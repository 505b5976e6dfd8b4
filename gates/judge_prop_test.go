package gates_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// moment is a gate, what its reader found, and when.
type moment struct {
	gate   gates.Gate
	series gates.Series
	from   time.Time
	now    time.Time
}

func (m moment) judge() gates.Verdict { return gates.Judge(m.gate, m.series, m.from, m.now) }

// with is the same moment with other points.
func (m moment) with(points []gates.Point) moment { m.series.Points = points; return m }

// drawMoment draws a moment around noon whose values lie about the limits.
func drawMoment(t *rapid.T) moment {
	g := gates.Gate{
		Name:   "gate",
		Metric: gates.Metric{Period: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 7 * time.Minute}).Draw(t, "period")},
		Absent: rapid.SampledFrom([]gates.Absent{gates.AbsentUnknown, gates.AbsentZero, gates.AbsentNotStarted}).Draw(t, "absent"),
	}
	g.Delay = time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * g.Metric.Period / 2
	low := float64(rapid.IntRange(-3, 2).Draw(t, "below"))
	high := low + float64(rapid.IntRange(0, 4).Draw(t, "above"))
	sides := rapid.IntRange(1, 3).Draw(t, "sides")
	if sides&1 != 0 {
		g.Limit.Above = &high
	}
	if sides&2 != 0 {
		g.Limit.Below = &low
	}
	g.Limit.N = rapid.IntRange(1, 5).Draw(t, "n")
	g.Limit.M = rapid.IntRange(1, g.Limit.N).Draw(t, "m")
	var points []gates.Point
	for i := range rapid.IntRange(0, 12).Draw(t, "buckets") {
		if rapid.IntRange(0, 4).Draw(t, "present") > 0 {
			points = append(points, gates.Point{
				Start:       onGrid(noon, g.Metric.Period).Add(time.Duration(i) * g.Metric.Period),
				Value:       float64(rapid.IntRange(-5, 5).Draw(t, "value")),
				Provisional: rapid.IntRange(0, 7).Draw(t, "provisional") == 0,
			})
		}
	}
	half := g.Metric.Period / 2
	return moment{
		gate:   g,
		series: gates.Series{Points: points, Cause: rapid.SampledFrom([]gates.Cause{"", "", "", gates.Partial}).Draw(t, "cause")},
		from:   noon.Add(time.Duration(rapid.IntRange(-2, 6).Draw(t, "from")) * half),
		now:    noon.Add(time.Duration(rapid.IntRange(0, 36).Draw(t, "now")) * half),
	}
}

// onGrid returns the start of the bucket in which a time lies.
func onGrid(t time.Time, period time.Duration) time.Time {
	return time.Unix(0, t.UnixNano()/int64(period)*int64(period)).UTC()
}

// some draws a part of the points.
func some(t *rapid.T, points []gates.Point) (kept, left []gates.Point) {
	for _, p := range points {
		if rapid.Bool().Draw(t, "keep") {
			kept = append(kept, p)
		} else {
			left = append(left, p)
		}
	}
	return kept, left
}

func TestABreachIsMOfNBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMoment(t)
		breach, complete := m.slowly()
		if got := m.judge(); got.Breach != breach || got.Complete != complete {
			t.Fatalf("breach %v and %d complete, want %v and %d", got.Breach, got.Complete, breach, complete)
		}
	})
}

// slowly looks at every N buckets in a row, one by one.
func (m moment) slowly() (breach bool, complete int) {
	period := m.gate.Metric.Period
	for first := onGrid(m.from, period); first.Before(m.now.Add(20 * period)); first = first.Add(period) {
		bad := 0
		for i := range m.gate.Limit.N {
			if is, _ := m.bucket(first.Add(time.Duration(i) * period)); is {
				bad++
			}
		}
		breach = breach || bad >= m.gate.Limit.M
		if _, is := m.bucket(first); is {
			complete++
		}
	}
	return breach, complete
}

// bucket reports whether the bucket that starts then is beyond the limit, and
// whether it is complete.
func (m moment) bucket(start time.Time) (bad, complete bool) {
	if start.Before(m.from) {
		return false, false
	}
	settled := !start.Add(m.gate.Metric.Period + m.gate.Delay).After(m.now)
	i := slices.IndexFunc(m.series.Points, func(p gates.Point) bool { return p.Start.Equal(start) })
	value := 0.0
	switch {
	case i >= 0:
		value = m.series.Points[i].Value
		settled = settled && !m.series.Points[i].Provisional
	case !settled || m.gate.Absent != gates.AbsentZero || m.series.Cause != "":
		return false, false
	}
	l := m.gate.Limit
	return l.Above != nil && value > *l.Above || l.Below != nil && settled && value < *l.Below, settled
}

func TestWhatIsMissingIsNeverAPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMoment(t)
		full := m.judge()

		blind := m
		blind.series.Cause = rapid.SampledFrom([]gates.Cause{gates.Throttled, gates.Forbidden, gates.Partial, gates.Failed, gates.Config, "new"}).Draw(t, "blind")
		if got := blind.judge(); got.Allows() {
			t.Fatalf("allowed although %s: %+v", blind.series.Cause, got)
		}

		absurd := m.with(slices.Clone(m.series.Points))
		if i := slices.IndexFunc(absurd.series.Points, func(p gates.Point) bool { return !p.Start.Before(m.from) }); i >= 0 {
			absurd.series.Points[i].Value = rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "absurd")
			if got := absurd.judge(); got.Allows() {
				t.Fatalf("allowed with a value that is no number: %+v", got)
			}
		}

		if m.gate.Absent == gates.AbsentZero {
			return // there, a missing point says something
		}
		kept, left := some(t, m.series.Points)
		fewer := m.with(kept).judge()
		if fewer.Breach && !full.Breach {
			t.Fatalf("missing points %v make a breach: %+v", left, fewer)
		}
		if fewer.Allows() && full.Result == gates.Inconclusive {
			t.Fatalf("missing points %v make %+v of %+v", left, fewer, full)
		}
		if fewer.Complete > full.Complete {
			t.Fatalf("missing points %v make more of a bake: %d, was %d", left, fewer.Complete, full.Complete)
		}
		late := m
		late.now = m.now.Add(100 * m.gate.Metric.Period)
		if got := late.judge(); got.Allows() {
			t.Fatalf("allowed long after the last point: %+v", got)
		}
	})
}

func TestAProvisionalBucketNeverPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMoment(t)
		unsettled := m.with(slices.Clone(m.series.Points))
		all := true
		for i := range unsettled.series.Points {
			p := &unsettled.series.Points[i]
			p.Provisional = p.Provisional || rapid.Bool().Draw(t, "unsettled")
			all = all && p.Provisional
		}
		full, got := m.judge(), unsettled.judge()
		if m.gate.Limit.Below == nil && full.Breach && !got.Breach {
			t.Fatalf("a provisional bucket breaches an upper limit no more: %+v", got)
		}
		if got.Complete > full.Complete {
			t.Fatalf("provisional buckets make more of a bake: %d, was %d", got.Complete, full.Complete)
		}
		if m.gate.Absent != gates.AbsentZero && all && got.Allows() {
			t.Fatalf("nothing but provisional buckets, and allowed: %+v", got)
		}
		if m.gate.Limit.Below == nil && got.Allows() && !full.Allows() {
			t.Fatalf("provisional buckets make %+v of %+v", got, full)
		}
	})
}

func TestTheOrderAndRepetitionOfPointsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMoment(t)
		again, _ := some(t, m.series.Points)
		points := slices.Concat(m.series.Points, again)
		if len(points) > 0 {
			points = rapid.Permutation(points).Draw(t, "order")
		}
		before := slices.Clone(points)
		if diff := cmp.Diff(m.judge(), m.with(points).judge()); diff != "" {
			t.Fatalf("in another order (-rising +drawn):\n%s", diff)
		}
		if !slices.Equal(before, points) {
			t.Fatal("the reader's own points were moved")
		}
	})
}

func TestWhatWasBeforeTheBeginningDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMoment(t)
		since := slices.DeleteFunc(slices.Clone(m.series.Points), func(p gates.Point) bool { return p.Start.Before(m.from) })
		if m.gate.Absent == gates.AbsentNotStarted && len(since) == 0 {
			return // that it had begun does matter
		}
		if diff := cmp.Diff(m.judge(), m.with(since).judge()); diff != "" {
			t.Fatalf("without the points before the beginning (-with +without):\n%s", diff)
		}
	})
}

func TestEveryVerdictIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { whole(t, drawMoment(t).judge()) })
}

// whole checks what holds of each verdict.
func whole(t interface{ Fatalf(string, ...any) }, v gates.Verdict) {
	switch {
	case v.Breach != (v.Result == gates.Fail):
		t.Fatalf("a breach and a fail are one: %+v", v)
	case (v.Cause != "") != (v.Result == gates.Inconclusive):
		t.Fatalf("what is inconclusive, and only that, has a cause: %+v", v)
	case v.Why == "":
		t.Fatalf("no why: %+v", v)
	case v.Allows() && v.Complete < 1:
		t.Fatalf("allowed without a complete bucket: %+v", v)
	case v.Result == gates.Inconclusive && v.Recovered:
		t.Fatalf("recovered unseen: %+v", v)
	case v.Complete < 0 || v.Age < 0:
		t.Fatalf("below zero: %+v", v)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Fatalf("writing %+v: %v", v, err)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(50.0, 0.0, uint8(3), 2, 3, int64(time.Minute), int64(0), "zero", "", int64(0), int64(600), []byte{1, 60, 2, 70, 3, 80})
	f.Add(math.NaN(), math.Inf(1), uint8(1), -1, 1<<40, int64(1), int64(-1), "?", "partial", int64(math.MinInt64), int64(math.MaxInt64), []byte{255, 255})
	f.Add(-1.0, 1.0, uint8(2), 1, 1440, int64(math.MaxInt64), int64(math.MaxInt64), "zero", "", int64(math.MinInt64), int64(math.MaxInt64), []byte{})
	f.Fuzz(func(t *testing.T, high, low float64, sides uint8, m, n int, period, delay int64, absence, cause string, from, now int64, raw []byte) {
		g := gates.Gate{Metric: gates.Metric{Period: time.Duration(period)}, Limit: gates.Limit{M: m, N: n}, Absent: gates.Absent(absence), Delay: time.Duration(delay)}
		if sides&1 != 0 {
			g.Limit.Above = &high
		}
		if sides&2 != 0 {
			g.Limit.Below = &low
		}
		s := gates.Series{Cause: gates.Cause(cause)}
		for pair := range slices.Chunk(raw, 2) {
			value := float64(pair[len(pair)-1])
			if value == 255 {
				value = math.NaN()
			}
			s.Points = append(s.Points, gates.Point{Start: time.Unix(from, 0).Add(time.Duration(pair[0]) * time.Duration(period)), Value: value})
		}
		v := gates.Judge(g, s, time.Unix(from, 0), time.Unix(now, 0))
		if v.Breach != (v.Result == gates.Fail) || v.Why == "" {
			t.Fatalf("not whole: %+v", v)
		}
		if _, err := json.Marshal(v.Value); err != nil {
			t.Fatalf("value %v: %v", v.Value, err)
		}
	})
}
