package gates

import (
	"cmp"
	"slices"
	"time"
)

// tally is what the buckets of a series add up to.
type tally struct {
	gate     Gate
	due      bool  // a bucket has had the time to become complete
	complete int   // complete buckets
	newest   Point // the newest complete bucket; if there is none, the newest at all
	absurd   bool  // a value is no finite number
	end      int64 // place of the newest bucket judged
	bad      []beyond
	crowd    []beyond // the most bad ones in any N consecutive buckets
	recent   []beyond // the bad ones among the newest N buckets
}

// beyond is a bucket whose value is beyond the limit.
type beyond struct {
	place int64
	value float64
}

// count tallies the buckets that start at or after from.
func (t *tally) count(s Series, from, now time.Time) {
	g, period := &t.gate, t.gate.Metric.Period
	// The complete buckets of the grid are first … last.
	first, last := place(from.Add(period-1), period), place(now.Add(-g.Delay), period)-1
	t.due = first <= last
	zeros := g.Absent == AbsentZero && s.Cause == ""
	next := first // from where on a point may be missing
	for _, p := range distinct(s.Points, period) {
		if p.Start.Before(from) {
			continue
		}
		at := place(p.Start, period)
		if zeros {
			t.zeros(next, min(at-1, last))
			next = at + 1
		}
		p.Provisional = p.Provisional || p.Start.Add(period+g.Delay).After(now)
		t.point(at, p)
	}
	if zeros {
		t.zeros(next, last)
	}
	t.gather(int64(g.Limit.N))
}

// point counts one bucket that has a point.
func (t *tally) point(at int64, p Point) {
	if !finite(p.Value) {
		t.absurd = true
		return
	}
	if !p.Provisional {
		t.complete++
		t.end = at
	}
	if !p.Provisional || t.complete == 0 {
		t.newest = p
	}
	above := t.gate.Limit.Above
	if !p.Provisional || above != nil && p.Value > *above {
		t.weigh(at, p.Value)
	}
}

// zeros counts the complete buckets a … b, which have no point, as zeros.
func (t *tally) zeros(a, b int64) {
	if a > b {
		return
	}
	t.complete += int(b - a + 1)
	t.end = b
	t.newest = Point{Start: epoch.Add(time.Duration(b) * t.gate.Metric.Period)}
	// A run says no more than its last N buckets do, however long it is.
	for at := max(a, b-int64(t.gate.Limit.N)+1); at <= b; at++ {
		t.weigh(at, 0)
	}
}

// weigh notes a bucket if its value is bad.
func (t *tally) weigh(at int64, value float64) {
	if by, _ := t.gate.Limit.excess(value); by > 0 {
		t.bad = append(t.bad, beyond{at, value})
		t.end = at
	}
}

// gather finds where bad buckets lie closest: the core of M of N.
func (t *tally) gather(n int64) {
	oldest := 0
	for i, b := range t.bad {
		for t.bad[oldest].place <= b.place-n {
			oldest++
		}
		if i-oldest >= len(t.crowd) {
			t.crowd = t.bad[oldest : i+1]
		}
	}
	recent := len(t.bad)
	for recent > 0 && t.bad[recent-1].place > t.end-n {
		recent--
	}
	t.recent = t.bad[recent:]
}

// endsWell reports whether the newest bucket judged is not bad.
func (t *tally) endsWell() bool {
	return len(t.bad) == 0 || t.bad[len(t.bad)-1].place < t.end
}

// worst returns the value that lies furthest beyond its limit, and that limit.
func (t *tally) worst(of []beyond) (value, limit float64) {
	most := 0.0
	for _, b := range of {
		if by, side := t.gate.Limit.excess(b.value); by > most {
			value, limit, most = b.value, side, by
		}
	}
	return value, limit
}

// epoch is where every grid of buckets begins.
var epoch = time.Unix(0, 0).UTC()

// place numbers the buckets of a grid.
func place(t time.Time, period time.Duration) int64 { return int64(t.Sub(epoch) / period) }

// distinct returns the points in the order of their buckets, one a bucket: of
// several that one which the reader named last, as it is the newest revision.
func distinct(points []Point, period time.Duration) []Point {
	rises := true
	for i := 1; i < len(points) && rises; i++ {
		rises = place(points[i-1].Start, period) < place(points[i].Start, period)
	}
	if rises {
		return points
	}
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Point) int {
		return cmp.Compare(place(a.Start, period), place(b.Start, period))
	})
	kept := points[:0]
	for i, p := range points {
		if i+1 == len(points) || place(p.Start, period) != place(points[i+1].Start, period) {
			kept = append(kept, p)
		}
	}
	return kept
}
