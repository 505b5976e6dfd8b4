package controller_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// heldAt is a rollout that a person holds at a share.
func heldAt(t *testing.T, share flags.Share, change func(*rollout.Plan)) *house {
	t.Helper()
	h := build(t)
	h.beginWith(change)
	h.at(0, share, time.Hour)
	h.do(rollout.HoldIt)
	time.Sleep(time.Minute)
	return h
}

// changed is the present plan with a change.
func (h *house) changed(change func(*rollout.Plan)) *rollout.Plan {
	p := *h.state().Plan
	p.Lanes, p.Gates = slices.Clone(p.Lanes), slices.Clone(p.Gates)
	for i := range p.Lanes {
		p.Lanes[i].Stages = slices.Clone(p.Lanes[i].Stages)
	}
	change(&p)
	return &p
}

func longerBakes(p *rollout.Plan) {
	for i := range p.Lanes[0].Stages {
		p.Lanes[0].Stages[i].Bake = 30 * time.Minute
	}
}

func longerWaiting(p *rollout.Plan) {
	limit := 1000.0
	p.Gates[0].Limit.Above = &limit
}

func holdsOnWaiting(p *rollout.Plan) { p.Gates[0].OnBreach = gates.OnBreachHold }

func TestAPlanIsTightenedWhileItIsHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := heldAt(t, 5, func(*rollout.Plan) {})
		before := h.state()
		after, err := h.Amend(t.Context(), h.changed(longerBakes), rollout.Command{By: "ann", Surface: "cli", Reason: "a new service"})
		if err != nil {
			t.Fatal(err)
		}
		if after.PlanVersion != before.PlanVersion+1 || after.Phase != rollout.Held || h.share(0) != 5 {
			t.Errorf("version %d in %s at %v", after.PlanVersion, after.Phase, h.share(0))
		}
		h.do(rollout.Resume)
		time.Sleep(20 * time.Minute)
		if h.share(0) != 5 {
			t.Errorf("20 minutes into a bake of 30 it is at %v", h.share(0))
		}
		h.at(0, 25, 15*time.Minute)
	})
}

func TestALoosenedPlanTakesTwoPeople(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := heldAt(t, 5, func(*rollout.Plan) {})
		loose := h.changed(longerWaiting)
		if _, err := h.Amend(t.Context(), loose, rollout.Command{By: "ann"}); !errors.As(err, new(rollout.Refusal)) {
			t.Errorf("without a reason: %v", err)
		}
		proposed, err := h.Amend(t.Context(), loose, rollout.Command{By: "ann", Reason: "it is too strict"})
		if err != nil || proposed.Proposal == nil || proposed.PlanVersion != 1 {
			t.Fatalf("%v, %+v", err, proposed.Proposal)
		}
		h.refusesTo(rollout.Command{Verb: rollout.Approve, By: "ann"}, "a second person must approve")
		if _, err := h.Do(t.Context(), "orders", rollout.Command{Verb: rollout.Approve, By: "ben", Expect: h.state().Version}); err != nil {
			t.Fatal(err)
		}
		if s := h.state(); s.PlanVersion != 2 || *s.Plan.Gates[0].Limit.Above != 1000 || s.Phase != rollout.Held {
			t.Errorf("version %d with a limit of %v in %s", s.PlanVersion, *s.Plan.Gates[0].Limit.Above, s.Phase)
		}
	})
}

// refusesTo holds that a command is refused, and why.
func (h *house) refusesTo(cmd rollout.Command, why string) {
	h.t.Helper()
	cmd.Expect = h.state().Version
	_, err := h.Do(h.t.Context(), "orders", cmd)
	if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), why) {
		h.t.Errorf("%s: %v; want a refusal: %s", cmd.Verb, err, why)
	}
}

func TestAGateInBreachIsLoosenedNeitherByAskingNorByApproving(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := heldAt(t, 5, holdsOnWaiting)
		loose := h.changed(longerWaiting)
		ask := rollout.Command{By: "ann", Reason: "it is too strict"}
		if _, err := h.Amend(t.Context(), loose, ask); err != nil {
			t.Fatal(err)
		}
		h.metrics.tell(412)
		time.Sleep(10 * time.Minute)
		h.refusesTo(rollout.Command{Verb: rollout.Approve, By: "ben"}, "gate borrow-wait is in breach")
		if _, err := h.Do(t.Context(), "orders", rollout.Command{Verb: rollout.Reject, By: "ben", Reason: "not now", Expect: h.state().Version}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Amend(t.Context(), loose, ask); err == nil || !strings.Contains(err.Error(), "gate borrow-wait is in breach") {
			t.Errorf("while it is in breach: %v", err)
		}
		h.metrics.tell(1)
		time.Sleep(10 * time.Minute)
		if _, err := h.Amend(t.Context(), loose, ask); err != nil {
			t.Errorf("once it has recovered: %v", err)
		}
	})
}

