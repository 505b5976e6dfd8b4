package planfile

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// plan reads the file's fields, in the order in which errors list them.
func (d *document) plan(root *yaml.Node) *rollout.Plan {
	p := new(rollout.Plan)
	d.object("", root, func(o *object) {
		p.Name = o.text("rollout", "")
		p.Owner = o.text("owner", "")
		p.Reason = strings.TrimSpace(o.text("reason", "")) // a block of YAML ends with a newline
		p.Kind = rollout.PlanKind(o.text("kind", ""))
		o.object("database", func(o *object) { p.Database = o.database() })
		o.object("source", func(o *object) { p.Source = o.endpoint() })
		o.object("target", func(o *object) { p.Target = o.endpoint() })
		o.list("services", func(o *object) { p.Services = append(p.Services, o.service()) })
		o.list("lanes", func(o *object) { p.Lanes = append(p.Lanes, o.lane(p.Kind)) })
		p.Windows = o.windows("windows")
		p.Soak.For = 7 * day
		o.object("soak", func(o *object) {
			p.Soak.For = o.span("for", p.Soak.For)
			p.Soak.Contains = o.texts("contains", nil)
		})
		p.Converge = o.converge("converge")
		o.list("gates", func(o *object) { p.Gates = append(p.Gates, o.gate(p)) })
		p.Guard.Every = 10 * time.Second
		o.object("guard", func(o *object) { p.Guard.Every = o.span("every", p.Guard.Every) })
		p.OnRaise = rollout.OnRaise(o.text("on_raise", string(rollout.OnRaiseHold)))
		p.Patience = o.span("patience", 30*time.Minute)
		p.Grace = o.span("grace", 2*time.Minute)
		p.Recovery = o.span("recovery", 10*time.Minute)
	})
	return p
}

func (o *object) database() rollout.Database {
	return rollout.Database{
		Name:           o.text("name", ""),
		Engine:         o.text("engine", ""),
		MaxConnections: o.whole("max_connections", 0),
		Region:         o.text("region", ""),
		Account:        o.text("account", ""),
	}
}

func (o *object) endpoint() rollout.Endpoint {
	return rollout.Endpoint{
		Host:     o.text("host", ""),
		Port:     o.whole("port", 0),
		Kind:     o.text("kind", ""),
		Settings: o.labels("settings"),
	}
}

func (o *object) service() rollout.Service {
	return rollout.Service{
		Name:          o.text("name", ""),
		Tasks:         o.whole("tasks", 0),
		PoolMax:       o.whole("pool_max", 0),
		SocketTimeout: o.span("socket_timeout", 0),
		PoolLifetime:  o.span("pool_lifetime", 0),
	}
}

func (o *object) lane(kind rollout.PlanKind) rollout.LanePlan {
	lane := rollout.LanePlan{
		Name:     o.text("name", ""),
		Class:    rollout.Class(o.text("class", "")),
		Services: o.texts("services", nil),
		Flag:     flags.Key{Namespace: "default"},
	}
	o.object("flag", func(o *object) {
		lane.Flag.Name = o.text("key", "")
		lane.Flag.Namespace = o.text("namespace", lane.Flag.Namespace)
	})
	var given *object
	defaults := rollout.Stage{MinTasks: 1}
	o.object("defaults", func(o *object) {
		given = o
		defaults = o.terms(defaults)
	})
	o.list("stages", func(o *object) {
		stage := o.terms(defaults)
		stage.Share = o.share("share", flags.None)
		lane.Stages = append(lane.Stages, stage)
		o.trace(given)
	})
	if !o.has("stages") {
		lane.Stages = o.ladder(ladder(kind, lane.Class), defaults, given)
	}
	return lane
}

// ladder gives stages the terms that a lane's defaults set.
func (o *object) ladder(stages []rollout.Stage, defaults rollout.Stage, given *object) []rollout.Stage {
	for i, rung := range stages {
		stage := defaults
		stage.Share = rung.Share
		stage.Contains = slices.Clone(defaults.Contains)
		if given == nil || !given.has("bake") {
			stage.Bake = rung.Bake
		}
		stages[i] = stage
		missing := object{doc: o.doc, field: item(child(o.field, "stages"), i)}
		missing.trace(given)
	}
	return stages
}

