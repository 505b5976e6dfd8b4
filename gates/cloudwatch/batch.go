package cloudwatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// most is how many queries a request may have.
const most = 500

// question asks for one series.
type question struct {
	metric gates.Metric
	series gates.Series
}

// place is what the queries of a request have in common.
type place struct {
	account, region string
	start, end      time.Time // whole buckets of all its metrics
}

// batch is the questions of one request.
type batch struct {
	place
	questions []*question
}

// batches parts questions into requests. A metric that the service would refuse,
// and all others of the request with it, is answered here.
func (r *Reader) batches(questions []*question, from, to time.Time) []batch {
	var places []place // in the order in which they appear
	at := make(map[place][]*question)
	for _, q := range questions {
		if flaw := flaw(q.metric); flaw != "" {
			q.series = gates.Series{Cause: gates.Config, Note: flaw}
			continue
		}
		p := place{
			region: cmp.Or(q.metric.Region, r.options.Region),
			start:  roundUp(from, q.metric.Period),
			end:    roundUp(to, q.metric.Period),
		}
		if r.options.CrossAccount {
			p.account = q.metric.Account
		}
		if !p.start.Before(p.end) {
			continue // no bucket starts there: an empty series is the whole answer
		}
		if at[p] == nil {
			places = append(places, p)
		}
		at[p] = append(at[p], q)
	}
	var batches []batch
	for _, p := range places {
		for chunk := range slices.Chunk(at[p], most) {
			batches = append(batches, batch{p, chunk})
		}
	}
	return batches
}

// flaw says what the service would refuse a metric for, or nothing.
func flaw(m gates.Metric) string {
	seconds := m.Period / time.Second
	switch {
	case m.Namespace == "":
		return "the metric has no namespace"
	case m.Name == "":
		return "the metric has no name"
	case m.Stat == "":
		return "the metric has no stat"
	case m.Period%time.Second != 0, seconds < 1, seconds > 24*3600,
		seconds < 60 && !slices.Contains([]time.Duration{1, 5, 10, 20, 30}, seconds),
		seconds > 60 && seconds%60 != 0:
		return fmt.Sprintf("the period is %v: it must be 1s, 5s, 10s, 20s, 30s or whole minutes up to a day", m.Period)
	default:
		return ""
	}
}

// roundUp returns the first start of a bucket at or after a time. Buckets lie
// on the grid of the epoch.
func roundUp(t time.Time, period time.Duration) time.Time {
	seconds := int64(period / time.Second)
	whole := t.Unix()
	if t.Nanosecond() > 0 {
		whole++
	}
	if over := ((whole % seconds) + seconds) % seconds; over > 0 {
		whole += seconds - over
	}
	return time.Unix(whole, 0).UTC()
}

// request asks all questions of a batch; its queries are named by their place.
func (b batch) request() *cloudwatch.GetMetricDataInput {
	in := &cloudwatch.GetMetricDataInput{
		StartTime: &b.start,
		EndTime:   &b.end,
		ScanBy:    types.ScanByTimestampAscending,
	}
	for i, q := range b.questions {
		m := q.metric
		query := types.MetricDataQuery{
			Id: aws.String(id(i)),
			MetricStat: &types.MetricStat{
				Metric: &types.Metric{Namespace: &m.Namespace, MetricName: &m.Name},
				Period: aws.Int32(int32(m.Period / time.Second)),
				Stat:   &m.Stat,
			},
		}
		if b.account != "" {
			query.AccountId = &b.account
		}
		for _, name := range slices.Sorted(maps.Keys(m.Dimensions)) {
			query.MetricStat.Metric.Dimensions = append(query.MetricStat.Metric.Dimensions,
				types.Dimension{Name: &name, Value: aws.String(m.Dimensions[name])})
		}
		in.MetricDataQueries = append(in.MetricDataQueries, query)
	}
	return in
}

func id(i int) string { return "m" + strconv.Itoa(i) }
