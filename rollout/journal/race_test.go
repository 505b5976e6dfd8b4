package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func races() []promise {
	return []promise{
		{"of 16 writers of one rollout one wins, over several journals", oneWins},
		{"of 16 planners of one rollout one wins", onePlans},
		{"writers of many rollouts share the places, and a reader beside them misses none", readerMissesNothing},
		{"each leader has an epoch of its own, higher than the last", epochsRise},
	}
}

// openMany opens journals on one database.
func openMany(t *testing.T, source string, n int) []*journal.Journal {
	t.Helper()
	journals := make([]*journal.Journal, n)
	for i := range journals {
		journals[i] = open(t, source)
	}
	return journals
}

// race appends from 16 goroutines at once and counts how many succeed.
func race(t *testing.T, journals []*journal.Journal, before rollout.State, e rollout.Event) (won int) {
	t.Helper()
	errs := make([]error, 16)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range errs {
		done.Go(func() {
			start.Wait()
			_, _, errs[i] = journals[i%len(journals)].Append(t.Context(), before, e)
		})
	}
	start.Done()
	done.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, rollout.ErrConflict):
			t.Errorf("got %v, want a conflict", err)
		}
	}
	return won
}

func oneWins(t *testing.T, e *engine) {
	journals := openMany(t, e.source(t), 4)
	s := add(t, journals[0], rollout.State{}, planned(plan("orders", "db")))
	if won := race(t, journals, s, noted("me")); won != 1 {
		t.Errorf("%d writers won", won)
	}
	if n := len(all(t, journals[0])); n != 2 {
		t.Errorf("%d events; want 2", n)
	}
	mustHold(t, journals[0])
}

func onePlans(t *testing.T, e *engine) {
	journals := openMany(t, e.source(t), 4)
	if won := race(t, journals, rollout.State{}, planned(plan("orders", "db"))); won != 1 {
		t.Errorf("%d planners won", won)
	}
	mustHold(t, journals[0])
}

func readerMissesNothing(t *testing.T, e *engine) {
	const writers, each = 6, 5
	journals := openMany(t, e.source(t), 3)
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			j, s, err := journals[i%len(journals)], rollout.State{}, error(nil)
			name := fmt.Sprintf("rollout%d", i)
			if s, _, err = j.Append(t.Context(), s, planned(plan(name, name))); err != nil {
				t.Error(err)
				return
			}
			for range each - 1 {
				if s, _, err = j.Append(t.Context(), s, noted("on and on")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	var place int64
	for ended := false; ; {
		events, err := journals[0].Since(t.Context(), place, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if place++; e.Place != place {
				t.Fatalf("after place %d came %d", place-1, e.Place)
			}
		}
		if ended && len(events) == 0 {
			break
		}
		select {
		case <-done:
			ended = true
		default:
		}
	}
	if place != writers*each {
		t.Errorf("read %d events, want %d", place, writers*each)
	}
	mustHold(t, journals[0])
}

func epochsRise(t *testing.T, e *engine) {
	journals := openMany(t, e.source(t), 2)
	epochs := make([]int64, 8)
	var leading sync.WaitGroup
	for i := range epochs {
		leading.Go(func() {
			var err error
			if epochs[i], err = journals[i%2].Lead(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	leading.Wait()
	slices.Sort(epochs)
	same(t, []int64{1, 2, 3, 4, 5, 6, 7, 8}, epochs)
}
