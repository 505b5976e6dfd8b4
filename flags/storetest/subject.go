package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Store is what a flag store does.
type Store interface {
	Read(context.Context, flags.Key) (flags.Setting, error)
	Write(context.Context, flags.Key, flags.Change) (flags.Setting, error)
}

// Subject is a store under test, and the hands around it.
type Subject struct {
	Store Store

	// Namespace is where the tests' flags go; their names are unique in it.
	Namespace string

	// Create makes a flag at 0 % that bears no stamp, and sees to its removal.
	Create func(*testing.T, flags.Key)

	// Another sets a share as another hand would; it leaves a trace even where the share was the same.
	Another func(*testing.T, flags.Key, flags.Share)

	// LastWriteWins says that the store cannot refuse a write that races with
	// another, as Flipt v1 cannot; what only such a store can keep is left out.
	LastWriteWins bool
}

// rollout is whom the tests write for.
const rollout = "orders-db"

// flag makes a new flag and returns its key and its setting.
func (s Subject) flag(t *testing.T) (flags.Key, flags.Setting) {
	t.Helper()
	key := flags.Key{Namespace: s.Namespace, Name: "lane-" + rand.Text()}
	s.Create(t, key)
	return key, s.read(t, key)
}

// flagAt makes a new flag at a share that is ours, written in epoch 3.
func (s Subject) flagAt(t *testing.T, share flags.Share) (flags.Key, flags.Setting) {
	t.Helper()
	key, now := s.flag(t)
	return key, s.write(t, key, flags.Change{Kind: flags.Raise, Share: share, Revision: now.Revision, Rollout: rollout, Epoch: 3})
}

func (s Subject) read(t *testing.T, key flags.Key) flags.Setting {
	t.Helper()
	now, err := s.Store.Read(t.Context(), key)
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return now
}

// write expects a change to be obeyed, and to be found when it is read again.
func (s Subject) write(t *testing.T, key flags.Key, change flags.Change) flags.Setting {
	t.Helper()
	next, err := s.Store.Write(t.Context(), key, change)
	if err != nil {
		t.Fatalf("%s to %v: %v", change.Kind, change.Share, err)
	}
	if found := s.read(t, key); found != next {
		t.Fatalf("%s returned %+v, but %+v is read", change.Kind, next, found)
	}
	return next
}

// refuse expects a change to be refused with an error, any if want is nil, and nothing to have changed.
func (s Subject) refuse(t *testing.T, key flags.Key, change flags.Change, want error) {
	t.Helper()
	before := s.read(t, key)
	_, err := s.Store.Write(t.Context(), key, change)
	if err == nil || want != nil && !errors.Is(err, want) {
		t.Errorf("%s to %v gave error %v, want %v", change.Kind, change.Share, err, want)
	}
	if after := s.read(t, key); after != before {
		t.Errorf("a refused %s made %+v of %+v", change.Kind, after, before)
	}
}
