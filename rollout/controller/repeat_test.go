package controller_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestARequestIdIsForOneCommand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 5, time.Hour)
		held := rollout.Command{Verb: rollout.HoldIt, By: "ann", Request: "r-1"}
		if _, err := h.Do(t.Context(), "orders", held); err != nil {
			t.Fatal(err)
		}
		for name, cmd := range map[string]rollout.Command{
			"another verb":   {Verb: rollout.Rollback, By: "ann", Request: "r-1"},
			"another person": {Verb: rollout.HoldIt, By: "ben", Request: "r-1"},
		} {
			if _, err := h.Do(t.Context(), "orders", cmd); !errors.As(err, new(rollout.Reused)) {
				t.Errorf("%s with the same id: %v", name, err)
			}
		}
		if h.share(0) != 5 {
			t.Errorf("a rollback with a used id was obeyed: %v", h.share(0))
		}
	})
}

func TestARepeatedRequestIsAnsweredAsItWasTheFirstTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		other := plan()
		store := rollout.Command{By: "ann", Request: "p-1"}
		late := rollout.Command{By: "ann", Request: "p-2"}
		if _, err := h.Plan(t.Context(), other, store); err != nil {
			t.Fatal(err)
		}
		h.begin()
		h.at(0, 5, time.Hour)
		stale := rollout.Command{Verb: rollout.HoldIt, By: "ann", Request: "r-1", Expect: 2}
		early := rollout.Command{Verb: rollout.Complete, By: "ann", Request: "r-2"}
		for range 3 {
			if _, err := h.Plan(t.Context(), other, store); err != nil {
				t.Errorf("a plan that was stored, before it began: %v", err)
			}
			if _, err := h.Plan(t.Context(), other, late); !errors.As(err, new(rollout.Refusal)) {
				t.Errorf("a plan that comes too late: %v", err)
			}
			if _, err := h.Do(t.Context(), "orders", stale); !errors.Is(err, rollout.ErrConflict) {
				t.Errorf("a revision that is gone: %v", err)
			}
			if _, err := h.Do(t.Context(), "orders", early); !errors.As(err, new(rollout.Refusal)) {
				t.Errorf("a command that was refused: %v", err)
			}
			h.restart()
		}
		changed := plan()
		changed.Patience += time.Minute
		if _, err := h.Plan(t.Context(), changed, store); !errors.As(err, new(rollout.Reused)) {
			t.Errorf("another plan with the same id: %v", err)
		}
		count := map[string]int{}
		for _, e := range h.events() {
			count[e.Request]++
		}
		for _, id := range []string{"p-1", "p-2", "r-1", "r-2"} {
			if count[id] != 1 {
				t.Errorf("request %s is in %d events", id, count[id])
			}
		}
	})
}
