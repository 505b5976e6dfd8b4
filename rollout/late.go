package rollout

import (
	"slices"
	"time"
)

// NewLate returns the event that tells the journal, once it is back, what a
// guard did without it: from is the last folded state that the guard knew, to is
// where it went on from there in memory, and wrote are the shares that it made,
// with their revisions.
//
// Where the journal has stood still meanwhile, all of it counts. Where it has
// gone on, only shares do whose revision is newer than the confirmed one.
func NewLate(from, to *State, wrote []LaneShare, now time.Time) Event {
	e := Event{
		Rollout: from.Name, Kind: Late, At: now, By: Controller, Surface: Controller,
		Why: to.Why, Page: true, Base: from.Version, Gates: to.Causes, Again: to.Previous > from.Previous,
		Hold: &Hold{Kind: HoldGate, Owner: Controller, Why: to.Why, At: now},
	}
	if from.Phase.Lowering() { // it has its hold already
		e.Hold = nil
	}
	for i := range to.Holds {
		if !from.holds(to.Holds[i].Kind) {
			e.Hold = &to.Holds[i]
		}
	}
	for i := range to.Lanes {
		name := to.Lanes[i].Name
		if at := slices.IndexFunc(wrote, func(w LaneShare) bool { return w.Lane == name }); at >= 0 {
			e.Targets = append(e.Targets, wrote[at])
		} else {
			e.Targets = append(e.Targets, LaneShare{Lane: name, Share: to.Lanes[i].Intended})
		}
	}
	return e
}

// late folds such an event.
func (s *State) late(e *Event) {
	if s.Phase == Draft || s.Phase == Preflight || s.Phase == RolledBack || s.Phase.Ended() {
		return
	}
	still := e.Base == e.Seq-1
	var counted []LaneShare
	for _, at := range e.Targets {
		i := s.lane(at.Lane)
		if i < 0 {
			continue
		}
		newer := at.Stamp > s.Lanes[i].Seq
		if newer || still {
			counted = append(counted, at)
		}
		if lane := &s.Lanes[i]; newer {
			lane.Confirmed = min(lane.Confirmed, at.Share)
		}
	}
	if len(counted) == 0 {
		return
	}
	down := *e
	down.Targets = s.Plan.cascade(s.base(counted))
	s.lower(&down)
}
