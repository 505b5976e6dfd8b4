package planfile

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// generator draws the parts of a valid plan.
type generator struct {
	*rapid.T
	plan rollout.Plan
}

func drawPlan(t *rapid.T) *rollout.Plan {
	g := generator{T: t}
	p := &g.plan
	p.Name, p.Owner = g.name("rollout"), g.text("owner", 1)
	p.Reason = strings.TrimSpace(strings.Join([]string{g.text("reason", 0), g.text("more reason", 0), g.text("still more", 0)}, "\n"))
	p.Kind = pick(t, "kind", rollout.SameData, rollout.MovingData)
	p.Database = rollout.Database{
		Name: g.name("database"), Engine: g.name("engine"), MaxConnections: rapid.IntRange(0, 1_000_000).Draw(t, "max connections"),
		Region: pick(t, "region", "", "eu-west-1"), Account: pick(t, "account", "", "012345678901"),
	}
	p.Source, p.Target = g.endpoint("s"), g.endpoint("t")
	for i := range rapid.IntRange(1, 3).Draw(t, "services") {
		p.Services = append(p.Services, rollout.Service{
			Name: fmt.Sprintf("%s-%d", rapid.StringMatching(`[a-z0-9]{1,9}`).Draw(t, "service"), i), Tasks: rapid.IntRange(1, 900).Draw(t, "tasks"),
			PoolMax: rapid.IntRange(1, 900).Draw(t, "pool"), SocketTimeout: g.span("timeout", 0, time.Hour), PoolLifetime: g.span("lifetime", 0, time.Hour),
		})
	}
	g.windows()
	g.lanes()
	p.Soak = rollout.Soak{For: g.span("soak", 0, 366*day), Contains: g.some("soak windows", "burst", "night")}
	p.Guard.Every = g.span("guard", 100*time.Millisecond, time.Minute)
	p.OnRaise = pick(t, "on raise", rollout.OnRaiseHold, rollout.OnRaiseRestore)
	p.Converge = rollout.Converge{
		Within: g.span("within", 1, 366*day), MinReporting: rapid.IntRange(1, 100).Draw(t, "reporting"), Interval: g.span("interval", 1, day),
	}
	p.Patience, p.Grace, p.Recovery = g.span("patience", 1, day), g.span("grace", 1, day), g.span("recovery", 1, day)
	for i := range rapid.IntRange(1, 4).Draw(t, "gates") {
		p.Gates = append(p.Gates, g.gate(i))
	}
	g.bakeLongEnough()
	return p
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func (g *generator) name(label string) string {
	return rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`).Draw(g.T, label)
}

// text draws what YAML may take for something else, and any script there is.
func (g *generator) text(label string, least int) string {
	drawn := rapid.OneOf(
		rapid.SampledFrom([]string{"true", "no", "~", "null", "1", "0x1", "1:30", "2026-11-01", "- a", "a: b", "#", "{", "'", `"`, "<<", "%", "@", "*a", "&a", "!a", "|", ">-", "…", "=", "? a"}),
		rapid.StringOfN(rapid.RuneFrom(nil, unicode.GraphicRanges...), least, 60, -1),
	).Draw(g.T, label)
	text := strings.TrimSpace(strings.ReplaceAll(drawn, string(unicode.ReplacementChar), "?"))
	if len(text) < least {
		return "x"
	}
	return text
}

// span draws a duration as people write them, and some that nobody would.
func (g *generator) span(label string, low, high time.Duration) time.Duration {
	unit := pick(g.T, label+" unit", time.Nanosecond, time.Millisecond, time.Second, time.Minute, time.Hour, day)
	n := rapid.Int64Range(0, int64(high/unit)).Draw(g.T, label)
	low = max(low, min(1, low)*time.Millisecond)
	return max(low, time.Duration(n)*unit)
}

func (g *generator) some(label string, from ...string) []string {
	var some []string
	for _, one := range from {
		if rapid.Bool().Draw(g.T, label) {
			some = append(some, one)
		}
	}
	return some
}

func (g *generator) labels(label string, least int) map[string]string {
	var labels map[string]string
	for range rapid.IntRange(0, 3).Draw(g.T, label) {
		if labels == nil {
			labels = make(map[string]string)
		}
		labels[g.text(label+" key", 1)] = g.text(label+" value", least)
	}
	return labels
}

// bakeLongEnough makes every bake long enough for every gate to see a breach in it.
func (g *generator) bakeLongEnough() {
	for _, gate := range g.plan.Gates {
		for _, lane := range g.plan.Lanes {
			for i := range lane.Stages {
				lane.Stages[i].Bake = max(lane.Stages[i].Bake, time.Duration(gate.Limit.M)*gate.Metric.Period)
			}
		}
	}
}

func (g *generator) endpoint(first string) rollout.Endpoint {
	return rollout.Endpoint{
		Host: first + rapid.StringMatching(`[a-z0-9.-]{0,20}[a-z0-9]`).Draw(g.T, "host"), Port: rapid.IntRange(1, 65535).Draw(g.T, "port"),
		Kind: pick(g.T, "endpoint", "direct", "rds-proxy", "proxysql", "pgbouncer", "cluster"), Settings: g.labels("settings", 0),
	}
}

