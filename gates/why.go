package gates

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// why says a verdict in a line that a tired person understands.
func (t *tally) why(s Series, v Verdict, from time.Time) string {
	period := t.gate.Metric.Period
	switch {
	case v.Breach:
		return t.beyond(t.crowd)
	case v.Result == Marginal && len(t.recent) > 0:
		return t.beyond(t.recent) + ", newest " + clock(v.Newest, period)
	case v.Result == Marginal:
		return fmt.Sprintf("%s, nearly at the limit, newest %s", t.within(v.Value), clock(v.Newest, period))
	case v.Result == Pass:
		return t.within(v.Value) + ", newest " + clock(v.Newest, period)
	}
	switch v.Cause {
	case s.Cause:
		if s.Note != "" {
			return s.Note
		}
		return "the source says " + string(s.Cause)
	case NaN:
		return "a value is no number"
	case NotStarted:
		return "no point yet: the series begins with the first traffic"
	case TooFew:
		return "no complete bucket since " + clock(from, period) + " yet"
	case Stale:
		return fmt.Sprintf("newest %s is %s late", clock(v.Newest, period), v.Age.Round(time.Second))
	default:
		return "no point since " + clock(from, period)
	}
}

// beyond compares the worst of bad buckets with its limit.
func (t *tally) beyond(bad []beyond) string {
	value, limit := t.worst(bad)
	sign := ">"
	if value < limit {
		sign = "<"
	}
	return fmt.Sprintf("%s %s %s in %d of %d", t.quantity(value), sign, t.quantity(limit), len(bad), t.gate.Limit.N)
}

// within compares a good value with its limits.
func (t *tally) within(value float64) string {
	text := t.quantity(value)
	if below := t.gate.Limit.Below; below != nil {
		if t.gate.Limit.Above == nil {
			return text + " ≥ " + t.quantity(*below)
		}
		text = t.quantity(*below) + " ≤ " + text
	}
	return text + " ≤ " + t.quantity(*t.gate.Limit.Above)
}

// quantity writes a value with its unit, to four digits.
func (t *tally) quantity(value float64) string {
	text := number(value)
	switch unit := t.gate.Metric.Unit; unit {
	case "", "count":
		return text
	case "percent":
		return text + " %"
	default:
		return text + " " + unit
	}
}

// number writes a value to four digits, but whole ones in full.
func number(value float64) string {
	if size := math.Abs(value); size >= 9999.5 && size < 1e15 {
		return strconv.FormatFloat(math.Round(value), 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}

// clock writes the time of day of a bucket, in UTC.
func clock(t time.Time, period time.Duration) string {
	if period < time.Minute {
		return t.UTC().Format(time.TimeOnly)
	}
	return t.UTC().Format("15:04")
}
