package cloudwatchtest

import (
	"slices"
	"strings"
	"time"
)

// The bounds of the real service.
const (
	maxData   = 1_000
	maxValues = 150
)

// putMetricData takes in what is published.
func (s *Server) putMetricData(in putMetricDataInput) *refusal {
	data := in.MetricData
	for _, entity := range in.EntityMetricData {
		data = append(data, entity.MetricData...)
	}
	switch {
	case in.Namespace == "":
		return missing("The parameter Namespace is required.")
	case len(data) == 0:
		return missing("The parameter MetricData is required.")
	case len(data) > maxData:
		return unfit("The collection MetricData must not have a size greater than %d.", maxData)
	}
	now := s.now()
	samples := make([][]sample, len(data))
	for i, d := range data {
		var err *refusal
		if samples[i], err = d.samples(now); err != nil {
			return err // and none of them is kept
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range data {
		of := s.find(named{in.Namespace, d.MetricName, sorted(d.Dimensions)}, 0)
		of.samples = append(of.samples, samples[i]...)
	}
	return nil
}

// samples reads one datum.
func (d metricDatum) samples(now time.Time) ([]sample, *refusal) {
	at := now
	if d.Timestamp != nil {
		at = time.Time(*d.Timestamp)
	}
	switch {
	case d.MetricName == "":
		return nil, missing("The parameter MetricName is required.")
	case at.Before(now.Add(-14*24*time.Hour)) || at.After(now.Add(2*time.Hour)):
		return nil, unfit("The Timestamp of %s must be within the last two weeks and the next two hours.", d.MetricName)
	case len(d.Values) > maxValues:
		return nil, unfit("The Values of %s must be no more than %d.", d.MetricName, maxValues)
	case len(d.Counts) > 0 && len(d.Counts) != len(d.Values):
		return nil, unfit("The Counts of %s must be as many as its Values.", d.MetricName)
	}
	var samples []sample
	if set := d.StatisticValues; set != nil {
		of := one(at, 0, float64(set.Sum))
		of.count, of.min, of.max = float64(set.SampleCount), float64(set.Minimum), float64(set.Maximum)
		samples = append(samples, of)
	}
	if d.Value != nil {
		samples = append(samples, one(at, 0, float64(*d.Value)))
	}
	for i, value := range d.Values {
		times := 1.0
		if len(d.Counts) > 0 {
			times = float64(d.Counts[i])
		}
		samples = append(samples, Sample{At: at, Value: float64(value), Count: times}.sample())
	}
	if len(samples) == 0 {
		return nil, missing("The datum of %s must have a Value, Values or StatisticValues.", d.MetricName)
	}
	for i := range samples {
		if d.Unit != "" {
			samples[i].unit = d.Unit
		}
	}
	return samples, nil
}

// listMetrics answers ListMetrics: the series whose name and dimensions hold
// what is asked for.
func (s *Server) listMetrics(in listMetricsInput) *listMetricsOutput {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &listMetricsOutput{}
	for _, of := range s.series {
		if in.Namespace != "" && in.Namespace != of.namespace || in.MetricName != "" && in.MetricName != of.name {
			continue
		}
		lacks := slices.ContainsFunc(in.Dimensions, func(asked dimension) bool {
			return !slices.ContainsFunc(of.dimensions, func(has dimension) bool {
				return has.Name == asked.Name && (asked.Value == "" || has.Value == asked.Value)
			})
		})
		if !lacks {
			out.Metrics = append(out.Metrics, metric{of.namespace, of.name, of.dimensions})
		}
	}
	slices.SortFunc(out.Metrics, func(a, b metric) int {
		return strings.Compare(named{a.Namespace, a.MetricName, a.Dimensions}.key(), named{b.Namespace, b.MetricName, b.Dimensions}.key())
	})
	return out
}
