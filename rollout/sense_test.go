package rollout_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// TestAChangeIsToldWithWhatItMeans has one change a row: what differs, and its sense.
func TestAChangeIsToldWithWhatItMeans(t *testing.T) {
	const (
		tightens, loosens, neutral, fixed = rollout.Tightens, rollout.Loosens, rollout.Neutral, rollout.Fixed
	)
	edge := func(v float64) *float64 { return &v }
	stage := func(p *rollout.Plan) *rollout.Stage { return &p.Lanes[0].Stages[1] } // 50 %, contains burst and night
	gate := func(p *rollout.Plan) *gates.Gate { return &p.Gates[0] }
	window := func(p *rollout.Plan, change func(*rollout.Window)) {
		w := p.Windows["night"]
		change(&w)
		p.Windows["night"] = w
	}
	rows := []struct {
		sense rollout.Sense
		told  string
		edit  func(*rollout.Plan)
	}{
		{fixed, "rollout from orders-db to users-db", func(p *rollout.Plan) { p.Name = "users-db" }},
		{neutral, "owner from team-orders to team-b", func(p *rollout.Plan) { p.Owner = "team-b" }},
		{fixed, "source.port from 3306 to 3307", func(p *rollout.Plan) { p.Source.Port = 3307 }},
		{loosens, "target.settings from borrow_timeout: 3s, max_connections_percent: 62, pinned: true to none", func(p *rollout.Plan) { p.Target.Settings = nil }},
		{fixed, "lanes from reads, writes to writes, reads", func(p *rollout.Plan) { slices.Reverse(p.Lanes) }},
		{fixed, "lanes[writes] removed: writes of checkout", func(p *rollout.Plan) { p.Lanes = p.Lanes[:1] }},
		{fixed, "lanes[reads].services from checkout, cart to checkout", func(p *rollout.Plan) { p.Lanes[0].Services = []string{"checkout"} }},
		{fixed, "lanes[reads].flag.key from orders-db-reads to k", func(p *rollout.Plan) { p.Lanes[0].Flag.Name = "k" }},

		{tightens, "services[cart].tasks from 10 to 20", func(p *rollout.Plan) { p.Services[1].Tasks = 20 }},
		{loosens, "services[cart].tasks from 10 to 9", func(p *rollout.Plan) { p.Services[1].Tasks = 9 }},
		{loosens, "services[cart].pool_max from 8 to 9", func(p *rollout.Plan) { p.Services[1].PoolMax = 9 }},
		{neutral, "services from checkout, cart to cart, checkout", func(p *rollout.Plan) { slices.Reverse(p.Services) }},

		{tightens, "lanes[reads].stages[50%].bake from 1h30m to 2h", func(p *rollout.Plan) { stage(p).Bake = 2 * time.Hour }},
		{loosens, "lanes[reads].stages[50%].bake from 1h30m to 1m30s", func(p *rollout.Plan) { stage(p).Bake = 90 * time.Second }},
		{tightens, "lanes[reads].stages[50%].min_tasks from 1 to 5", func(p *rollout.Plan) { stage(p).MinTasks = 5 }},
		{loosens, "lanes[writes].stages[1%].min_tasks from 2 to 1", func(p *rollout.Plan) { p.Lanes[1].Stages[0].MinTasks = 1 }},
		{loosens, "lanes[reads].stages[50%].contains from burst, night to night", func(p *rollout.Plan) { stage(p).Contains = []string{"night"} }},
		{loosens, "lanes[reads].stages[50%].contains from burst, night to night, dawn", func(p *rollout.Plan) { stage(p).Contains = []string{"night", "dawn"} }},
		{tightens, "lanes[reads].stages[10%].contains from none to night", func(p *rollout.Plan) { p.Lanes[0].Stages[0].Contains = []string{"night"} }},
		{neutral, "lanes[reads].stages[50%].contains from burst, night to night, burst", func(p *rollout.Plan) { slices.Reverse(stage(p).Contains) }},
		{tightens, "lanes[reads].stages[50%].approvals from 1 to 2", func(p *rollout.Plan) { stage(p).Approvals = 2 }},
		{loosens, "lanes[reads].stages[50%].approvals from 1 to 0", func(p *rollout.Plan) { stage(p).Approvals = 0 }},
		{loosens, "lanes[reads].stages[50%].go from manual to auto", func(p *rollout.Plan) { stage(p).Manual = false }},
		{tightens, "lanes[reads].stages[10%].go from auto to manual", func(p *rollout.Plan) { p.Lanes[0].Stages[0].Manual = true }},
		{loosens, "lanes[reads].stages[10%] removed: bake 15m, go auto", func(p *rollout.Plan) { p.Lanes[0].Stages = p.Lanes[0].Stages[1:] }},
		{tightens, "lanes[reads].stages[5%] added: bake 1h, approvals 2, go manual", func(p *rollout.Plan) {
			p.Lanes[0].Stages = slices.Insert(p.Lanes[0].Stages, 0, rollout.Stage{Share: 5, Bake: time.Hour, Approvals: 2, Manual: true})
		}},

		{tightens, "windows[night] from 22:00-05:00 Asia/Tokyo on mon, fri to 21:00-06:00 Asia/Tokyo on mon, fri", func(p *rollout.Plan) {
			window(p, func(w *rollout.Window) { w.From, w.To = 21*time.Hour, 6*time.Hour })
		}},
		{loosens, "windows[night] from 22:00-05:00 Asia/Tokyo on mon, fri to 22:00-04:00 Asia/Tokyo on mon, fri", func(p *rollout.Plan) {
			window(p, func(w *rollout.Window) { w.To = 4 * time.Hour })
		}},
		{tightens, "windows[night] from 22:00-05:00 Asia/Tokyo on mon, fri to 22:00-05:00 Asia/Tokyo on fri", func(p *rollout.Plan) {
			window(p, func(w *rollout.Window) { w.Weekdays = w.Weekdays[1:] })
		}},
		{loosens, "windows[night] from 22:00-05:00 Asia/Tokyo on mon, fri to 22:00-05:00 Asia/Tokyo", func(p *rollout.Plan) {
			window(p, func(w *rollout.Window) { w.Weekdays = nil })
		}},
		{loosens, "windows[night] from 22:00-05:00 Asia/Tokyo on mon, fri to 22:00-05:00 UTC on mon, fri", func(p *rollout.Plan) {
			window(p, func(w *rollout.Window) { w.Zone = "UTC" })
		}},
		{neutral, "windows[night] from 22:00-05:00 Asia/Tokyo on mon, fri to 22:00-05:00 Asia/Tokyo on fri, mon", func(p *rollout.Plan) {
			window(p, func(w *rollout.Window) { w.Weekdays = []time.Weekday{time.Friday, time.Monday} })
		}},
		{tightens, "windows[burst] from minute 25-26 to minute 24-30", func(p *rollout.Plan) { p.Windows["burst"] = rollout.Window{FromMinute: 24, ToMinute: 30} }},
		{loosens, "windows[burst] from minute 25-26 to minute 26-26", func(p *rollout.Plan) { p.Windows["burst"] = rollout.Window{FromMinute: 26, ToMinute: 26} }},
		{tightens, "windows[burst] from minute 25-26 to minute 20-10", func(p *rollout.Plan) { p.Windows["burst"] = rollout.Window{FromMinute: 20, ToMinute: 10} }},
		{neutral, "windows[dawn] added: minute 1-2", func(p *rollout.Plan) { p.Windows["dawn"] = rollout.Window{FromMinute: 1, ToMinute: 2} }},

		{tightens, "soak.for from 7d to 8d", func(p *rollout.Plan) { p.Soak.For = 8 * 24 * time.Hour }},
		{loosens, "soak.for from 7d to 0s", func(p *rollout.Plan) { p.Soak.For = 0 }},
		{loosens, "soak.contains from night to none", func(p *rollout.Plan) { p.Soak.Contains = nil }},

		{loosens, "gates[borrow-wait] removed: DatabaseConnectionsBorrowLatency, above 50ms, below 0.5us, for 2 of 3, on_breach zero", func(p *rollout.Plan) { p.Gates = p.Gates[1:] }},
		{tightens, "gates[g] added: m, above 80%, for 1 of 1, on_breach hold", func(p *rollout.Plan) {
			p.Gates = append(p.Gates, gates.Gate{Name: "g", Metric: gates.Metric{Name: "m", Unit: "percent"}, Limit: gates.Limit{Above: edge(80), M: 1, N: 1}, OnBreach: "hold"})
		}},
		{neutral, "gates from borrow-wait, failed-opens to failed-opens, borrow-wait", func(p *rollout.Plan) { slices.Reverse(p.Gates) }},
		{loosens, "gates[borrow-wait].metric.period from 1m to 30s", func(p *rollout.Plan) { gate(p).Metric.Period = 30 * time.Second }},
		{loosens, "gates[borrow-wait].metric.dimensions from ProxyName: orders to ProxyName: users", func(p *rollout.Plan) { gate(p).Metric.Dimensions = map[string]string{"ProxyName": "users"} }},
		{loosens, "gates[borrow-wait].limit.above from 50ms to 80ms", func(p *rollout.Plan) { gate(p).Limit.Above = edge(80e3) }},
		{tightens, "gates[borrow-wait].limit.above from 50ms to 1.5us", func(p *rollout.Plan) { gate(p).Limit.Above = edge(1.5) }},
		{loosens, "gates[borrow-wait].limit.above from 50ms to none", func(p *rollout.Plan) { gate(p).Limit.Above = nil }},
		{loosens, "gates[borrow-wait].limit.below from 0.5us to none", func(p *rollout.Plan) { gate(p).Limit.Below = nil }},
		{tightens, "gates[borrow-wait].limit.below from 0.5us to 1us", func(p *rollout.Plan) { gate(p).Limit.Below = edge(1) }},
		{loosens, "gates[borrow-wait].limit.below from 0.5us to 0.4us", func(p *rollout.Plan) { gate(p).Limit.Below = edge(0.4) }},
		{tightens, "gates[failed-opens].limit.below from none to 1", func(p *rollout.Plan) { p.Gates[1].Limit.Below = edge(1) }},
		{tightens, "gates[borrow-wait].limit.for from 2 of 3 to 1 of 3", func(p *rollout.Plan) { gate(p).Limit.M = 1 }},
		{tightens, "gates[borrow-wait].limit.for from 2 of 3 to 2 of 5", func(p *rollout.Plan) { gate(p).Limit.N = 5 }},
		{loosens, "gates[borrow-wait].limit.for from 2 of 3 to 3 of 5", func(p *rollout.Plan) { gate(p).Limit.M, gate(p).Limit.N = 3, 5 }},
		{loosens, "gates[borrow-wait].limit.for from 2 of 3 to 2 of 2", func(p *rollout.Plan) { gate(p).Limit.N = 2 }},
		{loosens, "gates[borrow-wait].absent from zero to unknown", func(p *rollout.Plan) { gate(p).Absent = gates.AbsentUnknown }}, // a zero is below 0.5us
		{tightens, "gates[failed-opens].absent from not_started to unknown", func(p *rollout.Plan) { p.Gates[1].Absent = gates.AbsentUnknown }},
		{loosens, "gates[failed-opens].absent from not_started to zero", func(p *rollout.Plan) { p.Gates[1].Absent = gates.AbsentZero }},
		{loosens, "gates[borrow-wait].on_breach from zero to previous", func(p *rollout.Plan) { gate(p).OnBreach = gates.OnBreachPrevious }},
		{loosens, "gates[failed-opens].on_breach from previous to hold", func(p *rollout.Plan) { p.Gates[1].OnBreach = gates.OnBreachHold }},
		{tightens, "gates[failed-opens].on_breach from previous to zero", func(p *rollout.Plan) { p.Gates[1].OnBreach = gates.OnBreachZero }},
		{loosens, "gates[borrow-wait].scope from database to lane", func(p *rollout.Plan) { gate(p).Scope = gates.ScopeLane }},
		{tightens, "gates[failed-opens].scope from lane to database", func(p *rollout.Plan) { p.Gates[1].Scope = gates.ScopeDatabase }},
		{tightens, "gates[failed-opens].lanes from reads to all", func(p *rollout.Plan) { p.Gates[1].Lanes = nil }},
		{loosens, "gates[borrow-wait].lanes from all to writes", func(p *rollout.Plan) { gate(p).Lanes = []string{"writes"} }},
		{loosens, "gates[failed-opens].lanes from reads to writes", func(p *rollout.Plan) { p.Gates[1].Lanes = []string{"writes"} }},
		{loosens, "gates[borrow-wait].delay from 3m to 2m", func(p *rollout.Plan) { gate(p).Delay = 2 * time.Minute }},

		{loosens, "guard.every from 10s to 20s", func(p *rollout.Plan) { p.Guard.Every = 20 * time.Second }},
		{tightens, "guard.every from 10s to 500ms", func(p *rollout.Plan) { p.Guard.Every = 500 * time.Millisecond }},
		{loosens, "on_raise from restore to hold", func(p *rollout.Plan) { p.OnRaise = rollout.OnRaiseHold }},
		{loosens, "converge.within from 5m to 6m", func(p *rollout.Plan) { p.Converge.Within = 6 * time.Minute }},
		{loosens, "converge.min_reporting from 95% to 90%", func(p *rollout.Plan) { p.Converge.MinReporting = 90 }},
		{tightens, "converge.min_reporting from 95% to 100%", func(p *rollout.Plan) { p.Converge.MinReporting = 100 }},
		{loosens, "converge.interval from 10s to 5s", func(p *rollout.Plan) { p.Converge.Interval = 5 * time.Second }},
		{loosens, "patience from 20m to 21m", func(p *rollout.Plan) { p.Patience = 21 * time.Minute }},
		{tightens, "grace from 1m to 30s", func(p *rollout.Plan) { p.Grace = 30 * time.Second }},
		{loosens, "recovery from 15m to 1h", func(p *rollout.Plan) { p.Recovery = time.Hour }},
	}
	for _, row := range rows {
		was, is := filledPlan(t), filledPlan(t)
		row.edit(is)
		found := rollout.Diff(was, is)
		if len(found) != 1 || found[0].String() != row.told || found[0].Sense != row.sense {
			t.Errorf("want %s: %s\ngot %+v", row.sense, row.told, found)
		}
	}
}

