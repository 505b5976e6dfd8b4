package storetest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func (s Subject) fence(t *testing.T) {
	key, now := s.flagAt(t, 25)
	next := s.write(t, key, flags.Change{Kind: flags.Fence, Share: 99, Rollout: rollout, Epoch: 4})
	want := flags.Stamp{Rollout: rollout, Epoch: 4, Seq: now.Stamp.Seq + 1, Share: 25}
	if next.Share != 25 || next.Stamp != want || next.Revision == now.Revision || !next.Ours(rollout) {
		t.Errorf("a fence made %+v of %+v", next, now)
	}
}

func (s Subject) fenceKillsRaise(t *testing.T) {
	key, now := s.flagAt(t, 25)
	fenced := s.write(t, key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3})
	s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 50, Revision: now.Revision, Rollout: rollout, Epoch: 3}, flags.ErrChanged)
	s.write(t, key, flags.Change{Kind: flags.Raise, Share: 50, Revision: fenced.Revision, Rollout: rollout, Epoch: 3})
}

func (s Subject) conditionalFence(t *testing.T) {
	key, now := s.flagAt(t, 25)
	s.refuse(t, key, flags.Change{Kind: flags.Fence, Revision: "unknown", Rollout: rollout, Epoch: 3}, flags.ErrChanged)
	s.refuse(t, key, flags.Change{Kind: flags.Fence, Revision: now.Revision, Rollout: rollout, Epoch: 2}, flags.ErrStaleEpoch)
	next := s.write(t, key, flags.Change{Kind: flags.Fence, Revision: now.Revision, Rollout: rollout, Epoch: 3})
	if next.Share != 25 || next.Revision == now.Revision {
		t.Errorf("a fence made %+v of %+v", next, now)
	}
}

func (s Subject) fenceKeepsApart(t *testing.T) {
	key, _ := s.flagAt(t, 25)
	s.Another(t, key, 10)
	theirs := s.read(t, key)
	next := s.write(t, key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3})
	if next.Share != 10 || next.Ours(rollout) || next.Revision == theirs.Revision {
		t.Errorf("a fence made %+v of another hand's %+v", next, theirs)
	}
	s.write(t, key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3})
	if again := s.read(t, key); again.Ours(rollout) {
		t.Errorf("a second fence made another hand's share ours: %+v", again)
	}
}

func (s Subject) another(t *testing.T) {
	key, now := s.flagAt(t, 25)
	s.Another(t, key, 75)
	theirs := s.read(t, key)
	if theirs.Share != 75 || theirs.Revision == now.Revision || theirs.Ours(rollout) {
		t.Errorf("another hand's 75%% over %+v reads as %+v", now, theirs)
	}
	s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 50, Revision: now.Revision, Rollout: rollout, Epoch: 3}, flags.ErrChanged)
	if next := s.write(t, key, flags.Change{Kind: flags.Lower, Rollout: rollout}); next.Share != flags.None {
		t.Errorf("a lowering to 0 over another hand's share made %+v", next)
	}
}

func (s Subject) anotherEqual(t *testing.T) {
	key, now := s.flagAt(t, 25)
	s.Another(t, key, 25)
	theirs := s.read(t, key)
	if theirs.Share != 25 || theirs.Revision == now.Revision {
		t.Errorf("another hand's 25%% over %+v reads as %+v", now, theirs)
	}
	s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 50, Revision: now.Revision, Rollout: rollout, Epoch: 3}, flags.ErrChanged)
}

// racers is how many writers race.
const racers = 5

func (s Subject) racingRaises(t *testing.T) {
	key, now := s.flagAt(t, 10)
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		winner flags.Setting
		won    int
	)
	for i := range racers {
		wg.Go(func() {
			change := flags.Change{Kind: flags.Raise, Share: flags.Share(20 + i), Revision: now.Revision, Rollout: rollout, Epoch: 3}
			next, err := s.Store.Write(t.Context(), key, change)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				winner = next
				won++
			case !errors.Is(err, flags.ErrChanged):
				t.Errorf("a losing raise gave error %v, want %v", err, flags.ErrChanged)
			}
		})
	}
	wg.Wait()
	if found := s.read(t, key); won != 1 || found != winner {
		t.Errorf("%d raises won; the last to say so made %+v, and %+v is read", won, winner, found)
	}
}

func (s Subject) racingKill(t *testing.T) {
	key, now := s.flagAt(t, 10)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			change := flags.Change{Kind: flags.Raise, Share: flags.Share(20 + i), Revision: now.Revision, Rollout: rollout, Epoch: 3}
			_, _ = s.Store.Write(t.Context(), key, change) // lands, is refused, or is lowered before it is read back
		})
	}
	wg.Go(func() {
		if _, err := s.Store.Write(t.Context(), key, flags.Change{Kind: flags.Lower, Rollout: rollout}); err != nil {
			t.Errorf("the lowering gave error %v", err)
		}
	})
	wg.Wait()
	if found := s.read(t, key); found.Share != flags.None {
		t.Errorf("after a lowering to 0, %+v is read", found)
	}
}

// steps is how long the walk is: enough to meet every pair of kinds, and bearable
// for a store that takes most of a second for each.
const steps = 30

// walk makes the same changes to the store and to the model. They must agree on
// the share, the stamp, what is refused and why, and when the revision changes.
func (s Subject) walk(t *testing.T) {
	key, now := s.flag(t)
	var model flags.Memory
	model.Create(key)
	expected, err := model.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []flags.Kind{flags.Raise, flags.Raise, flags.Lower, flags.Fence}
	revisions := []string{"", "unknown", now.Revision}
	for step := range steps {
		change := flags.Change{
			Kind: kinds[random.IntN(len(kinds))], Share: flags.Share(random.IntN(5) * 25),
			Rollout: rollout, Epoch: int64(step/10 + random.IntN(2)), Seq: random.Int64N(3),
			Lane: []string{"", "reads"}[random.IntN(2)], Class: "reads", Safe: flags.Share(random.IntN(2) * 100),
			By: []string{"", "break-glass ann@host"}[random.IntN(2)],
		}
		modelled := change
		switch other := random.IntN(2 * len(revisions)); {
		case other < len(revisions):
			change.Revision, modelled.Revision = revisions[other], revisions[other]
			if revisions[other] == now.Revision {
				modelled.Revision = expected.Revision
			}
		default:
			change.Revision, modelled.Revision = now.Revision, expected.Revision
		}
		next, got := s.Store.Write(t.Context(), key, change)
		wanted, want := model.Write(t.Context(), key, modelled)
		if (got == nil) != (want == nil) || want != nil && !errors.Is(got, errors.Unwrap(want)) {
			t.Fatalf("step %d, %+v: got error %v, the model's is %v", step, change, got, want)
		}
		if got != nil {
			continue
		}
		if next.Share != wanted.Share || next.Stamp != wanted.Stamp || next.Author != wanted.Author || next.Revision == now.Revision {
			t.Fatalf("step %d, %+v made %+v, the model %+v", step, change, next, wanted)
		}
		now, expected = next, wanted
	}
}
