package journal_test

import (
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func house() []promise {
	return []promise{
		{"events about all rollouts are kept like any other, and are no rollout", aboutAll},
		{"what is about all rollouts begins with any event, and never has a plan", aboutAllHasNoPlan},
	}
}

func frozen(database string) rollout.Event {
	e := event(rollout.Frozen)
	e.Freeze = &rollout.Freeze{Database: database, From: at, Until: at.Add(time.Hour), By: "ann", Why: "peak", At: at}
	return e
}

func aboutAll(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	before, err := j.State(t.Context(), rollout.HouseName)
	if err != nil {
		t.Fatal(err)
	}
	same(t, rollout.State{Name: rollout.HouseName}, before)

	orders := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	everything := add(t, j, before, frozen("db"), noted("a remark"))
	add(t, j, orders, event(rollout.Started))
	everything = add(t, j, everything, frozen("db2"))

	got, err := j.State(t.Context(), rollout.HouseName)
	if err != nil {
		t.Fatal(err)
	}
	same(t, everything, got)
	if got.Version != 3 || len(got.House.Freezes) != 2 {
		t.Errorf("version %d with %+v; want 3 with two freezes", got.Version, got.House)
	}
	events, err := j.Events(t.Context(), rollout.HouseName, 0, 0)
	if err != nil || len(events) != 3 || events[1].Why != "a remark" {
		t.Errorf("events %+v, error %v", events, err)
	}
	for list, of := range map[string]func() ([]rollout.State, error){
		"States": func() ([]rollout.State, error) { return j.States(t.Context()) },
		"Active": func() ([]rollout.State, error) { return j.Active(t.Context()) },
	} {
		if states, err := of(); err != nil || len(states) != 1 || states[0].Name != "orders" {
			t.Errorf("%s: %+v, error %v; want orders alone", list, states, err)
		}
	}
	mustHold(t, j)
}

func aboutAllHasNoPlan(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	before := rollout.State{Name: rollout.HouseName}
	for _, state := range []rollout.State{{}, before, add(t, j, before, noted("begun"))} {
		if _, _, err := j.Append(t.Context(), state, planned(plan(rollout.HouseName, "db"))); err == nil {
			t.Errorf("a plan was stored for all rollouts, after version %d", state.Version)
		}
	}
	if n := len(all(t, j)); n != 1 {
		t.Errorf("%d events; want 1", n)
	}
	mustHold(t, j)
}