func TestAPlanDoesNotDifferFromItself(t *testing.T) {
	if found := rollout.Diff(filledPlan(t), filledPlan(t)); found != nil {
		t.Errorf("it does: %v", found)
	}
}

func TestALimitInAnotherUnitIsNotCompared(t *testing.T) {
	was, is := filledPlan(t), filledPlan(t)
	is.Gates[0].Metric.Unit = "ms" // 50000 of them
	for _, d := range rollout.Diff(was, is) {
		if d.Sense != rollout.Loosens {
			t.Errorf("%s: %s", d, d.Sense)
		}
	}
}

func TestAWindowThatNothingContainsMayBecomeAnything(t *testing.T) {
	was, is := filledPlan(t), filledPlan(t)
	for _, p := range []*rollout.Plan{was, is} {
		p.Windows["dawn"] = rollout.Window{FromMinute: 1, ToMinute: 2}
	}
	is.Windows["dawn"] = rollout.Window{FromMinute: 40, ToMinute: 41}
	if found := rollout.Diff(was, is); len(found) != 1 || found[0].Sense != rollout.Neutral {
		t.Errorf("got %+v", found)
	}
}

// TestWhateverContainsATightenedWindowContainsTheFormer takes random windows and
// random stretches of time, over changes of the clock, too.
func TestWhateverContainsATightenedWindowContainsTheFormer(t *testing.T) {
	tightened := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawWindow(t, "was"), drawWindow(t, "is")
		if rapid.Bool().Draw(t, "alike") {
			b.Daily, b.Zone, b.Weekdays = a.Daily, a.Zone, nil
			if rapid.Bool().Draw(t, "earlier") {
				b.From, b.FromMinute = a.From/2, a.FromMinute/2
			}
		}
		was, is := ladderPlan(), ladderPlan()
		was.Soak.Contains, is.Soak.Contains = []string{"w"}, []string{"w"}
		was.Windows, is.Windows = map[string]rollout.Window{"w": a}, map[string]rollout.Window{"w": b}
		found := rollout.Diff(was, is)
		if len(found) != 1 || found[0].Sense != rollout.Tightens {
			return
		}
		tightened++
		from := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 72*60).Draw(t, "from")) * time.Minute)
		if rapid.Bool().Draw(t, "autumn") {
			from = from.AddDate(0, 6, 26)
		}
		to := from.Add(time.Duration(rapid.IntRange(0, 80*60).Draw(t, "long")) * time.Minute)
		if b.Within(from, to) && !a.Within(from, to) {
			t.Fatalf("%v to %v contains %v and not %v", from, to, b, a)
		}
	})
	if tightened == 0 {
		t.Error("no window was tightened: nothing was shown")
	}
}