func (g *generator) windows() {
	minute, length := rapid.IntRange(0, 59).Draw(g.T, "minute"), rapid.IntRange(0, 59).Draw(g.T, "length")
	from, to := rapid.IntRange(0, 1439).Draw(g.T, "from"), rapid.IntRange(0, 1439).Draw(g.T, "to")
	if from == to {
		to = 1440
	}
	g.plan.Windows = map[string]rollout.Window{
		"burst": {FromMinute: minute, ToMinute: (minute + length) % 60},
		"night": {
			Daily: true, From: time.Duration(from) * time.Minute, To: time.Duration(to) * time.Minute, Zone: pick(g.T, "zone", "UTC", "Asia/Tokyo"),
			Weekdays: pick(g.T, "weekdays", nil, []time.Weekday{time.Sunday}, []time.Weekday{time.Saturday, time.Monday}),
		},
	}
}

// lanes gives each class a lane of all services, or a wave for each.
func (g *generator) lanes() {
	for _, class := range []rollout.Class{rollout.Reads, rollout.Writes} {
		var waves [][]string
		for _, s := range g.plan.Services {
			if len(waves) == 0 || rapid.Bool().Draw(g.T, "another wave") {
				waves = append(waves, nil)
			}
			waves[len(waves)-1] = append(waves[len(waves)-1], s.Name)
		}
		for i, services := range waves {
			name := fmt.Sprintf("%s-%d", class, i)
			g.plan.Lanes = append(g.plan.Lanes, rollout.LanePlan{
				Name: name, Class: class, Services: services, Stages: g.stages(class),
				Flag: flags.Key{Namespace: pick(g.T, "namespace", "default", "Team_A"), Name: pick(g.T, "key", name, "K-"+name, "1"+name)},
			})
		}
	}
}

func (g *generator) stages(class rollout.Class) []rollout.Stage {
	var stages []rollout.Stage
	share := flags.None
	for share < flags.All {
		share = flags.Share(rapid.IntRange(int(share)+1, 100).Draw(g.T, "share"))
		if g.plan.Kind == rollout.MovingData && class == rollout.Writes {
			share = flags.All
		}
		stages = append(stages, rollout.Stage{
			Share: share, Bake: g.span("bake", 1, 366*day), MinTasks: 1, Contains: g.some("windows", "night", "burst"),
			Approvals: rapid.IntRange(0, 10).Draw(g.T, "approvals"), Manual: rapid.Bool().Draw(g.T, "manual"),
		})
	}
	return stages
}

func (g *generator) gate(i int) gates.Gate {
	gate := gates.Gate{
		Name: fmt.Sprintf("gate-%d", i), Source: pick(g.T, "source", "cloudwatch", "tasks"),
		Absent:   pick(g.T, "absent", gates.AbsentUnknown, gates.AbsentZero, gates.AbsentNotStarted),
		OnBreach: pick(g.T, "breach", gates.OnBreachZero, gates.OnBreachPrevious, gates.OnBreachHold),
		Scope:    gates.ScopeDatabase, Delay: g.span("delay", 0, time.Hour), Limit: g.limit(),
	}
	unit := pick(g.T, "unit", units()...)
	lanes := []string{g.plan.Lanes[0].Name, g.plan.Lanes[len(g.plan.Lanes)-1].Name}
	if rapid.Bool().Draw(g.T, "of a lane") {
		gate.Scope, gate.Lanes = gates.ScopeLane, g.some("lanes", lanes...)
	}
	if gate.Source == "cloudwatch" {
		gate.Metric = gates.Metric{
			Account: pick(g.T, "account", "123456789012", "000000000000"), Region: "us-east-1", Namespace: g.text("namespace", 1), Name: "Latency" + g.text("metric", 0),
			Dimensions: g.labels("dimensions", 1), Stat: pick(g.T, "stat", "Sum", "p99.9", "TM(10%:90%)"), Unit: unit.name,
			Period: pick(g.T, "period", time.Second, 30*time.Second, time.Minute, 5*time.Minute),
		}
		return gate
	}
	gate.Metric = gates.Metric{
		Name: "open" + g.text("metric", 0), Stat: pick(g.T, "stat", "", "Maximum"), Period: g.span("period", 100*time.Millisecond, time.Hour),
		Unit: unit.name, Per: pick(g.T, "per", "", "second"), Target: rapid.Bool().Draw(g.T, "target"), Lane: pick(g.T, "lane", "", lanes[0]),
	}
	if gate.Scope == gates.ScopeLane && gate.Metric.Lane != "" {
		gate.Lanes = []string{gate.Metric.Lane}
	}
	return gate
}

func (g *generator) limit() gates.Limit {
	n := rapid.IntRange(1, 60).Draw(g.T, "n")
	limit := gates.Limit{M: rapid.IntRange(1, n).Draw(g.T, "m"), N: n}
	low, high := rapid.Float64Range(-1e300, 1e300).Draw(g.T, "below"), rapid.Float64Range(-1e300, 1e300).Draw(g.T, "above")
	switch pick(g.T, "condition", "above", "below", "band") {
	case "above":
		limit.Above = &high
	case "below":
		limit.Below = &low
	default:
		low, high = min(low, high), max(low, high)
		if low == high {
			high = low + max(1, -low, low)
		}
		limit.Above, limit.Below = &high, &low
	}
	return limit
}
