package controller_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

func TestAHealthyRolloutGoesAllTheWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.until(rollout.Soaking, 2*time.Hour)
		if got := h.story(); got != ladder {
			t.Errorf("story is %s", got)
		}
		if h.share(0) != flags.All || h.share(1) != flags.All {
			t.Errorf("shares are %v, %v", h.share(0), h.share(1))
		}
		status, err := h.Status(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		for _, lane := range status.Lanes {
			if lane.Tasks.On != fleetSize || lane.Published != flags.All {
				t.Errorf("lane %s: %+v", lane.Name, lane)
			}
		}
	})
}

func TestABreachThatIsReadableIsAtZeroWithinAGuardCycle(t *testing.T) {
	breaches := map[string]func(*house){
		"a metric": func(h *house) { h.metrics.tell(412) },
		"what tasks report": func(h *house) {
			h.mu.Lock()
			h.failing = 1
			h.mu.Unlock()
		},
	}
	for name, breach := range breaches {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.begin()
				h.at(0, 50, time.Hour)
				time.Sleep(time.Minute)
				breach(h)
				h.at(0, 0, 3*time.Minute) // until a bucket with it is readable
				if bad := h.metrics.bad; !bad.IsZero() && time.Since(bad) > 11*time.Second {
					t.Errorf("at 0 %v after it was readable", time.Since(bad))
				}
				h.metrics.tell(1)
				h.until(rollout.RolledBack, 10*time.Minute)
				time.Sleep(time.Hour)
				if s := h.state(); s.Phase != rollout.RolledBack || h.share(0) != 0 {
					t.Errorf("an hour later: %s, %v", s.Phase, h.share(0))
				}
			})
		})
	}
}

// awayJournal is a journal whose database can be stopped.
type awayJournal struct {
	controller.Journal
	away atomic.Bool
}

var errAway = errors.New("connection refused")

func (j *awayJournal) State(ctx context.Context, name string) (rollout.State, error) {
	if j.away.Load() {
		return rollout.State{}, errAway
	}
	return j.Journal.State(ctx, name)
}

func (j *awayJournal) Active(ctx context.Context) ([]rollout.State, error) {
	if j.away.Load() {
		return nil, errAway
	}
	return j.Journal.Active(ctx)
}

func (j *awayJournal) Append(ctx context.Context, s rollout.State, e rollout.Event) (rollout.State, rollout.Event, error) {
	if j.away.Load() {
		return s, rollout.Event{}, errAway
	}
	return j.Journal.Append(ctx, s, e)
}

func TestTheWayDownNeedsNoJournal(t *testing.T) {
	turns := map[string]func(*testing.T, *house){
		"a breach": func(_ *testing.T, h *house) { h.metrics.tell(412) },
		"a person": func(_ *testing.T, h *house) { h.do(rollout.Rollback) },
	}
	for name, turn := range turns {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				stopped := &awayJournal{}
				h := build(t, func(o *controller.Options) { stopped.Journal = o.Journal; o.Journal = stopped })
				h.begin()
				h.at(0, 50, time.Hour)
				time.Sleep(time.Minute)
				stopped.away.Store(true)
				before := len(h.events())
				turn(t, h)
				h.at(0, 0, 3*time.Minute)
				if now := h.events(); len(now) != before {
					t.Fatalf("the journal was written while it was away: %+v", now[before:])
				}
				h.metrics.tell(1)
				time.Sleep(5 * time.Minute)
				stopped.away.Store(false)
				h.until(rollout.RolledBack, 5*time.Minute)
				if !has(h.events(), rollout.Late) {
					t.Errorf("no late event: %s", h.story())
				}
			})
		})
	}
}

func TestNothingRisesWhileTheJournalIsAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stopped := &awayJournal{}
		h := build(t, func(o *controller.Options) { stopped.Journal = o.Journal; o.Journal = stopped })
		h.begin()
		h.at(0, 25, time.Hour)
		stopped.away.Store(true)
		time.Sleep(time.Hour)
		if h.share(0) != 25 {
			t.Errorf("the share went from 25%% to %v", h.share(0))
		}
		if _, err := h.Do(t.Context(), "orders", rollout.Command{Verb: rollout.HoldIt, By: "ann"}); !errors.Is(err, rollout.ErrAway) {
			t.Errorf("a hold that cannot be recorded: %v", err)
		}
		stopped.away.Store(false)
		h.until(rollout.Soaking, 2*time.Hour)
	})
}

func TestASourceThatHangsKeepsNoGuardWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		time.Sleep(time.Minute)
		h.metrics.mu.Lock()
		h.metrics.hang = true
		h.metrics.mu.Unlock()
		time.Sleep(time.Minute)
		h.mu.Lock()
		h.failing = 1
		h.mu.Unlock()
		h.at(0, 0, 40*time.Second) // two buckets of ten seconds, and a guard cycle
	})
}

func TestMissingDataNeverRaises(t *testing.T) {
	blind := map[string]func(*house){
		"tasks fall silent": func(h *house) {
			h.mu.Lock()
			h.mute = true
			h.mu.Unlock()
		},
		"metrics hang": func(h *house) {
			h.metrics.mu.Lock()
			h.metrics.hang = true
			h.metrics.mu.Unlock()
		},
	}
	for name, turn := range blind {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.begin()
				h.at(0, 25, time.Hour)
				turn(h)
				time.Sleep(90 * time.Minute) // three times the plan's patience
				if h.share(0) != 25 {
					t.Errorf("the share went from 25%% to %v: %s", h.share(0), h.story())
				}
			})
		})
	}
}

func TestAPersonsCommandsAreEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 5, time.Hour)
		h.do(rollout.HoldIt)
		time.Sleep(time.Hour)
		if h.share(0) != 5 {
			t.Errorf("held at 5%%, now %v", h.share(0))
		}
		if _, err := h.Do(t.Context(), "orders", rollout.Command{Verb: rollout.Complete, By: "ann"}); !errors.As(err, new(rollout.Refusal)) {
			t.Errorf("completing a held rollout: %v", err)
		}
		if !has(h.events(), rollout.Refused) {
			t.Error("the refusal is not in the journal")
		}
		again := rollout.Command{Verb: rollout.Resume, By: "ann", Request: "r-1"}
		for range 2 {
			if _, err := h.Do(t.Context(), "orders", again); err != nil {
				t.Errorf("a repeated request: %v", err)
			}
		}
		h.at(0, 25, time.Hour)
		h.do(rollout.Rollback)
		h.until(rollout.RolledBack, 5*time.Minute)
	})
}

func TestTwoRolloutsDoNotShareADatabase(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		other := plan()
		other.Name = "orders-again"
		if _, err := h.Plan(t.Context(), other, rollout.Command{By: "ben"}); err != nil {
			t.Fatal(err)
		}
		_, err := h.Do(t.Context(), "orders-again", rollout.Command{Verb: rollout.Start, By: "ben"})
		if locked := new(rollout.Locked); !errors.As(err, locked) || locked.Holder != "orders" {
			t.Errorf("starting a second rollout of the database: %v", err)
		}
	})
}

func TestAnotherHandThatLowersIsObeyed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 50, time.Hour)
		h.store.Put(keys[0], 0)
		h.until(rollout.RolledBack, 10*time.Minute)
		time.Sleep(time.Hour)
		if h.share(0) != 0 {
			t.Errorf("the kill was undone: %v", h.share(0))
		}
	})
}

func TestARetryAfterABreachStartsAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		time.Sleep(time.Minute)
		h.metrics.tell(412)
		h.at(0, 0, 3*time.Minute)
		h.metrics.tell(1)
		h.until(rollout.RolledBack, 10*time.Minute)
		time.Sleep(20 * time.Minute)
		h.do(rollout.Retry)
		h.until(rollout.Soaking, 2*time.Hour)
	})
}

var _ controller.Metrics = &gates.Memory{}
