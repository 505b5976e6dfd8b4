package web

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	keeper "github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func TestTheRegisterHasWhatTheJournalHasWhoeverWroteIt(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	j, err := keeper.Open(t.Context(), "sqlite::memory:", log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	desk := controller.New(controller.Options{Journal: j, Flags: &flags.Memory{}, Fleet: controller.NewFleet(time.Now), Log: log, Lead: j.Lead})
	r := newRegister(j, desk)
	states := map[string]rollout.State{}
	random := rand.New(rand.NewPCG(3, 14))
	write := func(name string) {
		e := rollout.Event{Kind: rollout.Noted, At: began, By: "ann", Why: "x"}
		before, there := states[name]
		switch {
		case name == rollout.HouseName:
			before.Name = name
		case !there:
			e.Kind, e.Plan = rollout.Planned, planOf(name)
		}
		if states[name], _, err = j.Append(t.Context(), before, e); err != nil {
			t.Fatal(err)
		}
	}
	for look, events := range []int{0, 1, 0, 5, 30, 1, registerRollouts + 20, 2, 0, registerEvents, 3, registerEvents + 1, 1, 40, 40} {
		for range events {
			name := fmt.Sprintf("r-%03d", random.IntN(2*registerRollouts))
			if random.IntN(10) == 0 {
				name = rollout.HouseName
			}
			write(name)
		}
		want, err := j.States(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.all(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(versions(want), versions(got)); diff != "" {
			t.Fatalf("look %d: in the journal (-) and in the register (+):\n%s", look, diff)
		}
	}
}

// versions are the names and versions of rollouts, in their order.
func versions(states []rollout.State) []string {
	list := make([]string, len(states))
	for i := range states {
		list[i] = fmt.Sprintf("%s %d", states[i].Name, states[i].Version)
	}
	return list
}

func TestWhileTheJournalIsAwayTheRegisterSaysSoAndThenGoesOn(t *testing.T) {
	h := newHouse(t)
	if w := h.ask(Viewer, "GET", "/api/v1/rollouts", ""); w.Code != 200 {
		t.Fatal(w.Body)
	}
	h.journal.fail(context.DeadlineExceeded)
	if p := problemOf(t, h.ask(Viewer, "GET", "/api/v1/rollouts", "")); p.Code != Away {
		t.Errorf("away: %s", p.Code)
	}
	h.journal.fail(nil)
	changed := statusOf("orders-db")
	changed.State.Phase = rollout.Held
	h.desk.status = &changed
	h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.HeldOn, At: began, By: "ann"})
	list := of[rolloutList](t, h.ask(Viewer, "GET", "/api/v1/rollouts?state=held", "").Body.Bytes())
	if len(list.Rollouts) != 1 || list.Rollouts[0].Name != "orders-db" {
		t.Errorf("back again: %+v", list.Rollouts)
	}
}
