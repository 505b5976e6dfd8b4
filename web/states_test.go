package web

import (
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

var began = time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)

// planOf is a plan of two lanes and one gate. Its database has the rollout's
// name without -db.
func planOf(name string) *rollout.Plan {
	above := 50_000.0
	lane := func(of string, class rollout.Class, approvals int) rollout.LanePlan {
		return rollout.LanePlan{
			Name: of, Class: class, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: name + "-" + of},
			Stages: []rollout.Stage{{Share: 10, Bake: time.Hour, MinTasks: 1}, {Share: 100, Bake: time.Hour, MinTasks: 1, Approvals: approvals, Manual: true}},
		}
	}
	return &rollout.Plan{
		Name: name, Owner: "team-orders", Kind: rollout.SameData, OnRaise: rollout.OnRaiseHold,
		Database: rollout.Database{Name: strings.TrimSuffix(name, "-db"), Engine: "aurora-mysql"},
		Source:   rollout.Endpoint{Host: "orders.example", Port: 3306, Kind: "direct"},
		Target:   rollout.Endpoint{Host: "orders-proxy.example", Port: 3306, Kind: "rds-proxy"},
		Services: []rollout.Service{{Name: "checkout", Tasks: 20, PoolMax: 10}},
		Lanes:    []rollout.LanePlan{lane("reads", rollout.Reads, 2), lane("writes", rollout.Writes, 2)},
		Gates: []gates.Gate{{
			Name: "borrow-wait", Source: "cloudwatch", Metric: gates.Metric{Name: "Borrow", Stat: "p99", Period: time.Minute, Unit: "us"},
			Limit: gates.Limit{Above: &above, M: 2, N: 3}, Absent: gates.AbsentUnknown, OnBreach: gates.OnBreachZero, Scope: gates.ScopeDatabase,
		}},
	}
}

// waitingOn is a rollout whose reads are at 10 % and wait to be approved.
func waitingOn(name string) rollout.State {
	p := planOf(name)
	return rollout.State{
		Name: name, Version: 7, Phase: rollout.Waiting, Since: began, Plan: p, PlanVersion: 1, PlanHash: p.Hash(), Planner: "ann", Owner: "ann",
		Attempt: 1, Epoch: 1, Evidence: "e1",
		Lanes: []rollout.Lane{{Name: "reads", Intended: 10, Confirmed: 10}, {Name: "writes"}},
		Waits: []rollout.Wait{{Kind: rollout.WaitApproval, Subject: "reads", Why: "0 of 2 approvals for 100%"}},
	}
}

// statusOf is such a rollout as it was seen.
func statusOf(name string) rollout.Status {
	return rollout.Status{
		State: waitingOn(name),
		Lanes: []rollout.LaneStatus{
			{Name: "reads", Class: rollout.Reads, Intended: 10, Confirmed: 10, Published: 10, Tasks: rollout.Observation{Share: 10, Live: 20, Inventory: 20}},
			{Name: "writes", Class: rollout.Writes},
		},
		Verdicts: []gates.Verdict{{Gate: "borrow-wait", Result: gates.Pass, Value: 2000, Limit: 50_000, Unit: "us", Why: "2ms, newest 01:59"}},
		Looked:   began,
	}
}
