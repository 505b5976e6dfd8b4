package flags_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/storetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		var m flags.Memory
		return storetest.Subject{
			Store:     &m,
			Namespace: "default",
			Create:    func(_ *testing.T, key flags.Key) { m.Create(key) },
			Another:   func(_ *testing.T, key flags.Key, share flags.Share) { m.Put(key, share) },
		}
	})
}

func TestMemoryListsItsFlagsInOrder(t *testing.T) {
	var m flags.Memory
	writes, reads := flags.Key{Namespace: "default", Name: "writes"}, flags.Key{Namespace: "default", Name: "reads"}
	m.Create(writes)
	m.Create(reads)
	m.Put(reads, 25)
	m.Create(reads)
	keys, settings := m.All()
	if diff := cmp.Diff([]flags.Key{reads, writes}, keys); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if settings[reads].Share != 25 || settings[writes].Share != 0 {
		t.Errorf("the flags are at %v and %v", settings[reads].Share, settings[writes].Share)
	}
}

// settings and changes draw what a store may hold and be asked, near misses of revision and epoch too.
func settings(t *rapid.T) flags.Setting {
	return flags.Setting{
		Share:    flags.Share(rapid.IntRange(0, 100).Draw(t, "share")),
		Revision: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "revision"),
		Author:   rapid.SampledFrom([]string{"", "somebody"}).Draw(t, "author"),
		Stamp: flags.Stamp{
			Rollout: rapid.SampledFrom([]string{"", "orders-db", "users-db"}).Draw(t, "rollout"),
			Epoch:   rapid.Int64Range(0, 3).Draw(t, "epoch"),
			Seq:     rapid.Int64Range(0, 3).Draw(t, "seq"),
			Share:   flags.Share(rapid.IntRange(0, 100).Draw(t, "stamped")),
		},
	}
}

func changes(t *rapid.T) flags.Change {
	return flags.Change{
		Kind:     rapid.SampledFrom([]flags.Kind{flags.Raise, flags.Lower, flags.Fence}).Draw(t, "kind"),
		Share:    flags.Share(rapid.IntRange(0, 100).Draw(t, "wanted")),
		Revision: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "expected"),
		Rollout:  "orders-db",
		Epoch:    rapid.Int64Range(0, 3).Draw(t, "writer's epoch"),
		Seq:      rapid.Int64Range(0, 3).Draw(t, "writer's seq"),
	}
}

func TestApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, change := settings(t), changes(t)
		next, err := change.Apply(now)
		if err != nil {
			if next != now {
				t.Errorf("a refused change made %+v of %+v", next, now)
			}
			if change.Kind == flags.Lower && change.Share == flags.None {
				t.Errorf("a lowering to 0 was refused: %v", err)
			}
			return
		}
		if change.Kind == flags.Raise && change.Revision != now.Revision {
			t.Error("a raise passed on another revision")
		}
		if change.Kind == flags.Raise && change.Epoch < now.Stamp.Epoch {
			t.Error("a raise passed from an earlier epoch")
		}
		if change.Kind != flags.Raise && next.Share > now.Share {
			t.Errorf("a %s raised %v to %v", change.Kind, now.Share, next.Share)
		}
		if change.Kind == flags.Fence && next.Share != now.Share {
			t.Errorf("a fence made %v of %v", next.Share, now.Share)
		}
		if next.Stamp.Epoch < now.Stamp.Epoch || next.Stamp.Seq <= max(now.Stamp.Seq, change.Seq) {
			t.Errorf("the stamp %+v became %+v", now.Stamp, next.Stamp)
		}
		if change.Kind == flags.Fence && now.Share != now.Stamp.Share && next.Ours("orders-db") {
			t.Errorf("a fence made another hand's %+v ours", now)
		}
	})
}
