package gates

import (
	"fmt"
	"math"
	"time"
)

// longest bounds N: a day of minutes.
const longest = 1440

// flaw says what makes the gate impossible to judge, or nothing.
func (g *Gate) flaw() string {
	l := g.Limit
	switch {
	case l.Above == nil && l.Below == nil:
		return "the gate has no limit"
	case l.Above != nil && !finite(*l.Above), l.Below != nil && !finite(*l.Below):
		return "the limit is no finite number"
	case l.Above != nil && l.Below != nil && *l.Above < *l.Below:
		return fmt.Sprintf("no value is both at most %v and at least %v", *l.Above, *l.Below)
	case l.M < 1 || l.N < l.M || l.N > longest:
		return fmt.Sprintf("a breach in %d of %d buckets: it must be 1 to N of at most %d", l.M, l.N, longest)
	case g.Metric.Period < time.Millisecond: // also keeps the places of buckets far from overflow
		return fmt.Sprintf("the period %v is below a millisecond", g.Metric.Period)
	case g.Delay < 0:
		return fmt.Sprintf("the delay %v is below zero", g.Delay)
	}
	switch g.Absent {
	case "", AbsentUnknown, AbsentZero, AbsentNotStarted:
		return ""
	default:
		return fmt.Sprintf("absent is %q: it must be unknown, zero or not_started", g.Absent)
	}
}

// excess says how far a value lies beyond the side of the limit that it is
// nearest to, and that side; within the limit it is at most zero.
func (l Limit) excess(value float64) (by, side float64) {
	by = math.Inf(-1)
	if l.Above != nil {
		by, side = value-*l.Above, *l.Above
	}
	if l.Below != nil && *l.Below-value > by {
		by, side = *l.Below-value, *l.Below
	}
	return by, side
}

// near reports whether a value within the limit is closer to it than a tenth of
// the limit. A limit of zero has no tenth: there, zero is as good as it gets.
func (l Limit) near(value float64) bool {
	by, side := l.excess(value)
	return side != 0 && -by <= math.Abs(side)/10
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
