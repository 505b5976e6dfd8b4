package controller

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// seat is what is kept in memory of one rollout. A pass holds mu as long as it
// goes on; what people ask for must not wait for that.
type seat struct {
	mu    sync.Mutex
	state rollout.State

	// While the way down goes on without the journal: the last folded state, and
	// what was written since.
	base  *rollout.State
	wrote []rollout.LaneShare

	lastBake time.Time  // the last cycle that might raise
	lanes    []laneView // in the plan's order
	counts   []count    // of the gates, in the plan's order

	look atomic.Pointer[look] // the last one, for people

	orders sync.Mutex
	kept   []order // rollbacks that people asked for while the journal was away
}

// look is what the last pass came to.
type look struct {
	state rollout.State
	seen  rollout.Seen
	rest  []rollout.Wait
	at    time.Time
}

// order is a rollback that was taken without the journal.
type order struct {
	command rollout.Command
	obeyed  bool // in memory
}

// keep takes a rollback that the journal cannot take now.
func (s *seat) keep(c rollout.Command) {
	s.orders.Lock()
	defer s.orders.Unlock()
	s.kept = append(s.kept, order{command: c})
}

// asked reports whether such a rollback is still to be told to the journal.
func (s *seat) asked() bool {
	s.orders.Lock()
	defer s.orders.Unlock()
	return len(s.kept) > 0
}

// laneView is what was seen of a lane before.
type laneView struct {
	share     flags.Share // that tasks follow
	followed  time.Time   // since when they do; zero if they do not
	revision  string      // of the flag
	elsewhere time.Time   // when another revision was last seen
	looked    time.Time
}

// adopt takes the state from the journal, unless the seat has gone on without it.
func (s *seat) adopt(state rollout.State) {
	if s.base == nil && state.Version >= s.state.Version {
		s.state = state
	}
	if len(s.lanes) != len(state.Lanes) {
		s.lanes = make([]laneView, len(state.Lanes))
	}
	if state.Plan != nil && len(s.counts) != len(state.Plan.Gates) {
		s.counts = make([]count, len(state.Plan.Gates))
	}
}

// gates returns the gates of a rollout that there is something to do for.
func (s *seat) gates() []gates.Gate {
	if s.state.Plan == nil || !s.state.Phase.Active() {
		return nil
	}
	return s.state.Plan.Gates
}

// inMemory goes on with an event that the journal cannot take now.
func (s *seat) inMemory(e *rollout.Event) {
	if s.base == nil {
		base := s.state
		s.base, s.wrote = &base, nil
	}
	s.state = rollout.Apply(s.state, e)
}

// remember keeps what a write of ours made while the journal is away.
func (s *seat) remember(lane int, after flags.Setting) {
	if s.base == nil {
		return
	}
	at := rollout.LaneShare{Lane: s.state.Lanes[lane].Name, Share: after.Share, Revision: after.Revision, Stamp: after.Stamp.Seq}
	for i := range s.wrote {
		if s.wrote[i].Lane == at.Lane {
			s.wrote[i] = at
			return
		}
	}
	s.wrote = append(s.wrote, at)
}

// follow notes whether a lane's tasks follow its share, and returns since when.
func (v *laneView) follow(share flags.Share, converged bool, now time.Time) time.Time {
	switch {
	case !converged:
		v.followed = time.Time{}
		return now
	case v.followed.IsZero() || v.share != share:
		v.share, v.followed = share, now
	}
	return v.followed
}

// notice notes a flag's revision, and returns when another one was last seen.
func (v *laneView) notice(revision string, now time.Time) time.Time {
	if v.revision != revision {
		if v.revision != "" {
			v.elsewhere = v.looked
		}
		v.revision = revision
	}
	v.looked = now
	return v.elsewhere
}
