package preflight_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/preflight"
)

func plan() *rollout.Plan {
	limit := 1.0
	key := func(name string) flags.Key { return flags.Key{Namespace: "default", Name: name} }
	return &rollout.Plan{
		Name: "orders",
		Lanes: []rollout.LanePlan{
			{Name: "reads", Class: rollout.Reads, Flag: key("orders-r")},
			{Name: "writes", Class: rollout.Writes, Flag: key("orders-w")},
		},
		Gates: []gates.Gate{
			{
				Name: "failed-opens", Source: "tasks", Metric: gates.Metric{Name: "failed_opens", Period: 5 * time.Second},
				Limit: gates.Limit{Above: &limit, M: 1, N: 1}, OnBreach: gates.OnBreachZero,
			},
			{
				Name: "borrow-wait", Source: "cloudwatch", Metric: gates.Metric{Name: "borrow", Period: time.Minute},
				Limit: gates.Limit{Above: &limit, M: 2, N: 3}, OnBreach: gates.OnBreachPrevious, Delay: time.Minute,
			},
		},
		Guard:    rollout.Guard{Every: 10 * time.Second},
		Converge: rollout.Converge{Interval: 10 * time.Second},
	}
}

// sound are facts of which nothing stands against a start.
func sound() *preflight.Facts {
	tasks := rollout.Observation{Live: 30, Inventory: 30, Converged: true}
	return &preflight.Facts{
		Flags:     make([]rollout.Flag, 2),
		Tasks:     []rollout.Observation{tasks, tasks},
		Verdicts:  []gates.Verdict{{Gate: "failed-opens", Result: gates.Pass, Why: "0 ≤ 1"}, {Gate: "borrow-wait", Result: gates.Marginal, Why: "0.95 ≤ 1"}},
		Notes:     make([]string, 2),
		Every:     10 * time.Second,
		ReadEvery: 30 * time.Second,
	}
}

// find returns a check by name.
func find(t *testing.T, r *rollout.Report, name string) rollout.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q in %+v", name, r.Checks)
	return rollout.Check{}
}

func TestASoundWorldPassesEveryCheck(t *testing.T) {
	report := preflight.Check(plan(), sound())
	if len(report.Checks) != 7 {
		t.Errorf("%d checks: %+v", len(report.Checks), report.Checks)
	}
	for _, c := range report.Checks {
		if c.Result != rollout.CheckPass {
			t.Errorf("%s: %s, %s", c.Name, c.Result, c.Why)
		}
	}
	if !report.Passed() {
		t.Error("the report does not pass")
	}
}

func TestWhatStandsAgainstAStartIsNamed(t *testing.T) {
	cases := map[string]struct {
		change func(*preflight.Facts)
		check  string
		result string
		why    []string
	}{
		"a flag that cannot be read fails": {
			func(f *preflight.Facts) { f.Flags[1].Err = "connection refused" },
			"flag writes", rollout.CheckFail,
			[]string{"orders-w", "connection refused"},
		},
		"a flag above 0 % fails": {
			func(f *preflight.Facts) { f.Flags[0].Share = 25 },
			"flag reads", rollout.CheckFail,
			[]string{"orders-r", "25%", "must be at 0%"},
		},
		"tasks that are lacking fail": {
			func(f *preflight.Facts) {
				f.Tasks[0].Converged, f.Tasks[0].Why = false, "12 of 30 tasks report, 90% must"
			},
			"tasks reads", rollout.CheckFail,
			[]string{"12 of 30 tasks report"},
		},
		"a gate in breach before anything was moved fails": {
			func(f *preflight.Facts) {
				f.Verdicts[0] = gates.Verdict{Result: gates.Fail, Breach: true, Why: "7 > 1 in 1 of 1"}
			},
			"gate failed-opens", rollout.CheckFail,
			[]string{"in breach", "7 > 1"},
		},
		"a gate that may not be read fails, with what its source said": {
			func(f *preflight.Facts) {
				f.Verdicts[1] = gates.Verdict{Result: gates.Inconclusive, Cause: gates.Forbidden, Why: "it may not be read"}
				f.Notes[1] = "not authorized to perform cloudwatch:GetMetricData"
			},
			"gate borrow-wait", rollout.CheckFail,
			[]string{"forbidden", "may not be read", "GetMetricData"},
		},
		"a gate without data fails": {
			func(f *preflight.Facts) {
				f.Verdicts[1] = gates.Verdict{Result: gates.Inconclusive, Cause: gates.NoData, Why: "no point"}
			},
			"gate borrow-wait", rollout.CheckFail,
			[]string{"no_data"},
		},
		"a gate that begins with the first traffic passes": {
			func(f *preflight.Facts) {
				f.Verdicts[1] = gates.Verdict{Result: gates.Inconclusive, Cause: gates.NotStarted}
			},
			"gate borrow-wait", rollout.CheckPass,
			[]string{"begins with the first traffic"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			facts := sound()
			c.change(facts)
			report := preflight.Check(plan(), facts)
			got := find(t, report, c.check)
			if got.Result != c.result || report.Passed() != (c.result != rollout.CheckFail) {
				t.Errorf("%+v; the report passes: %v", got, report.Passed())
			}
			for _, part := range c.why {
				if !strings.Contains(got.Why, part) {
					t.Errorf("%q does not say %q", got.Why, part)
				}
			}
			for _, other := range report.Checks {
				if other.Name != c.check && other.Result != rollout.CheckPass {
					t.Errorf("%s is %s, too: %s", other.Name, other.Result, other.Why)
				}
			}
		})
	}
}

