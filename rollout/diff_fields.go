package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

func (w walk) head(was, is *Plan) {
	w.text("rollout", was.Name, is.Name)
	w.text("owner", was.Owner, is.Owner)
	w.text("reason", was.Reason, is.Reason)
}

func (w walk) places(was, is *Plan) {
	w.text("database.name", was.Database.Name, is.Database.Name)
	w.text("database.engine", was.Database.Engine, is.Database.Engine)
	w.whole("database.max_connections", was.Database.MaxConnections, is.Database.MaxConnections, "")
	w.text("database.region", was.Database.Region, is.Database.Region)
	w.text("database.account", was.Database.Account, is.Database.Account)
	w.endpoint("source.", was.Source, is.Source)
	w.endpoint("target.", was.Target, is.Target)
}

func (w walk) endpoint(at string, was, is Endpoint) {
	w.text(at+"host", was.Host, is.Host)
	w.whole(at+"port", was.Port, is.Port, "")
	w.text(at+"kind", was.Kind, is.Kind)
	w.labels(at+"settings", was.Settings, is.Settings)
}

func (w walk) services(was, is []Service) {
	gist := func(s *Service) string { return fmt.Sprintf("%d tasks, pool_max %d", s.Tasks, s.PoolMax) }
	matched(w, "services", was, is, func(s *Service) string { return s.Name }, gist, func(w walk, was, is *Service) {
		w.whole("tasks", was.Tasks, is.Tasks, "")
		w.whole("pool_max", was.PoolMax, is.PoolMax, "")
		w.span("socket_timeout", was.SocketTimeout, is.SocketTimeout)
		w.span("pool_lifetime", was.PoolLifetime, is.PoolLifetime)
	})
}

func (w walk) lanes(was, is []LanePlan) {
	gist := func(l *LanePlan) string { return fmt.Sprintf("%s of %s", l.Class, strings.Join(l.Services, ", ")) }
	matched(w, "lanes", was, is, func(l *LanePlan) string { return l.Name }, gist, func(w walk, was, is *LanePlan) {
		w.text("class", was.Class, is.Class)
		w.names("services", was.Services, is.Services)
		w.text("flag.key", was.Flag.Name, is.Flag.Name)
		w.text("flag.namespace", was.Flag.Namespace, is.Flag.Namespace)
		matched(w, "stages", was.Stages, is.Stages, func(s *Stage) string { return s.Share.String() }, (*Stage).gist, walk.stage)
	})
}

func (s *Stage) gist() string {
	text := "bake " + FormatSpan(s.Bake)
	if s.Approvals > 0 {
		text += fmt.Sprintf(", approvals %d", s.Approvals)
	}
	return text + ", go " + s.start()
}

// start says how the step to a stage begins.
func (s *Stage) start() string {
	if s.Manual {
		return "manual"
	}
	return "auto"
}

func (w walk) stage(was, is *Stage) {
	w.span("bake", was.Bake, is.Bake)
	w.whole("min_tasks", was.MinTasks, is.MinTasks, "")
	w.names("contains", was.Contains, is.Contains)
	w.whole("approvals", was.Approvals, is.Approvals, "")
	ranked(w, "go", was.start(), is.start(), "auto", "manual")
}

// windows compares those that are there before and after. What is contained
// nowhere means nothing; what contains them has a difference of its own.
func (w walk) windows(was, is *Plan) {
	both := slices.Collect(maps.Keys(was.Windows))
	for name := range is.Windows {
		if _, ok := was.Windows[name]; !ok {
			both = append(both, name)
		}
	}
	slices.Sort(both)
	for _, name := range both {
		a, had := was.Windows[name]
		b, has := is.Windows[name]
		at := "windows[" + name + "]"
		switch {
		case !had:
			w.noteAt(at, "windows", "", b.String(), alike)
		case !has:
			w.noteAt(at, "windows", a.String(), "", alike)
		case a.same(b):
		case !was.contained(name):
			w.noteAt(at, "windows", a.String(), b.String(), alike)
		default:
			w.noteAt(at, "windows", a.String(), b.String(), a.to(b))
		}
	}
}

// same reports whether two windows are written the same.
func (w Window) same(other Window) bool {
	return w.FromMinute == other.FromMinute && w.ToMinute == other.ToMinute && w.From == other.From && w.To == other.To &&
		w.Daily == other.Daily && w.Zone == other.Zone && slices.Equal(w.Weekdays, other.Weekdays)
}

// contained reports whether a bake or the soak has to contain a window.
func (p *Plan) contained(window string) bool {
	for _, lane := range p.Lanes {
		for _, stage := range lane.Stages {
			if slices.Contains(stage.Contains, window) {
				return true
			}
		}
	}
	return slices.Contains(p.Soak.Contains, window)
}

// to says how a window has changed. It has grown if whatever contains the new one
// contains the old one, too: it begins no later, ends no earlier, and not on more days.
func (w Window) to(next Window) change {
	zoned := w.Zone == next.Zone && w.Daily == next.Daily
	begins, ends := cmp.Compare(next.From, w.From), cmp.Compare(next.end(), w.end())
	if !w.Daily {
		begins, ends = cmp.Compare(next.FromMinute, w.FromMinute), cmp.Compare(next.lastMinute(), w.lastMinute())
	}
	days := setChange(w.days(), next.days())
	switch {
	case zoned && begins == 0 && ends == 0 && days == alike:
		return alike
	case zoned && begins <= 0 && ends >= 0 && (days == alike || days == shrunk):
		return grown
	default:
		return unlike
	}
}

