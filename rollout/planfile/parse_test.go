package planfile

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

func everyField(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryFieldReachesThePlan(t *testing.T) {
	got, err := Parse("every-field.yaml", []byte(everyField(t)))
	if err != nil {
		t.Fatal(err)
	}
	number := func(v float64) *float64 { return &v }
	usual := rollout.Stage{Bake: 2 * time.Hour, MinTasks: 2, Contains: []string{"burst"}, Approvals: 2, Manual: true}
	at := func(share flags.Share) rollout.Stage { usual.Share = share; return usual }
	want := &rollout.Plan{
		Name: "orders-db", Owner: "team-orders", Reason: "fewer connections", Kind: rollout.SameData,
		Database: rollout.Database{Name: "orders", Engine: "aurora-mysql", MaxConnections: 16000, Region: "ap-northeast-1", Account: "123456789012"},
		Source:   rollout.Endpoint{Host: "orders.cluster-x.example", Port: 3306, Kind: "direct"},
		Target: rollout.Endpoint{
			Host: "orders-proxy.example", Port: 3306, Kind: "rds-proxy",
			Settings: map[string]string{"max_connections_percent": "62", "borrow_timeout": "3s", "pinned": "true"},
		},
		Services: []rollout.Service{
			{Name: "checkout", Tasks: 120, PoolMax: 38, SocketTimeout: 7 * time.Second, PoolLifetime: time.Minute},
			{Name: "cart", Tasks: 10, PoolMax: 8},
		},
		Lanes: []rollout.LanePlan{
			{
				Name: "reads", Class: rollout.Reads, Services: []string{"checkout", "cart"},
				Flag: flags.Key{Namespace: "default", Name: "orders-db-reads"},
				Stages: []rollout.Stage{
					{Share: 10, Bake: 15 * time.Minute, MinTasks: 1},
					{Share: 50, Bake: 90 * time.Minute, MinTasks: 1, Contains: []string{"burst", "night"}, Approvals: 1, Manual: true},
					{Share: 100, Bake: 7 * day, MinTasks: 1},
				},
			},
			{
				Name: "writes", Class: rollout.Writes, Services: []string{"checkout"},
				Flag:   flags.Key{Namespace: "default", Name: "orders-db-writes"},
				Stages: []rollout.Stage{at(1), at(10), at(25), at(50), at(75), at(100)},
			},
		},
		Windows: map[string]rollout.Window{
			"burst": {FromMinute: 25, ToMinute: 26},
			"night": {
				Daily: true, From: 22 * time.Hour, To: 5 * time.Hour, Zone: "Asia/Tokyo",
				Weekdays: []time.Weekday{time.Monday, time.Friday},
			},
		},
		Soak: rollout.Soak{For: 7 * day, Contains: []string{"night"}},
		Gates: []gates.Gate{
			{
				Name: "borrow-wait", Source: "cloudwatch",
				Metric: gates.Metric{
					Account: "210987654321", Region: "us-east-1", Namespace: "AWS/RDS", Name: "DatabaseConnectionsBorrowLatency",
					Dimensions: map[string]string{"ProxyName": "orders"}, Stat: "Maximum", Period: time.Minute, Unit: "us",
				},
				Limit:  gates.Limit{Above: number(50000), Below: number(0.5), M: 2, N: 3},
				Absent: gates.AbsentZero, OnBreach: gates.OnBreachZero, Scope: gates.ScopeDatabase, Delay: 3 * time.Minute,
			},
			{
				Name: "failed-opens", Source: "tasks",
				Metric: gates.Metric{Name: "failed_opens", Period: 5 * time.Second, Per: "second", Lane: "reads", Target: true, Stat: "Sum"},
				Limit:  gates.Limit{Above: number(1.5), M: 2, N: 3},
				Absent: gates.AbsentNotStarted, OnBreach: gates.OnBreachPrevious, Scope: gates.ScopeLane, Lanes: []string{"reads"},
			},
		},
		Guard: rollout.Guard{Every: 10 * time.Second}, OnRaise: rollout.OnRaiseRestore,
		Converge: rollout.Converge{Within: 5 * time.Minute, MinReporting: 95, Interval: 10 * time.Second},
		Patience: 20 * time.Minute, Grace: time.Minute, Recovery: 15 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
}

// leastPlan says only what has no default.
const leastPlan = `
rollout: a
owner: b
kind: same-data
database: {name: c, engine: mysql, region: eu-west-1, account: "123456789012"}
source: {host: d, port: 1, kind: direct}
target: {host: e, port: 1, kind: cluster}
services: [{name: f, tasks: 1, pool_max: 1}]
lanes: [{name: g, class: reads, services: [f], flag: {key: h}}]
gates:
  - {name: i, source: cloudwatch, metric: {namespace: j, name: k, stat: Sum}, limit: {above: 1}, on_breach: hold}
  - {name: l, source: cloudwatch, metric: {namespace: j, name: k, stat: Sum, period: 10s}, limit: {above: 1}, on_breach: hold}
  - {name: m, source: tasks, metric: {name: open, lane: g}, limit: {below: 1}, on_breach: hold, scope: lane}
`

func TestWhatIsLeftOutHasTheDocumentedDefault(t *testing.T) {
	p, err := Parse("least.yaml", []byte(leastPlan))
	if err != nil {
		t.Fatal(err)
	}
	type defaults struct {
		Flag                      flags.Key
		Stages                    []rollout.Stage
		Soak                      rollout.Soak
		Guard                     rollout.Guard
		OnRaise                   rollout.OnRaise
		Converge                  rollout.Converge
		Patience, Grace, Recovery time.Duration
		Windows                   map[string]rollout.Window
		Periods, Delays           []time.Duration
		Account, Region           string
		Limit                     [2]int
		Absent                    gates.Absent
		Scopes                    []gates.Scope
		Lanes                     []string
	}
	got := defaults{
		Flag: p.Lanes[0].Flag, Stages: p.Lanes[0].Stages, Soak: p.Soak, Guard: p.Guard, OnRaise: p.OnRaise, Converge: p.Converge,
		Patience: p.Patience, Grace: p.Grace, Recovery: p.Recovery, Windows: p.Windows,
		Account: p.Gates[0].Metric.Account, Region: p.Gates[0].Metric.Region,
		Limit: [2]int{p.Gates[0].Limit.M, p.Gates[0].Limit.N}, Absent: p.Gates[0].Absent, Lanes: p.Gates[2].Lanes,
	}
	for i := range p.Gates {
		got.Periods = append(got.Periods, p.Gates[i].Metric.Period)
		got.Delays = append(got.Delays, p.Gates[i].Delay)
		got.Scopes = append(got.Scopes, p.Gates[i].Scope)
	}
	want := defaults{
		Flag: flags.Key{Namespace: "default", Name: "h"},
		Stages: []rollout.Stage{
			{Share: 1, Bake: 15 * time.Minute, MinTasks: 1},
			{Share: 10, Bake: 30 * time.Minute, MinTasks: 1},
			{Share: 25, Bake: time.Hour, MinTasks: 1},
			{Share: 50, Bake: 2 * time.Hour, MinTasks: 1},
			{Share: 75, Bake: 2 * time.Hour, MinTasks: 1},
			{Share: 100, Bake: 24 * time.Hour, MinTasks: 1},
		},
		Soak: rollout.Soak{For: 7 * day}, Guard: rollout.Guard{Every: 10 * time.Second}, OnRaise: rollout.OnRaiseHold,
		Converge: rollout.Converge{Within: 5 * time.Minute, MinReporting: 90, Interval: 10 * time.Second},
		Patience: 30 * time.Minute, Grace: 2 * time.Minute, Recovery: 10 * time.Minute,
		Account: "123456789012", Region: "eu-west-1",
		Periods: []time.Duration{time.Minute, 10 * time.Second, 10 * time.Second},
		Delays:  []time.Duration{2 * time.Minute, 0, 0},
		Limit:   [2]int{2, 3}, Absent: gates.AbsentUnknown,
		Scopes: []gates.Scope{gates.ScopeDatabase, gates.ScopeDatabase, gates.ScopeLane},
		Lanes:  []string{"g"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the defaults differ (-want +got):\n%s", diff)
	}
}

func TestTheStagesOwnFieldWinsOverTheLanesDefaultAndThatOverTheUsual(t *testing.T) {
	lane := "defaults: {bake: 5m, min_tasks: 1, approvals: 3, go: manual}, stages: [{share: 10%}, {share: 100%, bake: 6m, approvals: 0, go: auto}]}]"
	p, err := Parse("plan.yaml", []byte(strings.Replace(leastPlan, "flag: {key: h}}]", "flag: {key: h}, "+lane, 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := []rollout.Stage{
		{Share: 10, Bake: 5 * time.Minute, MinTasks: 1, Approvals: 3, Manual: true},
		{Share: 100, Bake: 6 * time.Minute, MinTasks: 1},
	}
	if diff := cmp.Diff(want, p.Lanes[0].Stages); diff != "" {
		t.Errorf("the stages differ (-want +got):\n%s", diff)
	}
}

func TestTheWritesOfMovingDataGoInOneStepByDefault(t *testing.T) {
	text := strings.NewReplacer("same-data", "moving-data", "class: reads", "class: writes").Replace(leastPlan)
	p, err := Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []rollout.Stage{{Share: 100, Bake: 24 * time.Hour, MinTasks: 1}}
	if diff := cmp.Diff(want, p.Lanes[0].Stages); diff != "" {
		t.Errorf("the stages differ (-want +got):\n%s", diff)
	}
}

func TestALimitIsConvertedToTheUnitOfItsMetric(t *testing.T) {
	for _, c := range []struct {
		unit, limit string
		want        float64
	}{
		{"us", "50ms", 50000},
		{"us", "50us", 50},
		{"s", "50ms", 0.05},
		{"ms", "1.5s", 1500},
		{"s", "2m", 120},
		{"s", "1h", 3600},
		{"bytes", "2GiB", 2 << 30},
		{"MB", "1500KB", 1.5},
		{"bytes/s", "10MB/s", 10e6},
		{"percent", "80%", 80},
		{"percent", "-0.5%", -0.5},
		{"count", "12", 12},
		{"count", "1e3", 1000},
		{"count/s", "5/s", 5},
	} {
		text := strings.Replace(leastPlan, "stat: Sum}, limit: {above: 1}", "stat: Sum, unit: "+c.unit+"}, limit: {above: "+c.limit+"}", 1)
		p, err := Parse("plan.yaml", []byte(text))
		if err != nil {
			t.Errorf("a limit of %s on a metric in %s: %v", c.limit, c.unit, err)
			continue
		}
		if got := *p.Gates[0].Limit.Above; got != c.want {
			t.Errorf("a limit of %s on a metric in %s is %v, want %v", c.limit, c.unit, got, c.want)
		}
	}
}

func TestARefusedPlanNamesItsFile(t *testing.T) {
	_, err := Parse("deploy/plans/x.yaml", nil)
	var invalid rollout.Invalid
	if !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), "reading plan deploy/plans/x.yaml:\n") {
		t.Errorf("got %v, want rollout.Invalid after the file's name", err)
	}
}

func TestAllProblemsAreToldAtOnceInTheOrderOfTheirLines(t *testing.T) {
	text := strings.NewReplacer(
		"recovery: 15m", "recovery: 15",
		"owner: team-orders", "ownr: team-orders",
		"tasks: 120", "tasks: 0",
		"share: 50%", "share: 10%",
		"above: 1.5", "above: 1.5ms",
		"night: {", "nigth: {",
	).Replace(everyField(t))
	_, err := Parse("plan.yaml", []byte(text))
	want := `reading plan plan.yaml:
line 2: ownr: "team-orders": is unknown here; did you mean owner? Allowed are rollout, owner, reason, kind, database, source, target, services, lanes, windows, soak, converge, gates, guard, on_raise, patience, grace, recovery
line 9: services[0].tasks: "0": must be a whole number from 1 to 1000000
line 18: lanes[0].stages[1].share: "10%": must be more than 10% and at most 100%
line 18: lanes[0].stages[1].contains[1]: "night": must be a window of the plan: burst, nigth
line 28: soak.contains[0]: "night": must be a window of the plan: burst, nigth
line 41: gates[1].limit.above: "1.5ms": must be a plain number such as 50: the metric has no unit; give it one by metric.unit if it has
line 51: recovery: "15": must be a duration with its unit, such as 500ms, 30s, 15m, 24h or 7d`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("the error differs (-want +got):\n%s", diff)
	}
}

func TestAFileFullOfProblemsTellsAHundredAndThatThereAreMore(t *testing.T) {
	for name, text := range map[string]string{
		"of the file": strings.Replace(leastPlan, "gates:", strings.Repeat("x: y\n", 200)+"gates:", 1),
		"of the plan": strings.Replace(leastPlan, "[{name: f, tasks: 1, pool_max: 1}]", "[{name: f, tasks: 1, pool_max: 1}, "+strings.Repeat("{name: e}, ", 200)+"]", 1),
	} {
		_, err := Parse("plan.yaml", []byte(text))
		var invalid rollout.Invalid
		if !errors.As(err, &invalid) || len(invalid) != 101 || invalid[100].Allowed != "has more problems than these" {
			t.Errorf("%s: got %d problems, the last %v", name, len(invalid), invalid[len(invalid)-1])
		}
	}
}
