package rollout

import (
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Fold returns the state that events make of nothing.
func Fold(events []Event) State {
	var s State
	for i := range events {
		s = Apply(s, &events[i])
	}
	return s
}

// Apply returns the state after an event; the state before stays as it is. An
// event of a kind that is not known changes nothing but the version, so that
// an older program can read a newer journal.
func Apply(s State, e *Event) State {
	s.Version = e.Seq
	if e.Kind == Planned {
		return s.planned(e)
	}
	if s.Plan == nil {
		return s
	}
	s.Lanes = slices.Clone(s.Lanes)
	switch e.Kind {
	case Started, Retried:
		s.start(e)
	case Checked:
		s.checked(e)
	case Led:
		s.Epoch = max(s.Epoch, e.Epoch)
	case Advanced:
		s.Go = true
	case Approved:
		s.approve(e)
	case Voided:
		s.forget()
	case HeldOn:
		s.hold(e)
	case Released, Resumed:
		s.release(e)
	case Done:
		s.enter(Completed, e)
	case GivenUp:
		s.enter(Withdrawn, e)
	case Lowered, Adopted, Late, Proven, BecameStuck, Acknowledged:
		s.applyDown(e)
	default:
		s.applyUp(e)
	}
	return s
}

// applyUp folds the events of the way up.
func (s *State) applyUp(e *Event) {
	switch e.Kind {
	case Stamped:
		s.stamped(e)
	case Raised:
		s.raised(e)
	case Confirmed:
		s.confirm(e)
	case TakenBack:
		s.takeBack(e)
	case Restored:
		if i := s.lane(e.Lane); i >= 0 {
			s.Lanes[i].Returned, s.Lanes[i].Restoring, s.Restored = e.To, true, e.At
		}
	case Settled:
		s.enter(Baking, e)
		s.Settled = e.At
	case Rebaked:
		s.enter(Advancing, e)
		s.Settled = time.Time{}
	case Baked:
		s.enter(Waiting, e)
		s.Evidence = e.Evidence
		for i := range s.Lanes {
			s.Lanes[i].Baked = s.Lanes[i].Intended == flags.All
		}
	case Awaited:
		s.Waits = e.Waits
	case SoakBegan:
		s.enter(Soaking, e)
		s.Settled = e.At
		s.forget()
	case SoakEnded:
		s.Soaked, s.Evidence = true, e.Evidence
	default: // refusals, notes, and what a newer program knows
	}
}

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

func (s State) planned(e *Event) State {
	if s.Plan != nil && s.Phase != Draft || e.Plan == nil {
		return s
	}
	next := State{
		Name: e.Plan.Name, Version: e.Seq, Plan: e.Plan, PlanVersion: s.PlanVersion + 1,
		PlanHash: e.Plan.Hash(), Planner: e.By, LastRaised: -1,
		Attempt: s.Attempt, Epoch: s.Epoch, Holds: s.Holds,
	}
	next.Lanes = make([]Lane, len(e.Plan.Lanes))
	for i := range e.Plan.Lanes {
		next.Lanes[i].Name = e.Plan.Lanes[i].Name
	}
	next.enter(Draft, e)
	return next
}

// enter changes the phase; what was waited for is waited for no longer.
func (s *State) enter(phase Phase, e *Event) {
	if s.Phase != phase {
		s.Phase, s.Since = phase, e.At
	}
	s.Why, s.Waits = e.Why, nil
}

// forget drops what was given for a next step.
func (s *State) forget() { s.Approvals, s.Go = nil, false }

// reset makes the present shares to be proven, and their bake to begin, anew.
func (s *State) reset() {
	s.Settled, s.Evidence, s.Soaked = time.Time{}, "", false
	s.forget()
	for i := range s.Lanes {
		if s.Lanes[i].Intended < flags.All {
			s.Lanes[i].Baked = false
		}
	}
}

func (s *State) start(e *Event) {
	s.Attempt++
	s.reset()
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		*lane = Lane{Name: lane.Name, Seq: lane.Seq, Fence: lane.Fence}
	}
	s.Pending, s.Causes, s.Report = nil, nil, nil
	s.LastRaised, s.Previous = -1, 0
	s.enter(Preflight, e)
}

