package controller

import (
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// count is how much data a gate has had since a settle, bucket by bucket as they
// come: a bake may last longer than what tasks reported is kept.
type count struct {
	settled time.Time
	upTo    time.Time // buckets before are counted
	buckets int
}

// add counts the buckets that have become complete, and returns how long all are.
func (c *count) add(g *gates.Gate, s gates.Series, settled, at time.Time) time.Duration {
	if !c.settled.Equal(settled) {
		*c = count{settled: settled, upTo: settled}
	}
	due := at.Add(-g.Delay).Truncate(g.Metric.Period)
	for _, p := range s.Points {
		if !p.Start.Before(c.upTo) && p.Start.Before(due) {
			c.buckets++
		}
	}
	if due.After(c.upTo) {
		c.upTo = due
	}
	return time.Duration(c.buckets) * g.Metric.Period
}
