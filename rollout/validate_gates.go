package rollout

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

func (v *inspection) allGates() {
	all := v.plan.Gates
	v.want(len(all) > 0, "gates", "", "must have at least one gate")
	names := make(map[string]string)
	for i := range all {
		at := fmt.Sprintf("gates[%d]", i)
		v.gate(at, &all[i])
		v.unique(names, at+".name", all[i].Name)
	}
	v.want(len(all) == 0 || slices.ContainsFunc(all, func(g gates.Gate) bool { return !countsErrors(g.Metric) }), "gates", "",
		"must have a gate on something else than errors, such as latency, waits or connections: a target can stall for seconds and report no error at all")
}

// countsErrors reports whether a metric speaks of errors only.
func countsErrors(m gates.Metric) bool {
	name := strings.ToLower(m.Name)
	return slices.ContainsFunc([]string{"error", "5xx", "failed", "aborted", "indeterminate"},
		func(word string) bool { return strings.Contains(name, word) })
}

func (v *inspection) gate(at string, g *gates.Gate) {
	v.name(at+".name", g.Name)
	v.chosen(at+".source", g.Source, "cloudwatch", "tasks")
	v.metric(at+".metric", g)
	v.limit(at+".limit", g.Limit)
	v.chosen(at+".absent", string(g.Absent), string(gates.AbsentUnknown), string(gates.AbsentZero), string(gates.AbsentNotStarted))
	v.chosen(at+".on_breach", string(g.OnBreach), string(gates.OnBreachZero), string(gates.OnBreachPrevious), string(gates.OnBreachHold))
	v.chosen(at+".scope", string(g.Scope), string(gates.ScopeDatabase), string(gates.ScopeLane))
	v.known(at+".lanes", g.Lanes, "lane", v.lanes)
	v.want(len(g.Lanes) == 0 || g.Scope == gates.ScopeLane, at+".lanes", strings.Join(g.Lanes, ", "), "must be left out unless scope is lane")
	v.want(g.Scope != gates.ScopeLane || !slices.Contains(v.lanes, g.Metric.Lane) || slices.Equal(g.Lanes, []string{g.Metric.Lane}), at+".lanes", strings.Join(g.Lanes, ", "),
		fmt.Sprintf("must be [%s], the lane that the metric is of", g.Metric.Lane))
	v.span(at+".delay", g.Delay, 0, time.Hour)
}

func (v *inspection) metric(at string, g *gates.Gate) {
	m := g.Metric
	v.want(m.Name != "", at+".name", "", "must name the metric")
	v.text(at+".name", m.Name)
	v.text(at+".namespace", m.Namespace)
	v.text(at+".unit", m.Unit)
	v.labels(at+".dimensions", m.Dimensions)
	v.place(at, m.Account, m.Region)
	v.want(m.Stat == "" || statPattern.MatchString(m.Stat), at+".stat", m.Stat, "must be Average, Maximum, Minimum, Sum, SampleCount or a percentile such as p99")
	switch g.Source {
	case "cloudwatch":
		v.cloudwatch(at, m)
	case "tasks":
		v.reported(at, m)
	}
}

func (v *inspection) cloudwatch(at string, m gates.Metric) {
	const only = "must be left out: only metrics of source tasks have it"
	v.want(m.Namespace != "", at+".namespace", "", "must be the namespace of the metric, such as AWS/RDS")
	v.want(m.Stat != "", at+".stat", "", "must be Average, Maximum, Minimum, Sum, SampleCount or a percentile such as p99")
	for _, key := range slices.Sorted(maps.Keys(m.Dimensions)) {
		v.want(m.Dimensions[key] != "", at+".dimensions."+key, "", "must have a value")
	}
	const whole = "must not be empty, since the database's is not"
	v.want(m.Account != "" || v.plan.Database.Account == "", at+".account", "", whole)
	v.want(m.Region != "" || v.plan.Database.Region == "", at+".region", "", whole)
	short := slices.Contains([]time.Duration{1, 5, 10, 20, 30}, m.Period/time.Second) && m.Period%time.Second == 0
	long := m.Period > 0 && m.Period%time.Minute == 0 && m.Period <= 24*time.Hour
	v.want(short || long, at+".period", m.Period, "must be 1s, 5s, 10s, 20s, 30s or a multiple of 60s, at most a day")
	v.want(m.Per == "", at+".per", m.Per, only)
	v.want(m.Lane == "", at+".lane", m.Lane, only)
	v.want(!m.Target, at+".target", m.Target, only)
}

func (v *inspection) reported(at string, m gates.Metric) {
	const only = "must be left out: only metrics of source cloudwatch have it"
	v.want(m.Namespace == "", at+".namespace", m.Namespace, only)
	v.want(len(m.Dimensions) == 0, at+".dimensions", "", only)
	v.want(m.Account == "", at+".account", m.Account, only)
	v.want(m.Region == "", at+".region", m.Region, only)
	v.span(at+".period", m.Period, 100*time.Millisecond, time.Hour)
	v.want(m.Per == "" || m.Per == "second", at+".per", m.Per, "must be second, which makes a rate of a count")
	v.want(m.Lane == "" || slices.Contains(v.lanes, m.Lane), at+".lane", m.Lane, "must be a lane of the plan: "+listed(v.lanes))
}

func (v *inspection) limit(at string, l gates.Limit) {
	v.want(l.Above != nil || l.Below != nil, at, "", "must say what is too much (above), too little (below), or both")
	v.finite(at+".above", l.Above)
	v.finite(at+".below", l.Below)
	if l.Above != nil && l.Below != nil {
		v.want(!(*l.Below >= *l.Above), at+".below", *l.Below, "must be less than above: together they are a band, and what lies between is good")
	}
	v.want(1 <= l.M && l.M <= l.N && l.N <= mostBucket, at+".for", fmt.Sprintf("%d of %d", l.M, l.N),
		"must be M of N buckets such as 2 of 3, with M at most N and N at most 60")
}

func (v *inspection) finite(field string, edge *float64) {
	if edge != nil {
		v.want(!math.IsNaN(*edge) && !math.IsInf(*edge, 0), field, *edge, "must be a finite number")
	}
}

// seen notes a bake that is over before a gate could see a breach in it.
func (v *inspection) seen(field string, bake time.Duration) {
	for _, g := range v.plan.Gates {
		needed := time.Duration(g.Limit.M) * g.Metric.Period
		v.want(bake <= 0 || bake >= needed || g.Limit.M > mostBucket, field, bake,
			fmt.Sprintf("must be at least %v: gate %s needs %d periods of %v to see a breach", needed, g.Name, g.Limit.M, g.Metric.Period))
	}
}
