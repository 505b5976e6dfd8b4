package storetest

import (
	"errors"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Run holds a store to the contract. It opens one subject for all its tests.
func Run(t *testing.T, open func(*testing.T) Subject) {
	t.Helper()
	s := open(t)
	t.Run("a missing flag is neither read nor written", s.missing)
	t.Run("a flag reads the same as long as nobody writes it", s.steady)
	t.Run("a raise is conditional on the revision", s.raise)
	t.Run("a raise by an earlier leader is refused", s.staleRaise)
	t.Run("a lowering to 0 needs neither revision nor epoch", s.kill)
	t.Run("a lowering to 0 of a flag at 0 is a write too", s.killTwice)
	t.Run("a lowering above 0 is conditional", s.lower)
	t.Run("a lowering never raises", s.lowerNeverRaises)
	t.Run("a fence keeps the share and makes a revision", s.fence)
	t.Run("a fence kills a raise in flight", s.fenceKillsRaise)
	t.Run("a fence with a revision is conditional", s.conditionalFence)
	t.Run("a fence does not make another hand's share ours", s.fenceKeepsApart)
	t.Run("another hand's share is a new revision and not ours", s.another)
	t.Run("another hand's equal share is a new revision", s.anotherEqual)
	t.Run("what is outside 0 to 100 or of no kind is refused", s.invalid)
	t.Run("the sequence passes what the writer and the flag know", s.sequence)
	t.Run("the stamp says what the lane is, until a change says otherwise", s.lane)
	t.Run("a signature is that of one write, and the author of its share", s.signed)
	t.Run("a share that was not written bears no signature", s.unsigned)
	t.Run("writes of other flags disturb nothing", s.others)
	t.Run("it walks as the model does", s.walk)
	if !s.LastWriteWins {
		t.Run("of racing raises one wins", s.racingRaises)
		t.Run("after a lowering to 0 no racing raise lands", s.racingKill)
	}
}

func (s Subject) missing(t *testing.T) {
	key := flags.Key{Namespace: s.Namespace, Name: "missing"}
	if _, err := s.Store.Read(t.Context(), key); !errors.Is(err, flags.ErrNotFound) {
		t.Errorf("reading gave error %v, want %v", err, flags.ErrNotFound)
	}
	for _, kind := range []flags.Kind{flags.Raise, flags.Lower, flags.Fence} {
		if _, err := s.Store.Write(t.Context(), key, flags.Change{Kind: kind, Rollout: rollout}); !errors.Is(err, flags.ErrNotFound) {
			t.Errorf("%s gave error %v, want %v", kind, err, flags.ErrNotFound)
		}
	}
}

func (s Subject) steady(t *testing.T) {
	key, first := s.flag(t)
	if first.Share != flags.None || first.Revision == "" || first.Stamp != (flags.Stamp{}) {
		t.Errorf("a new flag reads as %+v", first)
	}
	if second := s.read(t, key); second != first {
		t.Errorf("read again, %+v has become %+v", first, second)
	}
}

func (s Subject) raise(t *testing.T) {
	key, now := s.flag(t)
	next := s.write(t, key, flags.Change{Kind: flags.Raise, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 3})
	want := flags.Stamp{Rollout: rollout, Epoch: 3, Seq: 1, Share: 25}
	if next.Share != 25 || next.Stamp != want || !next.Ours(rollout) || next.Revision == now.Revision {
		t.Errorf("a raise to 25%% made %+v of %+v", next, now)
	}
	for _, revision := range []string{now.Revision, "", "unknown"} {
		s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 50, Revision: revision, Rollout: rollout, Epoch: 3}, flags.ErrChanged)
	}
}

func (s Subject) staleRaise(t *testing.T) {
	key, now := s.flagAt(t, 10)
	s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 2}, flags.ErrStaleEpoch)
	fenced := s.write(t, key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 4})
	s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 25, Revision: fenced.Revision, Rollout: rollout, Epoch: 3}, flags.ErrStaleEpoch)
	next := s.write(t, key, flags.Change{Kind: flags.Raise, Share: 25, Revision: fenced.Revision, Rollout: rollout, Epoch: 5})
	if next.Stamp.Epoch != 5 {
		t.Errorf("a raise by epoch 5 left %+v", next)
	}
}

