package rollout_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// soundPlan is valid, and has one of everything that can be wrong.
func soundPlan() *rollout.Plan {
	stages := func() []rollout.Stage {
		return []rollout.Stage{
			{Share: 10, Bake: 3 * time.Minute, MinTasks: 1, Contains: []string{"burst"}},
			{Share: 100, Bake: time.Hour, MinTasks: 1, Approvals: 2},
		}
	}
	limit := 50.0
	return &rollout.Plan{
		Name: "orders-db", Owner: "team-orders", Kind: rollout.SameData,
		Database: rollout.Database{Name: "orders", Engine: "aurora-mysql"},
		Source:   rollout.Endpoint{Host: "2001:db8::1", Port: 3306, Kind: "direct"},
		Target:   rollout.Endpoint{Host: "proxy.example", Port: 3306, Kind: "proxysql"},
		Services: []rollout.Service{{Name: "checkout", Tasks: 120, PoolMax: 38}, {Name: "cart", Tasks: 3, PoolMax: 8}},
		Lanes: []rollout.LanePlan{
			{Name: "reads", Class: rollout.Reads, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: "r"}, Stages: stages()},
			{Name: "writes", Class: rollout.Writes, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: "w"}, Stages: stages()},
		},
		Windows: map[string]rollout.Window{
			"burst": {FromMinute: 58, ToMinute: 2},
			"night": {Daily: true, From: 22 * time.Hour, To: 5 * time.Hour, Zone: "Asia/Tokyo"},
		},
		Gates: []gates.Gate{{
			Name: "wait", Source: "tasks", Metric: gates.Metric{Name: "worst_wait_ms", Period: 10 * time.Second},
			Limit: gates.Limit{Above: &limit, M: 2, N: 3}, Absent: gates.AbsentUnknown, OnBreach: gates.OnBreachZero, Scope: gates.ScopeDatabase,
		}},
		Guard: rollout.Guard{Every: 10 * time.Second}, OnRaise: rollout.OnRaiseHold,
		Converge: rollout.Converge{Within: 5 * time.Minute, MinReporting: 90, Interval: 10 * time.Second},
		Patience: 30 * time.Minute, Grace: 2 * time.Minute, Recovery: 10 * time.Minute,
	}
}

func fieldsOf(err error) []string {
	var invalid rollout.Invalid
	errors.As(err, &invalid)
	var fields []string
	for _, p := range invalid {
		fields = append(fields, p.Field)
	}
	return fields
}

func TestAPlanMay(t *testing.T) {
	for name, change := range map[string]func(*rollout.Plan){
		"be as it is": func(*rollout.Plan) {},
		"have names as long as can be": func(p *rollout.Plan) {
			p.Name, p.Database.Region = strings.Repeat("n", 63), strings.Repeat("r", 63)
			p.Target.Host = strings.Repeat("h", 253) + "."
			p.Lanes[0].Flag = flags.Key{Namespace: strings.Repeat("n", 100), Name: strings.Repeat("k", 100)}
		},
		"have no windows": func(p *rollout.Plan) {
			p.Windows = nil
			p.Lanes[0].Stages[0].Contains = nil
			p.Lanes[1].Stages[0].Contains = nil
		},
		"leave out the soak":               func(p *rollout.Plan) { p.Soak = rollout.Soak{} },
		"give a reason of several lines":   func(p *rollout.Plan) { p.Reason = "first\n  second" },
		"be owned by a team of any script": func(p *rollout.Plan) { p.Owner = "受注チーム　東京" },
		"move a service that only writes":  func(p *rollout.Plan) { p.Lanes = p.Lanes[1:] },
		"move writes of another service":   func(p *rollout.Plan) { p.Lanes[0].Services = []string{"cart"} },
		"move in waves":                    func(p *rollout.Plan) { p.Lanes[1].Class, p.Lanes[1].Services = rollout.Reads, []string{"cart"} },
		"go from one port to another":      func(p *rollout.Plan) { p.Target = p.Source; p.Target.Port++ },
		"guard ten times a second":         func(p *rollout.Plan) { p.Guard.Every = 100 * time.Millisecond },
		"have a window of a whole day": func(p *rollout.Plan) {
			p.Windows["night"] = rollout.Window{Daily: true, To: 24 * time.Hour, Zone: "UTC"}
		},
		"judge errors beside something else": func(p *rollout.Plan) {
			p.Gates = append(p.Gates, p.Gates[0])
			p.Gates[1].Name, p.Gates[1].Metric.Name = "errors", "read_only_errors"
		},
		"move the writes of moving data in one step": func(p *rollout.Plan) {
			p.Kind, p.Lanes[1].Stages = rollout.MovingData, p.Lanes[1].Stages[1:]
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := soundPlan()
			change(plan)
			if err := plan.Validate(); err != nil {
				t.Errorf("refused:\n%v", err)
			}
		})
	}
}

