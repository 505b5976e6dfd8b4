package gates

import "time"

// Judge holds a series against a gate and says what it shows at the time now.
// It counts only buckets that start at or after from: for a gate whose breach
// sends lanes to zero that is the raise's write, less a period; for others the
// time from which the share was settled. The series must cover from to now.
//
// What speaks first decides:
//  1. A breach, M bad buckets in any N consecutive ones, is fail, whatever else
//     is missing. A bucket without a point is not bad. A provisional one may be
//     bad above a limit, as it can only grow, but never below one.
//  2. A series with a cause is inconclusive for that cause.
//  3. A value that is no finite number is inconclusive: nan.
//  4. Without a complete bucket it is inconclusive: too_few until the first one
//     is due, no_data after that, and not_started while a series that may still
//     begin has no point at all.
//  5. A newest complete bucket older than two periods is inconclusive: stale.
//  6. A bad bucket among the newest N, or a newest value within a tenth of the
//     limit, is marginal. All else is pass.
//
// Also after a breach, what is there must be enough for a pass to say that the
// metric has recovered.
//
// Where absent means zero and the source answered in full, each complete bucket
// without a point is a zero, so such a series is never stale.
func Judge(g Gate, s Series, from, now time.Time) Verdict {
	v := Verdict{Gate: g.Name, Unit: g.Metric.Unit, Result: Inconclusive}
	if flaw := g.flaw(); flaw != "" {
		v.Cause, v.Why = Config, flaw
		return v
	}
	t := tally{gate: g}
	t.count(s, from, now)
	v.Value, v.Newest, v.Complete = t.newest.Value, t.newest.Start, t.complete
	_, v.Limit = g.Limit.excess(v.Value)
	if t.complete > 0 {
		v.Age = now.Sub(t.newest.Start.Add(g.Metric.Period + g.Delay))
	}
	blind := t.blind(s, v.Age)
	v.Recovered = blind == "" && t.endsWell()
	switch {
	case len(t.crowd) >= g.Limit.M:
		v.Result, v.Breach = Fail, true
		v.Value, v.Limit = t.worst(t.crowd)
	case blind != "":
		v.Cause = blind
	case len(t.recent) > 0 || g.Limit.near(v.Value):
		v.Result = Marginal
	default:
		v.Result = Pass
	}
	v.Why = t.why(s, v, from)
	return v
}

// blind says why what is there is not enough to allow anything, or nothing.
func (t *tally) blind(s Series, age time.Duration) Cause {
	switch {
	case s.Cause != "":
		return s.Cause
	case t.absurd:
		return NaN
	case t.complete > 0:
		if age > 2*t.gate.Metric.Period {
			return Stale
		}
		return ""
	case t.gate.Absent == AbsentNotStarted && len(s.Points) == 0:
		return NotStarted
	case t.due:
		return NoData
	default:
		return TooFew
	}
}