func TestNothingIsLoosenedThatNobodyHasLookedAt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := heldAt(t, 5, func(*rollout.Plan) {})
		blind := controller.New(h.options) // a process that has just begun
		ask := rollout.Command{By: "ann", Reason: "it is too strict"}
		if _, err := blind.Amend(t.Context(), h.changed(longerWaiting), ask); err == nil || !strings.Contains(err.Error(), "nobody has looked at the gates just now") {
			t.Errorf("got %v", err)
		}
		if _, err := blind.Amend(t.Context(), h.changed(longerBakes), ask); err != nil {
			t.Errorf("what only tightens: %v", err)
		}
	})
}

func TestAnAmendmentIsAskedForOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := heldAt(t, 5, func(*rollout.Plan) {})
		long, loose := h.changed(longerBakes), h.changed(longerWaiting)
		refused := rollout.Command{By: "ann", Request: "r-1"}
		proposed := rollout.Command{By: "ann", Request: "r-2", Reason: "it is too strict"}
		amended := rollout.Command{By: "ann", Request: "r-3"}
		want := []rollout.Kind{rollout.Refused, rollout.Proposed, rollout.Amended}
		for again := range 20 {
			if _, err := h.Amend(t.Context(), loose, refused); !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), "needs a reason") {
				t.Fatalf("refused, and asked for %d times more: %v", again, err)
			}
			if s, err := h.Amend(t.Context(), loose, proposed); err != nil || s.Name != "orders" {
				t.Fatalf("proposed, and asked for %d times more: %v", again, err)
			}
			if s, err := h.Amend(t.Context(), long, amended); err != nil || s.PlanVersion != 2 {
				t.Fatalf("amended, and asked for %d times more: version %d, %v", again, s.PlanVersion, err)
			}
			if again == 10 {
				h.restart()
				time.Sleep(30 * time.Second)
			}
		}
		var got []rollout.Kind
		for _, e := range h.events() {
			if e.Request != "" {
				got = append(got, e.Kind)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what came of it (-want +got):\n%s", diff)
		}
		if _, err := h.Amend(t.Context(), loose, rollout.Command{By: "ben", Request: "r-3", Reason: "mine"}); !errors.As(err, new(rollout.Reused)) {
			t.Errorf("another person with the same id: %v", err)
		}
	})
}

func TestAnAmendmentThatCannotBeIsOnRecord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 5, time.Hour)
		p := h.changed(longerBakes)
		if _, err := h.Amend(t.Context(), p, rollout.Command{By: "ann"}); !errors.As(err, new(rollout.Refusal)) {
			t.Errorf("while it advances: %v", err)
		}
		if _, err := h.Amend(t.Context(), p, rollout.Command{By: "ann", Expect: 2}); !errors.Is(err, rollout.ErrConflict) {
			t.Errorf("of an old revision: %v", err)
		}
		n := 0
		for _, e := range h.events() {
			if e.Kind == rollout.Refused && e.Command.Verb == rollout.Amending && e.By == "ann" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d refusals are on record, want 2", n)
		}
		p.Lanes[0].Stages = nil
		if _, err := h.Amend(t.Context(), p, rollout.Command{By: "ann"}); !errors.As(err, new(rollout.Invalid)) {
			t.Errorf("without stages: %v", err)
		}
		other := *plan()
		other.Name = "nobody"
		if _, err := h.Amend(t.Context(), &other, rollout.Command{By: "ann"}); !errors.Is(err, rollout.ErrNotFound) {
			t.Errorf("of nobody: %v", err)
		}
	})
}

func TestWithoutTheJournalNothingIsAmended(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stopped := &awayJournal{}
		h := build(t, func(o *controller.Options) { stopped.Journal, o.Journal = o.Journal, stopped })
		h.begin()
		h.at(0, 5, time.Hour)
		p := h.changed(longerBakes)
		stopped.away.Store(true)
		if _, err := h.Amend(t.Context(), p, rollout.Command{By: "ann"}); !errors.Is(err, rollout.ErrAway) {
			t.Errorf("got %v", err)
		}
		stopped.away.Store(false)
	})
}