// terms reads what it takes to leave a stage; what is not said is as in defaults.
func (o *object) terms(defaults rollout.Stage) rollout.Stage {
	stage := defaults
	stage.Bake = o.span("bake", defaults.Bake)
	stage.MinTasks = o.whole("min_tasks", defaults.MinTasks)
	stage.Contains = slices.Clone(o.texts("contains", defaults.Contains))
	stage.Approvals = o.whole("approvals", defaults.Approvals)
	switch said := o.text("go", ""); said {
	case "manual", "auto":
		stage.Manual = said == "manual"
	default:
		if o.has("go") {
			o.wrong("go", "must be auto or manual")
		}
	}
	return stage
}

// trace lets a problem with a term that the lane's defaults gave point there.
func (o *object) trace(defaults *object) {
	if defaults == nil {
		return
	}
	for name := range defaults.fields {
		if !o.has(name) {
			o.doc.origin[child(o.field, name)] = child(defaults.field, name)
		}
	}
}

// ladder returns the shares and bakes of a lane that names no stages. The writes
// of moving data have but one: they go over in one step.
func ladder(kind rollout.PlanKind, class rollout.Class) []rollout.Stage {
	last := rollout.Stage{Share: flags.All, Bake: day}
	if kind == rollout.MovingData && class == rollout.Writes {
		return []rollout.Stage{last}
	}
	return []rollout.Stage{
		{Share: 1, Bake: 15 * time.Minute},
		{Share: 10, Bake: 30 * time.Minute},
		{Share: 25, Bake: time.Hour},
		{Share: 50, Bake: 2 * time.Hour},
		{Share: 75, Bake: 2 * time.Hour},
		last,
	}
}

func (o *object) windows(name string) map[string]rollout.Window {
	var windows map[string]rollout.Window
	o.each(name, func(key string, o *object) {
		if windows == nil {
			windows = make(map[string]rollout.Window)
		}
		windows[key] = o.window()
	})
	return windows
}

func (o *object) converge(name string) rollout.Converge {
	c := rollout.Converge{Within: 5 * time.Minute, MinReporting: 90, Interval: 10 * time.Second}
	o.object(name, func(o *object) {
		c.Within = o.span("within", c.Within)
		c.MinReporting = int(o.share("min_reporting", flags.Share(c.MinReporting)))
		c.Interval = o.span("interval", c.Interval)
	})
	return c
}

// gate reads a gate; what it leaves open is taken from the plan so far.
func (o *object) gate(p *rollout.Plan) gates.Gate {
	g := gates.Gate{
		Name:   o.text("name", ""),
		Source: o.text("source", ""),
	}
	g.Metric.Period = p.Converge.Interval
	if g.Source == "cloudwatch" {
		g.Metric = gates.Metric{Period: time.Minute, Account: p.Database.Account, Region: p.Database.Region}
	}
	o.object("metric", func(o *object) { g.Metric = o.metric(g.Metric) })
	g.Limit = o.limit("limit", g.Metric.Unit)
	g.Absent = gates.Absent(o.text("absent", string(gates.AbsentUnknown)))
	g.OnBreach = gates.OnBreach(o.text("on_breach", ""))
	g.Scope = gates.Scope(o.text("scope", string(gates.ScopeDatabase)))
	var lanes []string
	if g.Scope == gates.ScopeLane && g.Metric.Lane != "" {
		lanes = []string{g.Metric.Lane}
	}
	g.Lanes = o.texts("lanes", lanes)
	g.Delay = o.span("delay", publishDelay(g))
	return g
}

func (o *object) metric(defaults gates.Metric) gates.Metric {
	return gates.Metric{
		Account:    o.text("account", defaults.Account),
		Region:     o.text("region", defaults.Region),
		Namespace:  o.text("namespace", ""),
		Name:       o.text("name", ""),
		Dimensions: o.labels("dimensions"),
		Stat:       o.text("stat", ""),
		Period:     o.span("period", defaults.Period),
		Unit:       o.unit("unit"),
		Per:        o.text("per", ""),
		Lane:       o.text("lane", ""),
		Target:     o.truth("target"),
	}
}

// publishDelay returns how late a source's points come: CloudWatch publishes
// those of a minute or longer within two minutes, and short ones as they are put.
func publishDelay(g gates.Gate) time.Duration {
	if g.Source == "cloudwatch" && g.Metric.Period >= time.Minute {
		return 2 * time.Minute
	}
	return 0
}
