package rollout

import (
	"cmp"
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
	if e.Rollout == HouseName {
		return s.house(e)
	}
	if e.Kind == Planned {
		return s.planned(e)
	}
	if s.Plan == nil {
		return s
	}
	s.Lanes = slices.Clone(s.Lanes)
	switch e.Kind {
	case Started, Retried, TakenOver:
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
	case Sealed:
		s.Sealed = true
	case Proposed, Amended, Rejected, Offered, HandedOver:
		s.agree(e)
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

func (s State) planned(e *Event) State {
	if s.Plan != nil && s.Phase != Draft || e.Plan == nil {
		return s
	}
	next := State{
		Name: e.Plan.Name, Version: e.Seq, Plan: e.Plan, PlanVersion: s.PlanVersion + 1,
		PlanHash: e.Plan.Hash(), Planner: e.By, LastRaised: -1,
		Attempt: s.Attempt, Epoch: s.Epoch, Holds: s.Holds, Owner: cmp.Or(s.Owner, e.By), Offer: s.Offer,
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
	if phase != Held {
		s.Proposal = nil // a plan is amended while it is held
	}
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
	s.TakeOver, s.Tainted, s.TaintedSince, s.Untouched = nil, false, time.Time{}, false
	if e.Kind == TakenOver {
		s.TakeOver, s.Tainted, s.TaintedSince = e.Targets, true, e.Since
		s.addHold(e.Hold)
	}
	s.Owner, s.Offer = e.By, nil
	s.enter(Preflight, e)
}

func (s *State) checked(e *Event) {
	s.Report = e.Report
	if !e.Report.Passed() {
		if s.TakeOver != nil {
			s.Holds = slices.DeleteFunc(slices.Clone(s.Holds), func(h Hold) bool { return h.Kind == HoldPerson })
			s.TakeOver, s.Tainted, s.TaintedSince = nil, false, time.Time{}
		}
		s.enter(Draft, e)
		return
	}
	for _, at := range e.Targets {
		if i := s.lane(at.Lane); i >= 0 {
			s.Lanes[i].Revision = at.Revision
			s.Lanes[i].Seq = max(s.Lanes[i].Seq, at.Stamp)
		}
	}
	s.takeOver()
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
		s.Untouched = false
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
