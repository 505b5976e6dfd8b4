package flipt_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// meanwhile does something once, ahead of the first write that this method and
// part of its body name.
func (b bench) meanwhile(method, part string, do func()) {
	var done atomic.Bool
	b.stand.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Method == method && strings.Contains(string(body), part) && done.CompareAndSwap(false, true) {
			do()
		}
		return false
	})
}

func TestARaiseIsNotDisturbedByAnotherFlagsWrite(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, now := b.flagAt(t, 10)
	other := b.flag(t)
	b.sent.harmless(t)
	b.meanwhile(http.MethodPut, "seq=2", func() { b.stand.PutShare(other, 50) })
	next, err := b.store.Write(t.Context(), key, raiseTo(25, now))
	if err != nil || next.Share != 25 {
		t.Errorf("got %+v, %v", next, err)
	}
	if writes := b.sent.writes(); len(writes) != 2 {
		t.Errorf("it was sent %d times, want twice: refused, then obeyed", len(writes))
	}
}

func TestARaiseIsRefusedWhenItsFlagChangesUnderIt(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, now := b.flagAt(t, 10)
	b.meanwhile(http.MethodPut, "seq=2", func() { b.stand.PutShare(key, 0) })
	_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
	wantError(t, err, flags.ErrChanged)
	if now := b.read(t, key); now.Share != flags.None {
		t.Errorf("another hand's 0%% has become %v", now.Share)
	}
}

func TestARaiseOnTheWireIsKilledByAFence(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, now := b.flagAt(t, 10)
	b.meanwhile(http.MethodPut, `"percentage":25`, func() {
		if _, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3}); err != nil {
			t.Error(err)
		}
	})
	_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
	wantError(t, err, flags.ErrChanged)
	if now := b.read(t, key); now.Share != 10 || !now.Ours(rollout) {
		t.Errorf("the flag is %+v", now)
	}
}

func TestNoRevisionFromFliptMeansNoWrite(t *testing.T) {
	for _, revision := range []string{"", "not-a-hash", "e648ea42", strings.Repeat("0", 40)} {
		b := standIn(t, flipttest.V2)
		key, now := b.flagAt(t, 10)
		head := b.stand.Head()
		payload := string(b.ask(t, http.MethodGet, b.hand.FlagPath(key), nil))
		b.sent.harmless(t)
		b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet {
				return false
			}
			_, _ = w.Write([]byte(strings.Replace(payload, head, revision, 1)))
			return true
		})
		for _, change := range []flags.Change{raiseTo(25, now), {Kind: flags.Fence, Revision: now.Revision, Rollout: rollout, Epoch: 3}} {
			if _, err := b.store.Write(t.Context(), key, change); err == nil || !strings.Contains(err.Error(), "40 hexadecimal digits") {
				t.Errorf("with revision %q, a %s gave error %v", revision, change.Kind, err)
			}
		}
		if writes := b.sent.writes(); len(writes) > 0 {
			t.Errorf("with revision %q, it sent %v", revision, writes)
		}
	}
}

func TestALostCommitIsNoticed(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		b.stand.LoseNextCommit()
		found, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		wantError(t, err, flipt.ErrUnconfirmed)
		if found != now || err == nil || !strings.Contains(err.Error(), "wrote 25%") || !strings.Contains(err.Error(), "found 10%") {
			t.Errorf("got %+v, %v", found, err)
		}
		b.stand.LoseNextCommit()
		b.kill(t, key) // is written again
	})
}

// What nobody at Flipt can see, we cannot either: this is why Flipt should be the
// only writer of its branch.
func TestACommitOnTheGitRemoteIsSeenOnlyOnceFliptHasFetchedIt(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, now := b.flagAt(t, 10)
	b.stand.PushToRemote(key, 0)
	b.stand.Poll()
	_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
	wantError(t, err, flags.ErrChanged)

	now = b.raise(t, key, 10)
	b.stand.PushToRemote(key, 0)
	if _, err := b.store.Write(t.Context(), key, raiseTo(25, now)); err != nil {
		t.Error(err)
	}
	b.stand.Poll()
	if now := b.read(t, key); now.Share != 25 {
		t.Errorf("the remote's commit was not lost: %+v", now)
	}
}

