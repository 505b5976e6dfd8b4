package cloudwatchtest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// statistic computes one value of the samples of a bucket, or none.
type statistic func(bucket []sample) (value float64, ok bool)

// statisticNamed returns a statistic by CloudWatch's name for it.
func statisticNamed(name string) (statistic, bool) {
	switch name {
	case "Sum":
		return func(b []sample) (float64, bool) { return total(b).sum, true }, true
	case "SampleCount":
		return func(b []sample) (float64, bool) { return total(b).count, true }, true
	case "Average":
		return func(b []sample) (float64, bool) { return total(b).sum / total(b).count, true }, true
	case "Minimum":
		return func(b []sample) (float64, bool) { return total(b).min, true }, true
	case "Maximum":
		return func(b []sample) (float64, bool) { return total(b).max, true }, true
	}
	percent, isPercentile := strings.CutPrefix(name, "p")
	rank, err := strconv.ParseFloat(percent, 64)
	if !isPercentile || err != nil || !(rank >= 0 && rank <= 100) {
		return nil, false
	}
	return func(b []sample) (float64, bool) { return percentile(b, rank) }, true
}

// total adds samples up.
func total(bucket []sample) sample {
	all := sample{min: math.Inf(1), max: math.Inf(-1)}
	for _, s := range bucket {
		all.sum += s.sum
		all.count += s.count
		all.min, all.max = min(all.min, s.min), max(all.max, s.max)
	}
	return all
}

// percentile returns the smallest value with that many percent at or below it.
// As in CloudWatch there is none of negative values, nor of samples whose own
// values are not known: statistic sets.
func percentile(bucket []sample, rank float64) (float64, bool) {
	sorted := slices.SortedFunc(slices.Values(bucket), func(a, b sample) int { return cmp.Compare(a.min, b.min) })
	below, all := 0.0, total(bucket)
	for _, s := range sorted {
		if s.min != s.max || s.min < 0 {
			return 0, false
		}
	}
	for _, s := range sorted {
		below += s.count
		if below >= rank/100*all.count {
			return s.min, true
		}
	}
	return all.max, true
}
