package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// house gives a command about all rollouts, as ann unless it says who.
func (h *house) house(cmd rollout.HouseCommand) rollout.House {
	h.t.Helper()
	if cmd.By == "" {
		cmd.By = "ann"
	}
	all, err := h.DoHouse(h.t.Context(), cmd)
	if err != nil {
		h.t.Fatalf("%s: %v", cmd.Verb, err)
	}
	return all
}

func TestHoldAllHoldsWhatRunsAndWhatBeginsLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		h.house(rollout.HouseCommand{Verb: rollout.HoldForAll, Reason: "network"})
		if s := h.state(); s.Phase != rollout.Held {
			t.Errorf("right after hold-all it is %s", s.Phase)
		}
		h.startAnother("users")
		time.Sleep(90 * time.Minute)
		if h.share(0) != 25 || h.state().Phase != rollout.Held {
			t.Errorf("an hour and a half later it is %s at %v", h.state().Phase, h.share(0))
		}
		other, err := h.journal.State(t.Context(), "users")
		if err != nil || len(other.Holds) != 1 || other.Holds[0].Kind != rollout.HoldAll {
			t.Errorf("one that began later has the holds %+v (%v)", other.Holds, err)
		}
		h.metrics.worsen()
		h.at(0, 0, 6*time.Minute) // the way down is open
	})
}

func TestReleaseAllTakesTwoPeople(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		h.house(rollout.HouseCommand{Verb: rollout.HoldForAll})
		if all := h.house(rollout.HouseCommand{Verb: rollout.ReleaseAll, By: "ann"}); all.HoldAll == nil || all.Releasing != "ann" {
			t.Errorf("after one person: %+v", all)
		}
		_, err := h.DoHouse(t.Context(), rollout.HouseCommand{Verb: rollout.ReleaseAll, By: "ann"})
		if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), "a second person") {
			t.Errorf("the same person again: %v", err)
		}
		time.Sleep(time.Hour)
		if s := h.state(); s.Phase != rollout.Held {
			t.Errorf("one person has released it: %s", s.Phase)
		}
		h.house(rollout.HouseCommand{Verb: rollout.ReleaseAll, By: "ben"})
		h.at(0, 50, time.Hour)
	})
}

func TestReleaseAllLeavesOtherHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		h.do(rollout.HoldIt)
		h.house(rollout.HouseCommand{Verb: rollout.HoldForAll})
		h.house(rollout.HouseCommand{Verb: rollout.ReleaseAll, Alone: true})
		time.Sleep(2 * time.Hour)
		if s := h.state(); s.Phase != rollout.Held || len(s.Holds) != 1 || s.Holds[0].Kind != rollout.HoldPerson {
			t.Errorf("it is %s, held by %+v", s.Phase, s.Holds)
		}
	})
}

// blocks is a way to keep one database from rising.
type blocks struct {
	on, off rollout.HouseCommand
	kind    rollout.WaitKind
}

func blocking() map[string]blocks {
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	return map[string]blocks{
		"freeze": {
			rollout.HouseCommand{Verb: rollout.Freezing, Database: "orders", Until: in(3 * time.Hour), Reason: "peak"},
			rollout.HouseCommand{Verb: rollout.Thaw, Database: "orders"},
			rollout.WaitFreeze,
		},
		"freeze of all databases": {
			rollout.HouseCommand{Verb: rollout.Freezing, Database: rollout.AllDatabases, Until: in(3 * time.Hour)},
			rollout.HouseCommand{Verb: rollout.Thaw, Database: rollout.AllDatabases},
			rollout.WaitFreeze,
		},
		"disturbance": {
			rollout.HouseCommand{Verb: rollout.Disturb, Database: "orders", What: "deploy checkout 2.4", Until: in(3 * time.Hour)},
			rollout.HouseCommand{Verb: rollout.Quiet, Database: "orders", What: "deploy checkout 2.4"},
			rollout.WaitQuiet,
		},
	}
}

func TestWhatStandsAgainstADatabaseKeepsItFromRisingOnly(t *testing.T) {
	for name := range blocking() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.begin()
				h.at(0, 25, time.Hour)
				b := blocking()[name]
				h.house(b.on)
				time.Sleep(90 * time.Minute)
				if s := h.state(); h.share(0) != 25 || s.Phase != rollout.Waiting {
					t.Errorf("it is %s at %v", s.Phase, h.share(0))
				}
				status, err := h.Status(t.Context(), "orders")
				if err != nil || len(status.Waits) != 1 || status.Waits[0].Kind != b.kind {
					t.Errorf("it waits for %+v (%v)", status.Waits, err)
				}
				h.house(b.off)
				h.at(0, 50, time.Hour)
				h.house(b.on)
				h.do(rollout.Rollback)
				h.at(0, 0, time.Minute)
			})
		})
	}
}

func TestAFreezeOfAnotherDatabaseStopsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.house(rollout.HouseCommand{Verb: rollout.Freezing, Database: "users", Until: time.Now().Add(30 * time.Hour)})
		h.at(0, 50, time.Hour)
	})
}

