package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

var update = flag.Bool("update", false, "write testdata/page anew; read the diff then")

var noon = time.Date(2026, 11, 30, 3, 16, 30, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

func limit(above float64) gates.Limit { return gates.Limit{Above: &above, M: 2, N: 3} }

// orders is a plan with two lanes and three gates.
func orders() *rollout.Plan {
	stages := func(shares ...flags.Share) []rollout.Stage {
		var list []rollout.Stage
		for _, share := range shares {
			list = append(list, rollout.Stage{Share: share, Bake: 15 * time.Minute, MinTasks: 1})
		}
		return list
	}
	p := &rollout.Plan{
		Name: "orders-db", Owner: "team-orders", Kind: rollout.SameData, Database: rollout.Database{Name: "orders"},
		Source: rollout.Endpoint{Host: "orders.cluster-x.example", Port: 3306, Kind: "direct"},
		Target: rollout.Endpoint{Host: "orders-proxy.example", Port: 3306, Kind: "rds-proxy"},
		Lanes: []rollout.LanePlan{
			{Name: "reads", Class: rollout.Reads, Flag: flags.Key{Namespace: "default", Name: "orders-db-reads"}, Stages: stages(1, 10, 25, 50, 75, 100)},
			{Name: "writes", Class: rollout.Writes, Flag: flags.Key{Namespace: "default", Name: "orders-db-writes"}, Stages: stages(1, 50, 100)},
		},
		Gates: []gates.Gate{
			{Name: "borrow-wait", Metric: gates.Metric{Unit: "ms"}, Limit: limit(50), OnBreach: gates.OnBreachZero},
			{Name: "connections", Metric: gates.Metric{Unit: "count"}, Limit: limit(12000), OnBreach: gates.OnBreachPrevious},
			{Name: "deadlocks", Metric: gates.Metric{Unit: "count"}, Limit: limit(5), OnBreach: gates.OnBreachHold},
		},
	}
	p.Lanes[0].Stages[3].Approvals, p.Lanes[0].Stages[3].Contains = 1, []string{"hourly-burst"}
	p.Lanes[0].Stages[5].Manual = true
	return p
}

// at returns a status of orders in a phase, with the reads at a share.
func at(phase rollout.Phase, reads flags.Share) *rollout.Status {
	task := rollout.Observation{Share: reads, Live: 412, Inventory: 412, On: int(reads) * 412 / 100, Cohort: int(reads) * 412 / 100, Converged: true}
	return &rollout.Status{
		State: rollout.State{
			Name: "orders-db", Version: 48, Phase: phase, Since: ago(8*time.Minute + 48*time.Second),
			Plan: orders(), PlanVersion: 1, PlanHash: "9c41f06b77abcdef", Planner: "ann", Attempt: 1,
			Lanes: []rollout.Lane{{Name: "reads", Intended: reads, Confirmed: reads}, {Name: "writes"}},
		},
		Lanes: []rollout.LaneStatus{
			{Name: "reads", Class: rollout.Reads, Intended: reads, Confirmed: reads, Published: reads, Tasks: task},
			{Name: "writes", Class: rollout.Writes, Tasks: rollout.Observation{Live: 412, Inventory: 412, Converged: true}},
		},
		Verdicts: []gates.Verdict{
			{Gate: "borrow-wait", Result: gates.Pass, Value: 12.3, Limit: 50, Unit: "ms", Newest: ago(2 * time.Minute), Age: 44 * time.Second, Why: "12.3 ms ≤ 50 ms"},
			{Gate: "connections", Result: gates.Marginal, Value: 11800, Limit: 12000, Unit: "count", Newest: ago(2 * time.Minute), Age: 44 * time.Second, Why: "11800 ≤ 12000, nearly at the limit"},
			{Gate: "deadlocks", Result: gates.Inconclusive, Cause: gates.NoData, Limit: 5, Unit: "count", Why: "no point since 03:08"},
		},
		Bake: 8*time.Minute + 48*time.Second, Looked: ago(2 * time.Second), Next: noon.Add(8 * time.Second),
	}
}

// points are what the gates of baking were read as.
func points(name string) []rollout.Reading {
	if name != "baking" {
		return nil
	}
	readings := make([]rollout.Reading, 3)
	for i, g := range orders().Gates {
		readings[i] = rollout.Reading{Gate: g}
		for m := 30; m > 0 && i < 2; m-- {
			value := []float64{12 + float64(m%7), 6000 + 200*float64(30-m)}[i]
			readings[i].Points = append(readings[i].Points, gates.Point{Start: ago(time.Duration(m) * time.Minute), Value: value})
		}
	}
	return readings
}

// pages are statuses that an operator meets.
func pages() map[string]*rollout.Status {
	draft := at(rollout.Draft, 0)
	draft.Lanes, draft.Verdicts, draft.Looked = nil, nil, time.Time{}
	draft.State.Report = &rollout.Report{Checks: []rollout.Check{
		{Name: "flags", Result: rollout.CheckPass, Why: "both exist at 0%"},
		{Name: "tasks", Result: rollout.CheckFail, Why: "12 of 412 tasks report"},
		{Name: "gates", Result: rollout.CheckWarn, Why: "a breach is seen after 3m at the earliest"},
	}}

	waiting := at(rollout.Waiting, 25)
	waiting.Waits = []rollout.Wait{
		{Kind: rollout.WaitApproval, Subject: "reads", Why: "0 of 1 approvals for 50%"},
		{Kind: rollout.WaitGate, Subject: "deadlocks", Why: "no point since 03:08"},
	}
	waiting.Verdicts[2].Newest, waiting.Verdicts[2].Age = ago(7*time.Minute), 7*time.Minute

	held := at(rollout.Held, 25)
	held.State.Holds = []rollout.Hold{
		{Kind: rollout.HoldPerson, Owner: "ann", Why: "backup\x1b[2J running", At: ago(19 * time.Minute)},
		{Kind: rollout.HoldNotConverged, Owner: rollout.Controller, Why: "7 tasks lag", At: ago(26 * time.Hour)},
	}
	held.Lanes[0].Tasks.Converged, held.Lanes[0].Tasks.Why = false, "7 of 103 tasks do not use the target yet"
	held.Lanes[0].Tasks.Lagging = []string{"t-1", "t-2", "t-3", "t-4", "t-5", "t-6", "t-7"}
	held.Lanes[0].Tasks.On -= 7
	held.Lanes[1].Unread = "flag default/orders-db-writes: timeout"

	down := at(rollout.RollingBack, 50)
	down.State.Why = "gate borrow-wait: 412 ms > 50 ms in 2 of 3"
	down.State.Lanes[0].Intended = 0
	down.Lanes[0].Intended, down.Lanes[0].Published = 0, 0
	down.Verdicts[0] = gates.Verdict{Gate: "borrow-wait", Result: gates.Fail, Breach: true, Value: 412, Limit: 50, Unit: "ms", Newest: ago(2 * time.Minute), Age: 44 * time.Second, Why: "412 ms > 50 ms in 2 of 3"}
	down.Away = "dial tcp: connection refused"

	late := at(rollout.Baking, 25)
	late.Looked, late.Next = ago(5*time.Minute), ago(4*time.Minute)

	soaked := at(rollout.Soaking, 100)
	soaked.State.Soaked = true
	soaked.State.Lanes[0].Baked, soaked.State.Lanes[1].Baked = true, true
	soaked.State.Lanes[1].Intended = 100
	soaked.State.Plan.Soak.For = 7 * 24 * time.Hour
	soaked.Lanes[1] = soaked.Lanes[0]
	soaked.Lanes[1].Name = "writes"

	agreeing := at(rollout.Held, 25)
	agreeing.State.Owner, agreeing.State.Offer = "ann", &rollout.Offer{To: "bob", By: "ann", At: ago(time.Minute)}
	agreeing.State.Proposal = &rollout.Proposal{By: "ann", At: ago(2 * time.Minute), Why: "the limit is measured now", Loosens: []string{"gate borrow-wait: limit 50 ms → 60 ms"}}
	agreeing.State.Tainted, agreeing.State.TaintedSince = true, ago(30*time.Hour)
	agreeing.State.Holds = []rollout.Hold{{Kind: rollout.HoldAll, Owner: "cid", Why: "network", At: ago(time.Minute)}}

	return map[string]*rollout.Status{
		"agreeing": agreeing, "draft-failed": draft, "baking": at(rollout.Baking, 25), "waiting": waiting, "held": held,
		"rolling-back": down, "rolled-back": at(rollout.RolledBack, 0), "stuck": at(rollout.Stuck, 10),
		"late": late, "soaked": soaked, "ready": at(rollout.Ready, 0), "completed": at(rollout.Completed, 100),
	}
}

func TestAPageTellsWhatIsWhyAndWhatToDo(t *testing.T) {
	for name, status := range pages() {
		for _, ascii := range []bool{false, true} {
			file := filepath.Join("testdata", "page", name+".txt")
			s := screen{signs: unicodeSigns()}
			if ascii {
				s, file = screen{signs: asciiSigns(), ascii: true}, filepath.Join("testdata", "page", name+".ascii.txt")
			}
			p := &page{signs: s.signs, Status: status, while: sparkWhile, wide: name == "agreeing", readings: points(name), now: noon, zone: time.UTC}
			if ascii && name != "held" {
				continue // one is enough to look at
			}
			var got bytes.Buffer
			s.print(&got, slices.Concat(p.whole(), []string{"-- brief --"}, p.brief(), []string{"-- small --"}, p.small()))
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s:\n%s", file, diff)
			}
			for line := range bytes.Lines(got.Bytes()) {
				if ascii && !isASCII(line) {
					t.Errorf("%s: not ASCII: %s", file, line)
				}
				if bytes.ContainsRune(line, '\x1b') {
					t.Errorf("%s: acts on the terminal: %q", file, line)
				}
			}
		}
	}
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b > '~' {
			return false
		}
	}
	return true
}
