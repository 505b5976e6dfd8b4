// Package cloudwatch reads the series of gates from Amazon CloudWatch.
//
//	metrics ─▶ one question each ─▶ batches by account, region, window ─▶ GetMetricData
//	series  ◀─ in the same order ◀─ points, or the cause why they are not all ◀─┘
//
// It never says less than it knows: an answer that is late, cut, partial,
// refused or silent about a metric becomes a cause, next to the points that came
// all the same. What the points mean, and which are still to change, is the
// judge's; it needs only to know a metric's delay.
//
// It knows nothing of gates, limits or rollouts, and it does no metric math.
package cloudwatch
