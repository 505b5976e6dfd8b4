package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/embedded"
)

var reads = flags.Key{Namespace: "default", Name: "orders-db-reads"}

func open(t testing.TB, path string) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// withReads is a store with one flag at 0 %.
func withReads(t testing.TB) (*embedded.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flags.json")
	store := open(t, path)
	if err := store.Create(t.Context(), reads); err != nil {
		t.Fatal(err)
	}
	return store, path
}

func raise(share flags.Share, revision string) flags.Change {
	return flags.Change{Kind: flags.Raise, Share: share, Revision: revision, Rollout: "orders-db", Epoch: 1}
}

func reopened(t testing.TB, store *embedded.Store, path string) *embedded.Store {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func read(t testing.TB, store *embedded.Store, key flags.Key) flags.Setting {
	t.Helper()
	setting, err := store.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return setting
}

func TestAWrittenShareOutlivesTheProcess(t *testing.T) {
	store, path := withReads(t)
	written, err := store.Write(t.Context(), reads, raise(25, "1"))
	if err != nil {
		t.Fatal(err)
	}
	want := flags.Setting{
		Share: 25, Revision: "2",
		Stamp: flags.Stamp{Rollout: "orders-db", Epoch: 1, Seq: 1, Share: 25},
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("answer of the write (-want +got):\n%s", diff)
	}
	store = reopened(t, store, path)
	if diff := cmp.Diff(want, read(t, store, reads)); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

func TestARevisionIsNeverUsedTwiceAcrossRestarts(t *testing.T) {
	store, path := withReads(t)
	seen := map[string]bool{read(t, store, reads).Revision: true}
	for range 5 {
		store = reopened(t, store, path)
		setting, err := store.Write(t.Context(), reads, flags.Change{Kind: flags.Fence, Rollout: "orders-db"})
		if err != nil {
			t.Fatal(err)
		}
		if seen[setting.Revision] {
			t.Fatalf("revision %s was used before", setting.Revision)
		}
		seen[setting.Revision] = true
	}
}

func TestAnotherHandIsSeenWithItsNameAndKeepsOurStamp(t *testing.T) {
	store, path := withReads(t)
	if _, err := store.Write(t.Context(), reads, raise(10, "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), reads, 10, "dana"); err != nil {
		t.Fatal(err)
	}
	store = reopened(t, store, path)
	got := read(t, store, reads)
	if got.Author != "dana" || got.Revision != "3" || got.Stamp.Rollout != "orders-db" {
		t.Errorf("got %+v: want the author dana, a third revision and the earlier stamp", got)
	}
	if _, err := store.Write(t.Context(), reads, raise(25, "2")); !errors.Is(err, flags.ErrChanged) {
		t.Errorf("a raise after another hand's equal value: %v, want ErrChanged", err)
	}
}

func TestWhatCannotBeIsRefusedAndWritesNothing(t *testing.T) {
	store, path := withReads(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	absent := flags.Key{Namespace: "default", Name: "absent"}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	put := func(key flags.Key, share flags.Share) error {
		_, err := store.Put(t.Context(), key, share, "dana")
		return err
	}
	write := func(ctx context.Context, key flags.Key, change flags.Change) error {
		_, err := store.Write(ctx, key, change)
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a flag that is not there":       {write(t.Context(), absent, raise(1, "1")), "default/absent: no such flag"},
		"another hand on an absent flag": {put(absent, 10), "default/absent: no such flag"},
		"another revision":               {write(t.Context(), reads, raise(1, "9")), "has changed"},
		"a share of 101 by a raise":      {write(t.Context(), reads, raise(101, "1")), "share 101: must be from 0 to 100"},
		"a share of -1 by hand":          {put(reads, -1), "share -1: must be from 0 to 100"},
		"a writer who has given up":      {write(cancelled, reads, raise(1, "1")), "context canceled"},
		"a flag without a namespace":     {store.Create(t.Context(), flags.Key{Name: "x"}), "must not be empty"},
		"creating what is there":         {store.Create(t.Context(), reads), ""},
	} {
		switch {
		case tc.want == "" && tc.err != nil:
			t.Errorf("%s: %v, want no error", name, tc.err)
		case tc.want != "" && (tc.err == nil || !strings.Contains(tc.err.Error(), tc.want)):
			t.Errorf("%s: %v, want an error with %q", name, tc.err, tc.want)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the file changed:\n%s", diff)
	}
}

func TestOneProcessAtATimeHoldsTheFile(t *testing.T) {
	store, path := withReads(t)
	link := filepath.Join(t.TempDir(), "same.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := embedded.Open(name); err == nil || !strings.Contains(err.Error(), "another process holds it") {
			t.Errorf("second opening as %s: %v, want to be told that another process holds it", name, err)
		}
	}
	open(t, filepath.Join(t.TempDir(), "other.json"))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, link)
	if _, err := store.Write(t.Context(), reads, raise(1, "1")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after Close: %v, want ErrClosed", err)
	}
}

func TestAFailedWriteLeavesTheOldShare(t *testing.T) {
	store, path := withReads(t)
	folder := filepath.Dir(path)
	if err := os.Rename(folder, folder+"-away"); err != nil { // as when a disk is unmounted
		t.Fatal(err)
	}
	setting, err := store.Write(t.Context(), reads, raise(25, "1"))
	if err == nil || setting.Share != 0 {
		t.Fatalf("write without a folder: %v, %v; want share 0 and an error", setting, err)
	}
	if got := read(t, store, reads); got.Share != 0 || got.Revision != "1" {
		t.Errorf("after the failure: %+v, want the old share and revision", got)
	}
	if err := os.Rename(folder+"-away", folder); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(t.Context(), reads, raise(25, "1")); err != nil {
		t.Errorf("write once the folder is back: %v", err)
	}
}

func TestAWaiterHearsOfEveryWrite(t *testing.T) {
	store, _ := withReads(t)
	heard := make(chan flags.Share)
	go func() {
		defer close(heard)
		for last := flags.None; last < 5; {
			changed := store.Changed()
			if _, all := store.All(); all[reads].Share != last {
				last = all[reads].Share
				heard <- last
				continue
			}
			<-changed
		}
	}()
	for share := flags.Share(1); share <= 5; share++ {
		if _, err := store.Put(t.Context(), reads, share, "dana"); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-heard:
			if got != share {
				t.Errorf("heard of %v, want %v", got, share)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("heard nothing of %v within 10s", share)
		}
	}
}

// TestTheStoreIsMemoryThatSurvives drives the store and the model with the same
// changes, restarts among them: they must always agree.
func TestTheStoreIsMemoryThatSurvives(t *testing.T) {
	folder := t.TempDir()
	histories := 0
	rapid.Check(t, func(rt *rapid.T) {
		histories++
		path := filepath.Join(folder, fmt.Sprintf("flags-%d.json", histories))
		store, err := embedded.Open(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		var model flags.Memory
		keys := []flags.Key{reads, {Namespace: "default", Name: "orders-db-writes"}}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			key := rapid.SampledFrom(keys).Draw(rt, "key")
			share := flags.Share(rapid.IntRange(-1, 101).Draw(rt, "share"))
			switch rapid.SampledFrom([]string{"create", "write", "write", "write", "restart"}).Draw(rt, "step") {
			case "create":
				model.Create(key)
				if err := store.Create(t.Context(), key); err != nil {
					rt.Fatal(err)
				}
			case "write":
				now, _ := model.Read(t.Context(), key)
				change := flags.Change{
					Kind:     rapid.SampledFrom([]flags.Kind{flags.Raise, flags.Lower, flags.Fence}).Draw(rt, "kind"),
					Share:    share,
					Revision: rapid.SampledFrom([]string{"", "1", now.Revision}).Draw(rt, "revision"),
					Rollout:  rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "rollout"),
					Epoch:    int64(rapid.IntRange(0, 3).Draw(rt, "epoch")),
					Seq:      int64(rapid.IntRange(0, 3).Draw(rt, "seq")),
				}
				want, wantErr := model.Write(t.Context(), key, change)
				got, gotErr := store.Write(t.Context(), key, change)
				if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
					rt.Fatalf("%+v: model says %v, store says %v\n%s", change, wantErr, gotErr, diff)
				}
			case "restart":
				if err := store.Close(); err != nil {
					rt.Fatal(err)
				}
				if store, err = embedded.Open(path); err != nil {
					rt.Fatal(err)
				}
			}
			wantKeys, want := model.All()
			gotKeys, got := store.All()
			if diff := cmp.Diff(wantKeys, gotKeys) + cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				rt.Fatalf("model and store differ:\n%s", diff)
			}
		}
	})
}
