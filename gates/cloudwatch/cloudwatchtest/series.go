package cloudwatchtest

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// Publishing says how the points of a series come to be seen. By its zero value
// a bucket is seen in whole as soon as it has ended.
type Publishing struct {
	Delay      time.Duration // a point is seen this long after its time
	Grows      bool          // a bucket is seen while it fills: its value grows until it has ended
	Nodes      int           // each point is the sum of what this many nodes report
	AbsentZero bool          // zeros are not published
}

// Sample is a value that was measured at one time.
type Sample struct {
	At    time.Time
	Value float64
	Count float64 // how often; 0 means once
	Unit  string  // as CloudWatch names units; empty means None
}

// series is the samples of one metric and set of dimensions.
type series struct {
	named
	period     time.Duration // of the buckets that it was given
	samples    []sample
	compute    func(time.Time) (float64, bool) // in place of samples
	publishing Publishing
}

// sample is one value, or what many add up to.
type sample struct {
	at                   time.Time
	span                 time.Duration // it was measured in this time from at on
	sum, count, min, max float64
	unit                 string
}

// one is a sample of one value.
func one(at time.Time, span time.Duration, value float64) sample {
	return sample{at: at, span: span, sum: value, count: 1, min: value, max: value, unit: "None"}
}

func (s Sample) sample() sample {
	made := one(s.At, 0, s.Value)
	if s.Count > 0 {
		made.count, made.sum = s.Count, s.Count*s.Value
	}
	if s.Unit != "" {
		made.unit = s.Unit
	}
	return made
}

// within returns the samples of [from, to) that are seen now.
func (s *series) within(from, to, now time.Time) []sample {
	samples := s.samples
	if s.compute != nil {
		samples = nil
		// Buckets lie on the grid of the epoch; the first may begin before from.
		first := time.Unix(0, from.UnixNano()/int64(s.period)*int64(s.period)).UTC()
		for at := first; at.Before(to) && at.Before(now); at = at.Add(s.period) {
			if value, ok := s.compute(at); ok {
				samples = append(samples, one(at, s.period, value))
			}
		}
	}
	var seen []sample
	for _, one := range samples {
		if one.at.Before(from) || !one.at.Before(to) {
			continue
		}
		if one, ok := s.publishing.published(one, now); ok {
			seen = append(seen, one)
		}
	}
	return seen
}

// published returns what is seen of a sample now.
func (p Publishing) published(s sample, now time.Time) (sample, bool) {
	if p.AbsentZero && s.min == 0 && s.max == 0 {
		return s, false
	}
	if p.Nodes > 0 {
		nodes := float64(p.Nodes)
		s.count, s.min, s.max = nodes, s.min/nodes, s.max/nodes
	}
	since := now.Sub(s.at.Add(p.Delay)) // how much of its time is seen
	switch {
	case since >= s.span:
		return s, true
	case p.Grows && since > 0:
		share := since.Seconds() / s.span.Seconds()
		s.sum, s.min, s.max = s.sum*share, s.min*share, s.max*share
		return s, true
	default:
		return s, false
	}
}

// named is what tells series apart: name and dimensions must match exactly.
type named struct {
	namespace, name string
	dimensions      []dimension
}

func (n named) key() string {
	var b strings.Builder
	b.WriteString(n.namespace + "\x00" + n.name)
	for _, d := range n.dimensions {
		b.WriteString("\x00" + d.Name + "\x00" + d.Value)
	}
	return b.String()
}

// name returns what a metric of ours is called here.
func name(m gates.Metric) named {
	var dimensions []dimension
	for name, value := range m.Dimensions {
		dimensions = append(dimensions, dimension{name, value})
	}
	return named{m.Namespace, m.Name, sorted(dimensions)}
}

// sorted returns dimensions in the order of their names.
func sorted(dimensions []dimension) []dimension {
	return slices.SortedFunc(slices.Values(dimensions), func(a, b dimension) int { return strings.Compare(a.Name, b.Name) })
}