func (s *State) checked(e *Event) {
	s.Report = e.Report
	if !e.Report.Passed() {
		s.enter(Draft, e)
		return
	}
	for _, at := range e.Targets {
		if i := s.lane(at.Lane); i >= 0 {
			s.Lanes[i].Revision = at.Revision
			s.Lanes[i].Seq = max(s.Lanes[i].Seq, at.Stamp)
		}
	}
	s.Changed = e.At
	s.Evidence = e.Evidence
	s.enter(Ready, e)
	s.settleHolds(e)
}

func (s *State) approve(e *Event) {
	if e.Approval != nil {
		s.Approvals = append(slices.Clone(s.Approvals), *e.Approval)
	}
}

// hold adds a hold. The way down goes on under it, and what has no share has nothing to hold.
func (s *State) hold(e *Event) {
	s.addHold(e.Hold)
	s.forget()
	if !s.Phase.Lowering() && s.Phase != RolledBack && s.Phase != Preflight && s.Phase.Active() {
		s.enter(Held, e)
	}
}

func (s *State) addHold(h *Hold) {
	if h != nil && !s.holds(h.Kind) {
		s.Holds = append(slices.Clone(s.Holds), *h)
	}
}

func (s *State) release(e *Event) {
	s.Holds = slices.DeleteFunc(slices.Clone(s.Holds), func(h Hold) bool { return slices.Contains(e.Holds, h.Kind) })
	if e.Kind == Resumed {
		for i := range s.Lanes {
			s.Lanes[i].Revision = "" // a person has looked: any revision of the present value will do
		}
	}
	if len(s.Holds) == 0 && s.Phase == Held {
		s.proveAnew(e)
	}
}

// proveAnew goes on at the present shares: proven again, baked anew, never
// raised. Where only a cause is gone, what gates saw since the write still counts.
func (s *State) proveAnew(e *Event) {
	s.reset()
	s.Causes = nil
	if s.atZero() || e.Kind == Resumed {
		s.Changed = e.At
	}
	if s.atZero() {
		s.enter(Ready, e)
		if s.Report != nil {
			s.Evidence = s.Report.Hash
		}
		return
	}
	s.enter(Advancing, e)
}

// settleHolds lets the holds that are on say the phase.
func (s *State) settleHolds(e *Event) {
	if len(s.Holds) > 0 {
		s.enter(Held, e)
	}
}

func (s *State) stamped(e *Event) {
	i := s.lane(e.Lane)
	if i < 0 {
		return
	}
	if s.pending() == i {
		pending := *s.Pending
		pending.Revision = e.Revision
		s.Pending = &pending
	}
	lane := &s.Lanes[i]
	lane.Revision, lane.Seq = e.Revision, max(lane.Seq, e.Stamp)
	if lane.Restoring { // it is put back: once, and not whenever the same share is found
		lane.Returned, lane.Restoring = 0, false
	}
}

// raised wants a higher share. What was proven of the former one stays until
// the new one is confirmed: the write is judged by it.
func (s *State) raised(e *Event) {
	i := s.lane(e.Lane)
	if i < 0 {
		return
	}
	s.Pending = &Raise{Lane: e.Lane, From: e.From, To: e.To, Revision: e.Revision, At: e.At, Approvals: s.Approvals}
	lane := &s.Lanes[i]
	lane.Intended, lane.Fence, lane.Returned, lane.Restoring = e.To, "", 0, false
	s.LastRaised = i
	s.forget()
	s.enter(Advancing, e)
}

func (s *State) confirm(e *Event) {
	i := s.lane(e.Lane)
	if i < 0 {
		return
	}
	lane := &s.Lanes[i]
	lane.Confirmed, lane.Revision, lane.Seq = e.To, e.Revision, max(lane.Seq, e.Stamp)
	switch {
	case s.pending() == i && e.To == s.Pending.To:
		s.Pending = nil
		s.Changed = e.At
		s.reset()
	case s.Phase.Lowering():
		lane.Intended, lane.Target = e.To, min(lane.Target, e.To)
	}
}

// takeBack ends a raise that never came to be, and can no longer.
func (s *State) takeBack(e *Event) {
	i := s.pending()
	if i < 0 {
		return
	}
	lane := &s.Lanes[i]
	lane.Intended, lane.Returned, lane.Restoring = lane.Confirmed, s.Pending.To, false
	lane.Revision, lane.Seq = e.Revision, max(lane.Seq, e.Stamp)
	s.Pending = nil
	s.addHold(e.Hold)
	if len(s.Holds) > 0 {
		s.reset()
		s.settleHolds(e)
		return
	}
	s.proveAnew(e)
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
