package rollout

import "github.com/seed-c8cbbb61/cutover/flags"

// agree folds what people agree on among themselves.
func (s *State) agree(e *Event) {
	switch e.Kind {
	case Proposed:
		s.Proposal = &Proposal{Plan: e.Plan, By: e.By, At: e.At, Why: e.Why, Loosens: e.Loosens}
	case Amended:
		s.amend(e)
	case Rejected:
		if s.Proposal != nil {
			s.Proposal = nil
			return
		}
		s.hold(e)
	case Offered:
		s.Offer = &Offer{To: e.Subject, By: e.By, At: e.At}
	default: // handed over
		s.Owner, s.Offer = e.Subject, nil
	}
}

// amend takes another version of the plan: approvals are void, and the present
// shares are proven and baked anew.
func (s *State) amend(e *Event) {
	if e.Plan == nil || len(e.Plan.Lanes) != len(s.Lanes) {
		return
	}
	s.Plan, s.PlanHash, s.Planner, s.Proposal = e.Plan, e.Plan.Hash(), e.By, nil
	s.PlanVersion++
	s.reset()
}

// takeOver takes the shares that the flags already have for ours. Who took them
// over holds them until they are resumed; then they bake as if we had raised them.
func (s *State) takeOver() {
	for _, at := range s.TakeOver {
		i := s.lane(at.Lane)
		if i < 0 || at.Share == flags.None {
			continue
		}
		s.Lanes[i].Intended, s.Lanes[i].Confirmed = at.Share, at.Share
		s.LastRaised = i
	}
	s.Untouched = len(s.TakeOver) > 0
	s.TakeOver = nil
}
