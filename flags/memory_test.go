package flags_test

import (
	"strings"
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
			Lane:    rapid.SampledFrom([]string{"", "reads"}).Draw(t, "stamped lane"),
			Class:   rapid.SampledFrom([]string{"", "reads"}).Draw(t, "stamped class"),
			Safe:    rapid.SampledFrom([]flags.Share{0, 100}).Draw(t, "stamped safe share"),
			By:      rapid.SampledFrom([]string{"", "break-glass ann@host"}).Draw(t, "stamped signature"),
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
		Lane:     rapid.SampledFrom([]string{"", "writes"}).Draw(t, "lane"),
		Class:    rapid.SampledFrom([]string{"", "writes"}).Draw(t, "class"),
		Safe:     rapid.SampledFrom([]flags.Share{0, 100}).Draw(t, "safe share"),
		By:       rapid.SampledFrom([]string{"", "break-glass bea@host"}).Draw(t, "signature"),
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
		if next.Stamp.By != change.By {
			t.Errorf("the signature %q was left by %+v", next.Stamp.By, change)
		}
		if signed := next.Stamp.Share == next.Share; signed && next.Author != change.By || !signed && next.Author != "" {
			t.Errorf("the author of %+v is %q", next, next.Author)
		}
		if change.Lane == "" && (next.Stamp.Lane != now.Stamp.Lane || next.Stamp.Safe != now.Stamp.Safe) {
			t.Errorf("a change of no lane made %+v of %+v", next.Stamp, now.Stamp)
		}
		if change.Kind == flags.Fence && now.Share != now.Stamp.Share && next.Ours("orders-db") {
			t.Errorf("a fence made another hand's %+v ours", now)
		}
	})
}

func TestASignatureIsOneShortLine(t *testing.T) {
	for name, test := range map[string]struct{ by, want string }{
		"a plain one":                {"break-glass ann@host: pool exhausted", "break-glass ann@host: pool exhausted"},
		"lines and tabs":             {" a\r\n\tb\u2028c ", "a b c"},
		"what a terminal would obey": {"a\x1b[2Jb\x00", "a [2Jb"},
		"what turns text around":     {"ann\u202ekcalb", "ann kcalb"},
		"no UTF-8":                   {"a\xffb", "ab"},
		"a story":                    {strings.Repeat("é", 500), strings.Repeat("é", 159) + "…"},
	} {
		next, err := flags.Change{Kind: flags.Lower, By: test.by}.Apply(flags.Setting{})
		if err != nil || next.Stamp.By != test.want {
			t.Errorf("%s: %q became %q, %v; want %q", name, test.by, next.Stamp.By, err, test.want)
		}
	}
}

func TestAnotherHandIsNotTakenForWhoeverSignedBefore(t *testing.T) {
	var m flags.Memory
	key := flags.Key{Namespace: "default", Name: "reads"}
	m.Create(key)
	if _, err := m.Write(t.Context(), key, flags.Change{Kind: flags.Lower, By: "break-glass ann@host"}); err != nil {
		t.Fatal(err)
	}
	m.Put(key, 25)
	if now, err := m.Read(t.Context(), key); err != nil || now.Author != "" {
		t.Errorf("the author of another hand's share is %q, %v", now.Author, err)
	}
}