func (s Subject) kill(t *testing.T) {
	key, now := s.flagAt(t, 50)
	next := s.write(t, key, flags.Change{Kind: flags.Lower, Rollout: rollout})
	if next.Share != flags.None || next.Revision == now.Revision || next.Stamp.Epoch != 3 {
		t.Errorf("a lowering to 0 made %+v of %+v", next, now)
	}
	s.refuse(t, key, flags.Change{Kind: flags.Raise, Share: 75, Revision: now.Revision, Rollout: rollout, Epoch: 3}, flags.ErrChanged)
}

func (s Subject) killTwice(t *testing.T) {
	key, now := s.flag(t)
	seen := map[string]bool{now.Revision: true}
	for range 3 {
		next := s.write(t, key, flags.Change{Kind: flags.Lower, Revision: "unknown", Rollout: rollout, Epoch: 1})
		if next.Share != flags.None || seen[next.Revision] {
			t.Errorf("a lowering to 0 made %+v", next)
		}
		seen[next.Revision] = true
	}
}

func (s Subject) lower(t *testing.T) {
	key, now := s.flagAt(t, 50)
	for _, revision := range []string{"", "unknown"} {
		s.refuse(t, key, flags.Change{Kind: flags.Lower, Share: 25, Revision: revision, Rollout: rollout, Epoch: 3}, flags.ErrChanged)
	}
	s.refuse(t, key, flags.Change{Kind: flags.Lower, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 2}, flags.ErrStaleEpoch)
	next := s.write(t, key, flags.Change{Kind: flags.Lower, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 3})
	if next.Share != 25 || !next.Ours(rollout) || next.Revision == now.Revision {
		t.Errorf("a lowering to 25%% made %+v of %+v", next, now)
	}
}

func (s Subject) lowerNeverRaises(t *testing.T) {
	key, now := s.flagAt(t, 25)
	next := s.write(t, key, flags.Change{Kind: flags.Lower, Share: 75, Revision: now.Revision, Rollout: rollout, Epoch: 3})
	if next.Share != 25 || next.Revision == now.Revision {
		t.Errorf("a lowering to 75%% made %+v of %+v", next, now)
	}
}

func (s Subject) invalid(t *testing.T) {
	key, now := s.flagAt(t, 25)
	for _, share := range []flags.Share{-1, 101} {
		for _, kind := range []flags.Kind{flags.Raise, flags.Lower} {
			s.refuse(t, key, flags.Change{Kind: kind, Share: share, Revision: now.Revision, Rollout: rollout, Epoch: 3}, nil)
		}
	}
	for _, kind := range []flags.Kind{"", "set"} {
		s.refuse(t, key, flags.Change{Kind: kind, Share: 50, Revision: now.Revision, Rollout: rollout, Epoch: 3}, nil)
	}
}

func (s Subject) sequence(t *testing.T) {
	key, now := s.flagAt(t, 10)
	next := s.write(t, key, flags.Change{Kind: flags.Raise, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 3, Seq: 41})
	if next.Stamp.Seq != 42 {
		t.Errorf("after sequence 41 of the writer came %d", next.Stamp.Seq)
	}
	next = s.write(t, key, flags.Change{Kind: flags.Lower, Rollout: rollout, Epoch: 3, Seq: 7})
	if next.Stamp.Seq != 43 {
		t.Errorf("after sequence 42 of the flag came %d", next.Stamp.Seq)
	}
}

func (s Subject) others(t *testing.T) {
	key, now := s.flagAt(t, 10)
	other, _ := s.flagAt(t, 10)
	s.Another(t, other, 75)
	s.write(t, other, flags.Change{Kind: flags.Lower, Rollout: rollout})
	if after := s.read(t, key); after != now {
		t.Errorf("writes of another flag made %+v of %+v", after, now)
	}
	s.write(t, key, flags.Change{Kind: flags.Raise, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 3})
}