func TestFreezesAndDisturbancesEndByThemselves(t *testing.T) {
	for name := range blocking() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.begin()
				h.at(0, 25, time.Hour)
				b := blocking()[name]
				h.house(b.on)
				time.Sleep(time.Until(b.on.Until))
				h.at(0, 50, time.Hour)
			})
		})
	}
}

func TestAHouseCommandActsOnceAndARestartRemembersIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		freeze := rollout.HouseCommand{Verb: rollout.Freezing, Database: "orders", Until: time.Now().Add(time.Hour), Request: "r-1"}
		for range 10 {
			h.house(freeze)
		}
		h.restart()
		h.house(freeze)
		events, err := h.journal.Events(t.Context(), rollout.HouseName, 0, 100)
		if err != nil || len(events) != 1 {
			t.Errorf("%d events (%v)", len(events), err)
		}
	})
}

func TestWhatCannotBeMeantForAllIsRefusedAndOnRecord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		soon := time.Now().Add(time.Hour)
		for name, test := range map[string]struct {
			cmd  rollout.HouseCommand
			says string
		}{
			"a freeze without a database":     {rollout.HouseCommand{Verb: rollout.Freezing, Until: soon}, "database: is missing"},
			"a freeze that is over":           {rollout.HouseCommand{Verb: rollout.Freezing, Database: "a", Until: time.Now().Add(-time.Hour)}, "must be after now"},
			"a freeze that ends first":        {rollout.HouseCommand{Verb: rollout.Freezing, Database: "a", From: soon.Add(time.Hour), Until: soon}, "after the freeze begins"},
			"a freeze for ever":               {rollout.HouseCommand{Verb: rollout.Freezing, Database: "a", Until: soon.AddDate(1, 0, 0)}, "within 90 days"},
			"a disturbance of nothing":        {rollout.HouseCommand{Verb: rollout.Disturb, Database: "a", Until: soon}, "what: is missing"},
			"a disturbance for a week":        {rollout.HouseCommand{Verb: rollout.Disturb, Database: "a", What: "x", Until: soon.AddDate(0, 0, 7)}, "within 24 h"},
			"quiet where nothing disturbs":    {rollout.HouseCommand{Verb: rollout.Quiet, Database: "a"}, "is quiet already"},
			"a thaw of what is not frozen":    {rollout.HouseCommand{Verb: rollout.Thaw, Database: "a"}, "is not frozen"},
			"a release where nothing is held": {rollout.HouseCommand{Verb: rollout.ReleaseAll}, "nothing is held"},
		} {
			test.cmd.By = "ann"
			_, err := h.DoHouse(t.Context(), test.cmd)
			if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		events, err := h.journal.Events(t.Context(), rollout.HouseName, 0, 100)
		if err != nil || len(events) != 9 || events[0].Kind != rollout.Refused {
			t.Errorf("%d refusals are on record (%v)", len(events), err)
		}
	})
}

// between runs a hook once, right after the house was read.
type between struct {
	controller.Journal
	hook atomic.Pointer[func()]
}

func (j *between) State(ctx context.Context, name string) (rollout.State, error) {
	s, err := j.Journal.State(ctx, name)
	if name == rollout.HouseName {
		if hook := j.hook.Swap(nil); hook != nil {
			(*hook)()
		}
	}
	return s, err
}

func TestAHoldAllInTheMiddleOfACycleStands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := &between{}
		h := build(t, func(o *controller.Options) { j.Journal, o.Journal = o.Journal, j })
		h.begin()
		h.at(0, 5, time.Hour)
		h.do(rollout.HoldIt)
		done := make(chan struct{})
		press := func() {
			h.do(rollout.Resume)
			h.house(rollout.HouseCommand{Verb: rollout.HoldForAll, By: "ben"})
			close(done)
		}
		j.hook.Store(&press)
		h.Poke()
		<-done
		time.Sleep(2 * time.Hour)
		if h.share(0) != 5 {
			t.Errorf("everything is held, and reads are at %v", h.share(0))
		}
		if has(h.events(), rollout.Released) {
			t.Errorf("it was released while everything is held: %s", h.story())
		}
	})
}

func TestWhatIsAboutAllRolloutsIsNoRollout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.house(rollout.HouseCommand{Verb: rollout.Freezing, Database: "users", Until: time.Now().Add(time.Hour)})
		for _, verb := range rollout.Verbs() {
			if _, err := h.Do(t.Context(), rollout.HouseName, rollout.Command{Verb: verb, By: "ann", Reason: "x"}); !errors.Is(err, rollout.ErrNotFound) {
				t.Errorf("%s: %v", verb, err)
			}
		}
		if _, err := h.Status(t.Context(), rollout.HouseName); !errors.Is(err, rollout.ErrNotFound) {
			t.Errorf("its status: %v", err)
		}
	})
}