func TestDetectionIsJudgedByTheCadenceThatThereReallyIs(t *testing.T) {
	cases := map[string]struct {
		change func(*rollout.Plan, *preflight.Facts)
		result string
		why    string
	}{
		"tasks' reports are seen in time":            {func(*rollout.Plan, *preflight.Facts) {}, rollout.CheckPass, "25s"},
		"just in time is in time":                    {func(p *rollout.Plan, _ *preflight.Facts) { p.Gates[0].Metric.Period = 10 * time.Second }, rollout.CheckPass, "30s"},
		"a second later warns":                       {func(p *rollout.Plan, _ *preflight.Facts) { p.Gates[0].Metric.Period = 11 * time.Second }, rollout.CheckWarn, "31s"},
		"the daemon's shorter guard counts":          {func(_ *rollout.Plan, f *preflight.Facts) { f.Every = time.Second }, rollout.CheckPass, "16s"},
		"the plan's shorter guard counts":            {func(p *rollout.Plan, _ *preflight.Facts) { p.Guard.Every = 2 * time.Second }, rollout.CheckPass, "17s"},
		"three bad buckets take three times as long": {func(p *rollout.Plan, _ *preflight.Facts) { p.Gates[0].Limit.M = 3 }, rollout.CheckWarn, "35s"},
		"tasks that seldom report are seen late":     {func(p *rollout.Plan, _ *preflight.Facts) { p.Converge.Interval = time.Minute }, rollout.CheckWarn, "1m15s"},
		"a late metric alone warns":                  {func(p *rollout.Plan, _ *preflight.Facts) { onlyMetric(p) }, rollout.CheckWarn, "3m40s"},
		"how often metrics are read counts":          {func(p *rollout.Plan, f *preflight.Facts) { onlyMetric(p); f.ReadEvery = 10 * time.Second }, rollout.CheckWarn, "3m20s"},
		"the fastest of two guardrails counts":       {func(p *rollout.Plan, _ *preflight.Facts) { p.Gates[1].OnBreach = gates.OnBreachZero }, rollout.CheckPass, "25s"},
		"no gate that goes to zero is told apart":    {func(p *rollout.Plan, _ *preflight.Facts) { p.Gates[0].OnBreach = gates.OnBreachHold }, rollout.CheckWarn, "no gate takes a share to zero"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, facts := plan(), sound()
			c.change(p, facts)
			report := preflight.Check(p, facts)
			got := find(t, report, "detection")
			if got.Result != c.result || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s: %s; want %s with %s", got.Result, got.Why, c.result, c.why)
			}
			if !report.Passed() {
				t.Error("a warning fails the preflight")
			}
		})
	}
}

// onlyMetric leaves a metric of another source as the one guardrail.
func onlyMetric(p *rollout.Plan) {
	p.Gates[0].OnBreach, p.Gates[1].OnBreach = gates.OnBreachHold, gates.OnBreachZero
}

func TestAnApprovalIsBoundToTheFactsThatWereFound(t *testing.T) {
	first := preflight.Check(plan(), sound()).Hash
	if again := preflight.Check(plan(), sound()).Hash; again != first {
		t.Errorf("the same facts have the hashes %s and %s", first, again)
	}
	others := map[string]func(*rollout.Plan, *preflight.Facts){
		"a flag":          func(_ *rollout.Plan, f *preflight.Facts) { f.Flags[1].Share = 1 },
		"a flag's key":    func(p *rollout.Plan, _ *preflight.Facts) { p.Lanes[0].Flag.Name = "another" },
		"a task more":     func(_ *rollout.Plan, f *preflight.Facts) { f.Tasks[0].Live++ },
		"a verdict":       func(_ *rollout.Plan, f *preflight.Facts) { f.Verdicts[0].Why = "0.4 ≤ 1" },
		"a source's note": func(_ *rollout.Plan, f *preflight.Facts) { f.Verdicts[0] = gates.Verdict{}; f.Notes[0] = "throttled" },
		"the cadence":     func(_ *rollout.Plan, f *preflight.Facts) { f.Every = time.Second },
	}
	seen := map[string]string{first: "the first facts"}
	for name, change := range others {
		p, facts := plan(), sound()
		change(p, facts)
		hash := preflight.Check(p, facts).Hash
		if same, known := seen[hash]; known {
			t.Errorf("%s and %s have the same hash", name, same)
		}
		seen[hash] = name
	}
}