func TestAnotherHandsEqualShareIsNotOurs(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		t.Run("its own description replaces our stamp in v1", func(t *testing.T) {
			key, now := b.flagAt(t, 25)
			if err := b.hand.SetShare(t.Context(), key, 25, "by hand"); err != nil {
				t.Fatal(err)
			}
			if theirs := b.read(t, key); theirs.Revision == now.Revision || theirs.Ours(rollout) {
				t.Errorf("it reads as %+v", theirs)
			}
		})
		t.Run("with our own description, its time still tells", func(t *testing.T) {
			key, now := b.flagAt(t, 25)
			if err := b.hand.SetShare(t.Context(), key, 25, "cutover orders-db 25% epoch=3 seq=1"); err != nil {
				t.Fatal(err)
			}
			if theirs := b.read(t, key); theirs.Revision == now.Revision {
				t.Errorf("it reads as %+v", theirs)
			}
		})
		t.Run("a fence's mark over what was before does not make it ours", func(t *testing.T) {
			key, _ := b.flagAt(t, 25)
			if _, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3}); err != nil {
				t.Fatal(err)
			}
			b.raise(t, key, 50)
			if err := b.hand.SetShare(t.Context(), key, 25, "by hand"); err != nil {
				t.Fatal(err)
			}
			if theirs := b.read(t, key); theirs.Ours(rollout) || theirs.Stamp.Epoch != 3 {
				t.Errorf("it reads as %+v", theirs)
			}
		})
	}, flipttest.V1)
	onServers(t, func(t *testing.T, b bench) {
		t.Run("without our metadata, in v2", func(t *testing.T) {
			key, now := b.flagAt(t, 25)
			b.edit(t, key, func(flag map[string]any) { delete(flag, "metadata") })
			if theirs := b.read(t, key); theirs.Share != 25 || theirs.Revision == now.Revision || theirs.Ours(rollout) {
				t.Errorf("it reads as %+v", theirs)
			}
		})
		t.Run("a write that changes nothing is not seen, in v2", func(t *testing.T) {
			key, now := b.flagAt(t, 25)
			b.edit(t, key, func(map[string]any) {})
			if theirs := b.read(t, key); theirs != now {
				t.Errorf("it reads as %+v, not %+v", theirs, now)
			}
		})
	}, flipttest.V2)
}

func TestAFenceInV1WritesNoPercentage(t *testing.T) {
	b := standIn(t, flipttest.V1)
	key, now := b.flagAt(t, 25)
	b.sent.writes()
	b.meanwhile(http.MethodPut, "over=", func() { b.stand.PutShare(key, 0) })
	next, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 4})
	if err != nil || next.Share != flags.None {
		t.Errorf("a kill under the fence reads as %+v, %v", next, err)
	}
	for _, one := range b.sent.writes() {
		if strings.Contains(one.path, "/rollouts") {
			t.Errorf("the fence sent %v", one)
		}
	}
	_, err = b.store.Write(t.Context(), key, raiseTo(50, now))
	wantError(t, err, flags.ErrChanged)
}

// The race that v1 leaves open, as the package's documentation tells it.
func TestInV1TheLastWriteWins(t *testing.T) {
	t.Run("a raise that has read overwrites a kill", func(t *testing.T) {
		b := standIn(t, flipttest.V1)
		key, now := b.flagAt(t, 10)
		b.meanwhile(http.MethodPut, "seq=2", func() { b.stand.PutShare(key, 0) })
		if next, err := b.store.Write(t.Context(), key, raiseTo(25, now)); err != nil || next.Share != 25 {
			t.Errorf("got %+v, %v", next, err)
		}
	})
	t.Run("a raise that is overwritten before it is read back is not confirmed", func(t *testing.T) {
		b := standIn(t, flipttest.V1)
		key, now := b.flagAt(t, 10)
		b.stand.After(func(r *http.Request) bool {
			if r.Method == http.MethodPut {
				b.stand.PutShare(key, 0)
			}
			return false
		})
		found, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		wantError(t, err, flipt.ErrUnconfirmed)
		if found.Share != flags.None {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("a lowering to 0 meets a rollout that is gone", func(t *testing.T) {
		b := standIn(t, flipttest.V1)
		key, _ := b.flagAt(t, 10)
		b.meanwhile(http.MethodPut, `"percentage":0`, func() { b.put(t, key, rule{percentage: 50, value: true}) })
		b.kill(t, key)
	})
	t.Run("a raise meets a rollout that is gone", func(t *testing.T) {
		b := standIn(t, flipttest.V1)
		key, now := b.flagAt(t, 10)
		b.meanwhile(http.MethodPut, `"percentage":25`, func() { b.put(t, key) })
		_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		wantError(t, err, flags.ErrChanged)
	})
}

func TestAnEvaluationCacheThatLags(t *testing.T) {
	t.Run("is waited for", func(t *testing.T) {
		b := standIn(t, flipttest.V1)
		key, now := b.flagAt(t, 10)
		b.stand.CacheEvaluations(2)
		if _, err := b.store.Write(t.Context(), key, raiseTo(25, now)); err != nil {
			t.Error(err)
		}
	})
	t.Run("is told when it does not end", func(t *testing.T) {
		b := standIn(t, flipttest.V1)
		key, now := b.flagAt(t, 10)
		b.sent.writes()
		b.stand.CacheEvaluations(1000)
		stored, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		wantError(t, err, flipt.ErrNotServed)
		if stored.Share != 25 || err == nil || !strings.Contains(err.Error(), "at 25%, task cutover-probe-") {
			t.Errorf("got %+v, %v", stored, err)
		}
		_, err = b.store.Write(t.Context(), key, flags.Change{Kind: flags.Lower, Rollout: rollout})
		wantError(t, err, flipt.ErrNotServed)
		if writes := b.sent.writes(); len(writes) != 2 {
			t.Errorf("a raise and a lowering were sent %d times", len(writes))
		}
	})
}