// What a plan file can say wrongly is told in planfile's tests; here is what
// only a plan made elsewhere can.
func TestAPlanMayNot(t *testing.T) {
	nan, infinite := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		change func(*rollout.Plan)
		fields []string
	}{
		"have a name that is too long":     {func(p *rollout.Plan) { p.Name = strings.Repeat("n", 64) }, []string{"rollout"}},
		"have a region that is too long":   {func(p *rollout.Plan) { p.Database.Region = strings.Repeat("r", 64) }, []string{"database.region"}},
		"have a host that is too long":     {func(p *rollout.Plan) { p.Target.Host = strings.Repeat("h", 254) }, []string{"target.host"}},
		"have a flag key that is too long": {func(p *rollout.Plan) { p.Lanes[0].Flag.Name = strings.Repeat("k", 101) }, []string{"lanes[0].flag.key"}},
		"compare with what is no number":   {func(p *rollout.Plan) { p.Gates[0].Limit.Above = &nan }, []string{"gates[0].limit.above"}},
		"compare with infinity":            {func(p *rollout.Plan) { p.Gates[0].Limit.Below = &infinite }, []string{"gates[0].limit.below", "gates[0].limit.below"}},
		"have a band of one value":         {func(p *rollout.Plan) { p.Gates[0].Limit.Below = p.Gates[0].Limit.Above }, []string{"gates[0].limit.below"}},
		"leave the buckets open":           {func(p *rollout.Plan) { p.Gates[0].Limit.M, p.Gates[0].Limit.N = 0, 0 }, []string{"gates[0].limit.for"}},
		"have a period of a broken second": {func(p *rollout.Plan) { cloudwatch(p).Metric.Period = 1500 * time.Millisecond }, []string{"gates[0].metric.period"}},
		"leave out the region of its database": {
			func(p *rollout.Plan) { p.Database.Region = "eu-west-1"; cloudwatch(p) },
			[]string{"gates[0].metric.region"},
		},
		"have a name of several words": {
			func(p *rollout.Plan) {
				p.Name, p.Database.Name, p.Database.Engine, p.Services[1].Name = "a b", "a b", "a b", "a b"
				p.Lanes[1].Name, p.Gates[0].Name, p.Windows["a b"] = "a b", "a b", rollout.Window{}
			},
			[]string{"rollout", "database.name", "database.engine", "services[1].name", "lanes[1].name", "windows.a b", "gates[0].name"},
		},
		"have odd texts in a metric": {
			func(p *rollout.Plan) { p.Gates[0].Metric.Name, p.Gates[0].Metric.Unit = "open ", "\t" },
			[]string{"gates[0].metric.name", "gates[0].metric.unit"},
		},
		"have odd texts in a namespace": {func(p *rollout.Plan) { cloudwatch(p).Metric.Namespace = "\x00" }, []string{"gates[0].metric.namespace"}},
		"look for a metric nowhere": {
			func(p *rollout.Plan) { cloudwatch(p).Metric.Account, p.Gates[0].Metric.Region = "1", "Ireland" },
			[]string{"gates[0].metric.account", "gates[0].metric.region"},
		},
		"be nowhere":                    {func(p *rollout.Plan) { p.Database.Region = "Ireland" }, []string{"database.region"}},
		"have less than no connections": {func(p *rollout.Plan) { p.Database.MaxConnections = -1 }, []string{"database.max_connections"}},
		"wait for years": {
			func(p *rollout.Plan) {
				p.Services[0].SocketTimeout, p.Services[0].PoolLifetime = -1, 9000*time.Hour
				p.Converge.Within, p.Converge.Interval = 9000*time.Hour, 9000*time.Hour
				p.Patience, p.Grace, p.Recovery = 9000*time.Hour, 9000*time.Hour, 9000*time.Hour
			},
			[]string{"services[0].socket_timeout", "services[0].pool_lifetime", "converge.within", "converge.interval", "patience", "grace", "recovery"},
		},
		"have a lane of no services":    {func(p *rollout.Plan) { p.Lanes[1].Services = nil }, []string{"lanes[1].services"}},
		"bake for less than no time":    {func(p *rollout.Plan) { p.Lanes[0].Stages[0].Bake = -1 }, []string{"lanes[0].stages[0].bake"}},
		"soak for less than no time":    {func(p *rollout.Plan) { p.Soak.For = -1 }, []string{"soak.for"}},
		"bake for years":                {func(p *rollout.Plan) { p.Lanes[0].Stages[0].Bake = 9000 * time.Hour }, []string{"lanes[0].stages[0].bake"}},
		"have an unordered ladder":      {func(p *rollout.Plan) { p.Lanes[0].Stages[0].Share = 100; p.Lanes[0].Stages[1].Share = 10 }, []string{"lanes[0].stages[1].share", "lanes[0].stages[1].share"}},
		"have a negative share":         {func(p *rollout.Plan) { p.Lanes[0].Stages[0].Share = -1 }, []string{"lanes[0].stages[0].share"}},
		"have a lane of no stages":      {func(p *rollout.Plan) { p.Lanes[1].Stages = nil }, []string{"lanes[1].stages"}},
		"have a flag of no namespace":   {func(p *rollout.Plan) { p.Lanes[1].Flag.Namespace = "" }, []string{"lanes[1].flag.namespace"}},
		"have a window beyond the hour": {func(p *rollout.Plan) { p.Windows["burst"] = rollout.Window{FromMinute: 60, ToMinute: -1} }, []string{"windows.burst.minute"}},
		"have a window of seconds":      {func(p *rollout.Plan) { p.Windows["night"] = rollout.Window{Daily: true, To: time.Second, Zone: "UTC"} }, []string{"windows.night.time"}},
		"have an eighth day": {
			func(p *rollout.Plan) { p.Windows["burst"] = rollout.Window{Weekdays: []time.Weekday{7}} },
			[]string{"windows.burst.weekdays[0]"},
		},
		"climb out of the zone database": {func(p *rollout.Plan) {
			p.Windows["night"] = rollout.Window{Daily: true, To: time.Hour, Zone: "../../etc/passwd"}
		}, []string{"windows.night.zone"}},
		"hide text behind other text":           {func(p *rollout.Plan) { p.Owner = "team\u202eevil" }, []string{"owner"}},
		"break the lines of its owner":          {func(p *rollout.Plan) { p.Owner = "team\nadmin" }, []string{"owner"}},
		"have a setting that is no UTF-8":       {func(p *rollout.Plan) { p.Target.Settings = map[string]string{"a": "\xff"} }, []string{"target.settings.a"}},
		"have a setting of a blank name":        {func(p *rollout.Plan) { p.Target.Settings = map[string]string{" ": "a"} }, []string{"target.settings. "}},
		"have a setting of no name":             {func(p *rollout.Plan) { p.Target.Settings = map[string]string{"": "a"} }, []string{"target.settings."}},
		"come from a source that is not known":  {func(p *rollout.Plan) { p.Gates[0].Source = "probe" }, []string{"gates[0].source"}},
		"have a lane of no class":               {func(p *rollout.Plan) { p.Lanes[1].Class = "" }, []string{"lanes[1].class"}},
		"have one error gate, whatever it does": {func(p *rollout.Plan) { p.Gates[0].Metric.Name = "HTTPCode_ELB_5XX" }, []string{"gates"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := soundPlan()
			c.change(plan)
			err := plan.Validate()
			if diff := cmp.Diff(c.fields, fieldsOf(err)); diff != "" {
				t.Errorf("the fields refused differ (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// cloudwatch makes the plan's gate one of CloudWatch.
func cloudwatch(p *rollout.Plan) *gates.Gate {
	p.Gates[0].Source = "cloudwatch"
	p.Gates[0].Metric = gates.Metric{Namespace: "AWS/RDS", Name: "CPUUtilization", Stat: "Average", Period: time.Minute}
	return &p.Gates[0]
}

func TestAnEmptyPlanLacksEverythingThatHasNoDefault(t *testing.T) {
	err := (&rollout.Plan{}).Validate()
	for _, field := range []string{
		"rollout", "owner", "kind", "database.name", "database.engine", "source.host", "source.port", "source.kind",
		"target.host", "services", "lanes", "gates", "guard.every", "on_raise", "converge.within", "patience", "grace", "recovery",
	} {
		if !strings.Contains("\n"+err.Error(), "\n"+field+": ") {
			t.Errorf("nothing is said of %s in\n%v", field, err)
		}
	}
}

func TestEachKindOfErrorMetricIsKnown(t *testing.T) {
	for name, counts := range map[string]bool{
		"read_only_errors": true, "HTTPCode_Target_5XX_Count": true, "DatabaseConnectionsSetupFailed": true, "AbortedClients": true, "indeterminate": true,
		"worst_wait_ms": false, "DatabaseConnectionsBorrowLatency": false, "open": false,
	} {
		plan := soundPlan()
		plan.Gates[0].Metric.Name = name
		if refused := plan.Validate() != nil; refused != counts {
			t.Errorf("%s as the only metric: refused is %v, want %v", name, refused, counts)
		}
	}
}

func TestAListOfMistakesEndsSomewhere(t *testing.T) {
	plan := soundPlan()
	plan.Services = make([]rollout.Service, 1000)
	fields := fieldsOf(plan.Validate())
	if len(fields) != 101 || fields[100] != "plan" {
		t.Errorf("got %d problems, the last of %s; want 100 and one that says that there are more", len(fields), fields[len(fields)-1])
	}
}