// end is when a daily window ends, since the midnight before it began.
func (w Window) end() time.Duration {
	if w.To <= w.From {
		return w.To + 24*time.Hour
	}
	return w.To
}

// lastMinute is the last minute of a window, since the hour in which it began.
func (w Window) lastMinute() int {
	if w.ToMinute < w.FromMinute {
		return w.ToMinute + 60
	}
	return w.ToMinute
}

// days are the weekdays on which a window begins.
func (w Window) days() []string {
	var days []string
	for day := time.Sunday; day <= time.Saturday; day++ {
		if len(w.Weekdays) == 0 || slices.Contains(w.Weekdays, day) {
			days = append(days, day.String())
		}
	}
	return days
}

func (w walk) gates(was, is []gates.Gate) {
	matched(w, "gates", was, is, func(g *gates.Gate) string { return g.Name }, gateGist, walk.gate)
}

func gateGist(g *gates.Gate) string {
	text := g.Metric.Name
	if g.Limit.Above != nil {
		text += ", above " + edge(g.Limit.Above, g.Metric.Unit)
	}
	if g.Limit.Below != nil {
		text += ", below " + edge(g.Limit.Below, g.Metric.Unit)
	}
	return fmt.Sprintf("%s, for %s, on_breach %s", text, buckets(g.Limit), g.OnBreach)
}

func edge(value *float64, unit string) string {
	if value == nil {
		return "none"
	}
	return FormatLimit(*value, unit)
}

func buckets(l gates.Limit) string { return fmt.Sprintf("%d of %d", l.M, l.N) }

func (w walk) gate(was, is *gates.Gate) {
	w.text("source", was.Source, is.Source)
	w.metric("metric.", &was.Metric, &is.Metric)
	w.edge("limit.above", was.Limit.Above, is.Limit.Above, was, is)
	w.edge("limit.below", was.Limit.Below, is.Limit.Below, was, is)
	w.limitFor(was.Limit, is.Limit)
	w.absent(was, is)
	ranked(w, "on_breach", was.OnBreach, is.OnBreach, gates.OnBreachHold, gates.OnBreachPrevious, gates.OnBreachZero)
	ranked(w, "scope", was.Scope, is.Scope, gates.ScopeLane, gates.ScopeDatabase)
	w.gateLanes(was.Lanes, is.Lanes)
	w.span("delay", was.Delay, is.Delay)
}

func (w walk) metric(at string, was, is *gates.Metric) {
	w.text(at+"account", was.Account, is.Account)
	w.text(at+"region", was.Region, is.Region)
	w.text(at+"namespace", was.Namespace, is.Namespace)
	w.text(at+"name", was.Name, is.Name)
	w.labels(at+"dimensions", was.Dimensions, is.Dimensions)
	w.text(at+"stat", was.Stat, is.Stat)
	w.span(at+"period", was.Period, is.Period)
	w.text(at+"unit", was.Unit, is.Unit)
	w.text(at+"per", was.Per, is.Per)
	w.text(at+"lane", was.Lane, is.Lane)
	w.text(at+"target", was.Target, is.Target)
}

// edge compares one side of a limit. A side that is not there lets everything go.
// In another unit, numbers do not compare.
func (w walk) edge(name string, a, b *float64, was, is *gates.Gate) {
	before, after := edge(a, was.Metric.Unit), edge(b, is.Metric.Unit)
	if before == after {
		return
	}
	c := unlike
	strict := grown // of a side that was not there
	if name == "limit.above" {
		strict = shrunk
	}
	switch {
	case was.Metric.Unit != is.Metric.Unit:
	case a == nil:
		c = strict
	case b != nil:
		c = grew(*a, *b)
	}
	w.note(name, before, after, c)
}

// limitFor compares M of N: fewer bad ones among more are sooner a breach.
func (w walk) limitFor(was, is gates.Limit) {
	if was.M == is.M && was.N == is.N {
		return
	}
	c := unlike
	if is.M <= was.M && is.N >= was.N {
		c = grown
	}
	w.note("limit.for", buckets(was), buckets(is), c)
}

// absent compares what a missing point means. A zero that the limit does not
// allow is a bad point, and so neither more lenient nor stricter.
func (w walk) absent(was, is *gates.Gate) {
	if was.Absent == is.Absent {
		return
	}
	if l := was.Limit; was.Absent == gates.AbsentZero && (l.Above != nil && *l.Above < 0 || l.Below != nil && *l.Below > 0) {
		w.note("absent", string(was.Absent), string(is.Absent), unlike)
		return
	}
	ranked(w, "absent", was.Absent, is.Absent, gates.AbsentZero, gates.AbsentNotStarted, gates.AbsentUnknown)
}

// gateLanes compares the lanes of a gate; none are all.
func (w walk) gateLanes(was, is []string) {
	switch {
	case len(was) == 0 && len(is) > 0:
		w.note("lanes", "all", strings.Join(is, ", "), shrunk)
	case len(was) > 0 && len(is) == 0:
		w.note("lanes", strings.Join(was, ", "), "all", grown)
	default:
		w.names("lanes", was, is)
	}
}

func (w walk) pace(was, is *Plan) {
	w.span("guard.every", was.Guard.Every, is.Guard.Every)
	w.text("on_raise", was.OnRaise, is.OnRaise)
	w.span("converge.within", was.Converge.Within, is.Converge.Within)
	w.whole("converge.min_reporting", was.Converge.MinReporting, is.Converge.MinReporting, "%")
	w.span("converge.interval", was.Converge.Interval, is.Converge.Interval)
	w.span("patience", was.Patience, is.Patience)
	w.span("grace", was.Grace, is.Grace)
	w.span("recovery", was.Recovery, is.Recovery)
}
