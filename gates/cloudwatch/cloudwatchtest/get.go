package cloudwatchtest

import (
	"regexp"
	"slices"
	"strconv"
	"time"
)

// The bounds of the real service.
const (
	maxQueries    = 500
	maxDatapoints = 100_800
)

var validID = regexp.MustCompile(`^[a-z][a-zA-Z0-9_]*$`)

// getMetricData answers GetMetricData: a page of the points asked for. A page
// begins after as many points as its token says.
func (s *Server) getMetricData(in getMetricDataInput) (*getMetricDataOutput, *refusal) {
	skip, err := in.check()
	if err != nil {
		return nil, err
	}
	page := pager{skip: skip, room: s.page}
	if in.MaxDatapoints != nil {
		page.room = min(page.room, *in.MaxDatapoints)
	}
	out := &getMetricDataOutput{}
	for _, q := range in.MetricDataQueries {
		if q.ReturnData != nil && !*q.ReturnData {
			continue
		}
		result, err := s.result(q, in)
		if err != nil {
			return nil, err
		}
		page.cut(result)
		out.MetricDataResults = append(out.MetricDataResults, *result)
	}
	if page.more {
		out.NextToken = strconv.Itoa(page.last)
	}
	return out, nil
}

// check refuses what the service refuses, and says how many points are to be
// skipped.
func (in getMetricDataInput) check() (skip int, _ *refusal) {
	start, end := time.Time(in.StartTime), time.Time(in.EndTime)
	switch {
	case len(in.MetricDataQueries) == 0:
		return 0, invalid("The parameter MetricDataQueries is required.")
	case len(in.MetricDataQueries) > maxQueries:
		return 0, invalid("The collection MetricDataQueries must not have a size greater than %d.", maxQueries)
	case start.IsZero() || end.IsZero():
		return 0, invalid("The parameters StartTime and EndTime are required.")
	case !start.Before(end):
		return 0, invalid("The parameter StartTime must be less than the parameter EndTime.")
	case in.ScanBy != "" && in.ScanBy != "TimestampAscending" && in.ScanBy != "TimestampDescending":
		return 0, invalid("The value %s for parameter ScanBy is not supported.", in.ScanBy)
	case in.MaxDatapoints != nil && (*in.MaxDatapoints < 1 || *in.MaxDatapoints > maxDatapoints):
		return 0, invalid("The parameter MaxDatapoints must be 1 to %d.", maxDatapoints)
	}
	seen := make(map[string]bool)
	for _, q := range in.MetricDataQueries {
		if !validID.MatchString(q.ID) || seen[q.ID] {
			return 0, invalid("The value %q for parameter Id must begin with a lower-case letter and be unique.", q.ID)
		}
		if q.MetricStat == nil || q.Expression != "" {
			return 0, invalid("The query %s must have a MetricStat alone: no math is done here.", q.ID)
		}
		seen[q.ID] = true
	}
	if in.NextToken == "" {
		return 0, nil
	}
	skip, err := strconv.Atoi(in.NextToken)
	if err != nil || skip < 1 {
		return 0, &refusal{400, "InvalidNextToken", "InvalidNextToken", "The next token is not valid."}
	}
	return skip, nil
}

// result computes all points of one query.
func (s *Server) result(q metricDataQuery, in getMetricDataInput) (*metricDataResult, *refusal) {
	m := q.MetricStat
	if m.Period < 1 || m.Period < 60 && !slices.Contains([]int{1, 5, 10, 20, 30}, m.Period) || m.Period > 60 && m.Period%60 != 0 {
		return nil, invalid("The parameter Period of %s must be 1, 5, 10, 20, 30 or a multiple of 60.", q.ID)
	}
	stat, ok := statisticNamed(m.Stat)
	if !ok {
		return nil, invalid("The value %s for parameter Stat is not supported.", m.Stat)
	}
	result := &metricDataResult{ID: q.ID, Label: q.Label, StatusCode: "Complete"}
	if result.Label == "" {
		result.Label = m.Metric.MetricName
	}
	buckets := s.buckets(m, in)
	var starts []int64
	for start := range buckets {
		starts = append(starts, start)
	}
	slices.Sort(starts)
	if in.ScanBy != "TimestampAscending" {
		slices.Reverse(starts)
	}
	for _, start := range starts {
		if value, ok := stat(buckets[start]); ok {
			result.Timestamps = append(result.Timestamps, stamp(time.Unix(start, 0).UTC()))
			result.Values = append(result.Values, number(value))
		}
	}
	return result, nil
}

// buckets returns the samples that a query asks for by the start of the bucket
// in which they fall, in seconds: buckets lie on the grid of the epoch.
func (s *Server) buckets(m *metricStat, in getMetricDataInput) map[int64][]sample {
	now, period := s.now(), int64(m.Period)
	// The start is rounded down to a minute, or to 5, 10, 20 or 30 seconds.
	grain := time.Minute
	if m.Period > 1 && m.Period < 60 {
		grain = time.Duration(m.Period) * time.Second
	}
	from := time.Time(in.StartTime).Truncate(grain)
	if kept := now.Add(-retention(m.Period)); from.Before(kept) {
		from = kept
	}
	s.mu.Lock()
	of, ok := s.series[named{m.Metric.Namespace, m.Metric.MetricName, sorted(m.Metric.Dimensions)}.key()]
	var asked series
	if ok {
		asked = *of // what computes a series may take its time, and call us
	}
	s.mu.Unlock()
	buckets := make(map[int64][]sample)
	if !ok {
		return buckets
	}
	for _, one := range asked.within(from, time.Time(in.EndTime), now) {
		if m.Unit == "" || m.Unit == one.unit {
			start := one.at.Unix() / period * period
			buckets[start] = append(buckets[start], one)
		}
	}
	return buckets
}

// retention says how long points of a period are kept.
func retention(period int) time.Duration {
	const day = 24 * time.Hour
	switch {
	case period < 60:
		return 3 * time.Hour
	case period%300 != 0:
		return 15 * day
	case period%3600 != 0:
		return 63 * day
	default:
		return 455 * day
	}
}

// pager takes a page out of all points.
type pager struct {
	skip int  // points left to skip: they were on earlier pages
	room int  // points that still fit
	last int  // points up to the end of this page, from the very first on
	more bool // some did not fit
}

// cut leaves of a result what belongs on the page.
func (p *pager) cut(r *metricDataResult) {
	skipped := min(p.skip, len(r.Values))
	fits := min(p.room, len(r.Values)-skipped)
	if skipped+fits < len(r.Values) {
		p.more = true
		r.StatusCode = "PartialData"
	}
	p.skip -= skipped
	p.room -= fits
	p.last += skipped + fits
	r.Timestamps = r.Timestamps[skipped : skipped+fits]
	r.Values = r.Values[skipped : skipped+fits]
}
