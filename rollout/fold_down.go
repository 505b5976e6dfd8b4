package rollout

import (
	"slices"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// applyDown folds the events of the way down.
func (s *State) applyDown(e *Event) {
	switch e.Kind {
	case Lowered:
		s.lower(e)
	case Adopted:
		s.adopt(e)
	case Late:
		s.late(e)
	case Proven:
		s.proven(e)
	case BecameStuck:
		s.abandon()
		for i := range s.Lanes {
			s.Lanes[i].Target, s.Lanes[i].Intended = flags.None, flags.None
		}
		s.reset()
		s.enter(Stuck, e)
	default: // acknowledged
		s.rest(e)
	}
}

// abandon takes the unconfirmed raise back before it is known to be dead: its
// revision must die before anything counts as proven.
func (s *State) abandon() {
	if i := s.pending(); i >= 0 {
		lane := &s.Lanes[i]
		lane.Fence, lane.Returned, lane.Restoring = s.Pending.Revision, s.Pending.To, false
		lane.Intended = min(lane.Intended, lane.Confirmed)
	}
	s.Pending = nil
}

// lower sets targets; the shares wanted are the targets from now on.
func (s *State) lower(e *Event) {
	s.abandon()
	s.aim(e.Targets)
	s.addHold(e.Hold)
	for _, gate := range e.Gates {
		if !slices.Contains(s.Causes, gate) {
			s.Causes = append(slices.Clone(s.Causes), gate)
		}
	}
	if e.Again {
		s.Previous++
	}
	s.Changed = e.At
	s.reset()
	if s.Phase != Stuck {
		s.enter(RollingBack, e)
	}
}

func (s *State) aim(targets []LaneShare) {
	for i := range s.Lanes {
		if !s.Phase.Lowering() {
			s.Lanes[i].Target = s.Lanes[i].Intended
		}
	}
	for _, to := range targets {
		if i := s.lane(to.Lane); i >= 0 {
			s.Lanes[i].Target = min(s.Lanes[i].Target, to.Share)
		}
	}
	for i := range s.Lanes {
		s.Lanes[i].Intended = min(s.Lanes[i].Intended, s.Lanes[i].Target)
	}
}

// adopt takes another hand's lower share for ours. With targets, other lanes
// must follow, or it is to be proven that all are at 0 %.
func (s *State) adopt(e *Event) {
	i := s.lane(e.Lane)
	if i < 0 {
		return
	}
	s.abandon()
	lane := &s.Lanes[i]
	lane.Intended, lane.Confirmed = e.To, e.To
	lane.Revision, lane.Seq = e.Revision, max(lane.Seq, e.Stamp)
	lane.Target = min(lane.Target, e.To)
	s.addHold(e.Hold)
	s.Changed = e.At
	s.reset()
	switch {
	case e.Targets != nil:
		s.aim(e.Targets)
		if s.Phase != Stuck {
			s.enter(RollingBack, e)
		}
	case !s.Phase.Lowering():
		s.enter(Held, e)
	}
}

// proven ends a rollback.
func (s *State) proven(e *Event) {
	if s.atZero() {
		s.rest(e)
		return
	}
	s.Causes = nil
	s.reset()
	if len(s.Holds) > 0 {
		s.enter(Held, e)
		return
	}
	s.proveAnew(e)
}

// rest is the end of an attempt: at 0 %, and it stays so.
func (s *State) rest(e *Event) {
	s.Holds = slices.DeleteFunc(slices.Clone(s.Holds), func(h Hold) bool { return h.Kind != HoldAll })
	s.Causes = nil
	s.enter(RolledBack, e)
}

// base returns where lanes are meant to be without an unconfirmed raise, each
// no higher than the shares given.
func (s *State) base(lower []LaneShare) []LaneShare {
	shares := make([]LaneShare, len(s.Lanes))
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		share := lane.Intended
		if s.Phase.Lowering() {
			share = lane.Target
		}
		if s.pending() == i {
			share = min(share, lane.Confirmed)
		}
		shares[i] = LaneShare{Lane: lane.Name, Share: share}
		for _, to := range lower {
			if to.Lane == lane.Name {
				shares[i].Share = min(shares[i].Share, to.Share)
			}
		}
	}
	return shares
}

// cascade lowers each writes lane to no more than the reads lanes of its services.
func (p *Plan) cascade(shares []LaneShare) []LaneShare {
	for w := range shares {
		for r := range shares {
			if p.follows(w, r) {
				shares[w].Share = min(shares[w].Share, shares[r].Share)
			}
		}
	}
	return shares
}