func drawWindow(t *rapid.T, name string) rollout.Window {
	minutes := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, name+" "+label) }
	w := rollout.Window{FromMinute: minutes("first minute", 59), ToMinute: minutes("last minute", 59)}
	if rapid.Bool().Draw(t, name+" daily") {
		w = rollout.Window{
			Daily: true, From: time.Duration(minutes("from", 1439)) * time.Minute, To: time.Duration(minutes("to", 1439)) * time.Minute,
			Zone: rapid.SampledFrom([]string{"UTC", "Europe/Berlin"}).Draw(t, name+" zone"),
		}
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if rapid.IntRange(0, 3).Draw(t, name+" "+day.String()) == 0 {
			w.Weekdays = append(w.Weekdays, day)
		}
	}
	return w
}

// TestATightenedGateBreachesWheneverTheFormerDid judges random series by a gate
// and by what Diff takes for a stricter one.
func TestATightenedGateBreachesWheneverTheFormerDid(t *testing.T) {
	tightened, breached := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		a := drawGate(t, "was")
		b := a
		other := drawGate(t, "is")
		switch rapid.IntRange(0, 4).Draw(t, "field") {
		case 0:
			b.Limit.Above = other.Limit.Above
		case 1:
			b.Limit.Below = other.Limit.Below
		case 2:
			b.Limit.M, b.Limit.N = other.Limit.M, other.Limit.N
		case 3:
			b.Absent = other.Absent
		default:
			b.Limit = other.Limit
		}
		was, is := ladderPlan(), ladderPlan()
		was.Gates, is.Gates = []gates.Gate{a}, []gates.Gate{b}
		found := rollout.Diff(was, is)
		limited := func(l gates.Limit) bool { return l.Above != nil || l.Below != nil }
		if !limited(a.Limit) || !limited(b.Limit) || len(found) == 0 || slices.ContainsFunc(found, func(d rollout.Difference) bool { return d.Sense != rollout.Tightens }) {
			return
		}
		tightened++
		start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
		var s gates.Series
		for i := range 8 {
			if v := rapid.IntRange(-2, 6).Draw(t, "value"); v < 6 {
				s.Points = append(s.Points, gates.Point{Start: start.Add(time.Duration(i) * time.Minute), Value: float64(v)})
			}
		}
		now := start.Add(8 * time.Minute)
		before, after := gates.Judge(a, s, start, now), gates.Judge(b, s, start, now)
		if before.Breach {
			breached++
		}
		if before.Breach && !after.Breach {
			t.Fatalf("%v was a breach of %+v, and is none of %+v: %s", s.Points, a, b, after.Why)
		}
		if after.Allows() && !before.Allows() {
			t.Fatalf("%v allows a raise by %+v (%s), and did not by %+v (%s)", s.Points, b, after.Why, a, before.Why)
		}
	})
	if tightened == 0 || breached == 0 {
		t.Errorf("%d gates were tightened, %d of them breached: nothing was shown", tightened, breached)
	}
}

