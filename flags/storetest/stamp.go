package storetest

import (
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// by is a signature with all that could trouble a store's text.
const by = `break-glass ann@host: 50% "pool" exhausted – é=/+&#`

func (s Subject) lane(t *testing.T) {
	key, now := s.flag(t)
	says := func(when string, stamp flags.Stamp, lane string, safe flags.Share) {
		t.Helper()
		if stamp.Lane != lane || stamp.Class != "writes" || stamp.Safe != safe {
			t.Errorf("%s, the stamp is %+v", when, stamp)
		}
	}
	named := flags.Change{
		Kind: flags.Raise, Share: 25, Revision: now.Revision, Rollout: rollout, Epoch: 3,
		Lane: "late writes", Class: "writes",
	}
	now = s.write(t, key, named)
	says("after a raise", now.Stamp, "late writes", 0)
	for _, kind := range []flags.Kind{flags.Fence, flags.Lower} {
		now = s.write(t, key, flags.Change{Kind: kind, Rollout: rollout, Epoch: 3, Class: "reads", Safe: 100})
		says("after a "+string(kind)+" of no lane", now.Stamp, "late writes", 0)
	}
	named.Kind, named.Revision, named.Lane, named.Safe = flags.Fence, now.Revision, "writes", 100
	says("after a fence", s.write(t, key, named).Stamp, "writes", 100)
	s.Another(t, key, 10)
	says("after another hand and a kill", s.write(t, key, flags.Change{Kind: flags.Lower, Rollout: rollout}).Stamp, "writes", 100)
}

func (s Subject) signed(t *testing.T) {
	key, _ := s.flagAt(t, 50)
	killed := s.write(t, key, flags.Change{Kind: flags.Lower, Rollout: rollout, By: by})
	if killed.Stamp.By != by || killed.Author != by {
		t.Errorf("a kill signed %q made %+v", by, killed)
	}
	fenced := s.write(t, key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3})
	if fenced.Stamp.By != "" || fenced.Author != "" {
		t.Errorf("after an unsigned fence, the flag is %+v", fenced)
	}
	s.write(t, key, flags.Change{Kind: flags.Lower, Rollout: rollout, By: by})
	s.Another(t, key, 75)
	if theirs := s.read(t, key); theirs.Author == by {
		t.Errorf("another hand's share is said to be of who signed before: %+v", theirs)
	}
}

func (s Subject) unsigned(t *testing.T) {
	key, _ := s.flagAt(t, 50)
	s.Another(t, key, 10)
	fenced := s.write(t, key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3, By: by})
	if fenced.Stamp.By != by || fenced.Author != "" {
		t.Errorf("a fence over another hand's share, signed %q, made %+v", by, fenced)
	}
}