func drawGate(t *rapid.T, name string) gates.Gate {
	g := gates.Gate{
		Name: "g", Source: "tasks", Metric: gates.Metric{Name: "m", Period: time.Minute},
		Absent: rapid.SampledFrom([]gates.Absent{gates.AbsentUnknown, gates.AbsentZero, gates.AbsentNotStarted}).Draw(t, name+" absent"),
	}
	g.Limit.N = rapid.IntRange(1, 4).Draw(t, name+" n")
	g.Limit.M = rapid.IntRange(1, g.Limit.N).Draw(t, name+" m")
	side := func(label string, low, high int) *float64 {
		v := float64(rapid.IntRange(low, high).Draw(t, name+" "+label))
		if rapid.Bool().Draw(t, name+" has "+label) {
			return &v
		}
		return nil
	}
	g.Limit.Above, g.Limit.Below = side("above", 1, 5), side("below", -2, 0)
	return g
}

// TestTheTermsAreThoseOfTheGuide holds docs/plan.md to the rules.
func TestTheTermsAreThoseOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := rollout.TermTable(); !strings.Contains(string(text), table) {
		t.Errorf("docs/plan.md must have this table of what may be amended:\n%s", table)
	}
}

func TestValuesAreWrittenAsPeopleWriteThem(t *testing.T) {
	for want, got := range map[string]string{
		"7d": rollout.FormatSpan(7 * 24 * time.Hour), "24h": rollout.FormatSpan(24 * time.Hour), "1m30s": rollout.FormatSpan(90 * time.Second),
		"0s": rollout.FormatSpan(0), "500ms": rollout.FormatSpan(500 * time.Millisecond),
		"50ms": rollout.FormatLimit(50000, "us"), "50.5ms": rollout.FormatLimit(50.5, "ms"), "2s": rollout.FormatLimit(2000, "ms"), "1h": rollout.FormatLimit(60, "m"),
		"0us": rollout.FormatLimit(0, "us"), "80%": rollout.FormatLimit(80, "percent"), "5/s": rollout.FormatLimit(5, "count/s"), "7900": rollout.FormatLimit(7900, "count"),
		"0.1": rollout.FormatLimit(0.1, ""), "3MiB": rollout.FormatLimit(3, "MiB"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
