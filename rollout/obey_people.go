package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// meant refuses a command that names a step which is not the next one: whoever
// gives it has looked at something else.
func (s *State) meant(c *Command, next Next, ok bool) error {
	switch {
	case len(c.To) == 0:
		return nil
	case len(c.To) > 1:
		return refuse("to: must name one step, not %d", len(c.To))
	case !ok:
		return refuse("%s:%d is not the next stage of %s; there is none", c.To[0].Lane, int(c.To[0].Share), s.Name)
	}
	if name := s.Lanes[next.Lane].Name; c.To[0].Lane != name || c.To[0].Share != next.Stage.Share {
		return refuse("%s:%d is not the next stage of %s, which is %s:%d; no stage can be skipped", c.To[0].Lane, int(c.To[0].Share), s.Name, name, int(next.Stage.Share))
	}
	return nil
}

// meantAmendment refuses a yes or no to a step while an amendment waits: it was
// meant for something else.
func (s *State) meantAmendment(c *Command) error {
	if len(c.To) == 0 {
		return nil
	}
	return refuse("%s:%d is no step that waits: an amendment by %s does; approve or reject that without naming a step", c.To[0].Lane, int(c.To[0].Share), s.Proposal.By)
}

// agreeTo approves an amendment: by somebody else than who proposed it.
func (s *State) agreeTo(c *Command, e *Event) error {
	if s.Proposal.By == c.By {
		return refuse("%s has proposed this plan; a second person must approve what it loosens: %s", c.By, strings.Join(s.Proposal.Loosens, "; "))
	}
	if s.Phase != Held {
		return refuse("a plan is amended while it is held; %s is %s", s.Name, s.where())
	}
	e.Kind, e.Plan, e.Loosens = Amended, s.Proposal.Plan, s.Proposal.Loosens
	return nil
}

// obeyReject says no to what waits for approval: the step is held, so that
// nothing goes on by other approvals; an amendment is dropped.
func (s *State) obeyReject(c *Command, e *Event) error {
	next, ok := s.Next()
	asked := ok && (s.Phase == Ready || s.Phase == Waiting) && next.Stage.Approvals > 0
	switch {
	case c.Reason == "":
		return refuse("a rejection needs a reason: the others must know what to mend")
	case s.Proposal != nil:
		e.Kind = Rejected
		return s.meantAmendment(c)
	case !asked && (s.Phase != Soaking || !s.Soaked):
		return refuse("there is nothing to reject: %s is %s; %s", s.Name, s.where(), s.reasons())
	}
	if err := s.meant(c, next, ok); err != nil {
		return err
	}
	e.Kind = Rejected
	e.Hold = &Hold{Kind: HoldPerson, Owner: c.By, Why: "rejected: " + c.Reason, At: e.At}
	return nil
}

func (s *State) obeyHandOver(c *Command, e *Event) error {
	switch {
	case s.Phase.Ended():
		return refuse("%s is %s; nobody has to answer for it any more", s.Name, s.Phase)
	case c.Person == "":
		return refuse("person: is missing; say whom %s is offered to", s.Name)
	case c.Person == s.Owner:
		return refuse("%s has %s already", c.Person, s.Name)
	case c.Person == c.By:
		return refuse("%s cannot offer it to himself; another must", c.By)
	}
	e.Kind, e.Subject = Offered, c.Person
	return nil
}

func (s *State) obeyAccept(c *Command, e *Event) error {
	switch {
	case s.Offer == nil:
		return refuse("%s is not offered to anybody; it is %s's", s.Name, s.Owner)
	case s.Offer.To != c.By:
		return refuse("%s is offered to %s, not to %s", s.Name, s.Offer.To, c.By)
	}
	e.Kind, e.Subject = HandedOver, c.By
	return nil
}

// obeyAdopt takes over flags that another hand has raised. It changes none: a
// preflight proves that they are as said, and then all of it is held.
func (s *State) obeyAdopt(c *Command, e *Event) error {
	if err := s.startable(); err != nil {
		return err
	}
	shares := make([]LaneShare, len(s.Lanes))
	for i := range s.Lanes {
		shares[i].Lane = s.Lanes[i].Name
	}
	for _, to := range c.To {
		i := s.lane(to.Lane)
		switch {
		case i < 0:
			return refuse("there is no lane %q; there are %s", to.Lane, strings.Join(s.laneNames(), ", "))
		case !to.Share.Valid():
			return refuse("share %d of lane %s: must be from 0%% to 100%%", int(to.Share), to.Lane)
		}
		shares[i].Share = to.Share
	}
	if err := s.inOrder(shares); err != nil {
		return err
	}
	e.Kind, e.Targets, e.Since = TakenOver, shares, c.Since
	e.Hold = &Hold{Kind: HoldPerson, Owner: c.By, Why: "taken over; resume it to have it proven and baked", At: e.At}
	return nil
}

// inOrder refuses shares that no walk could have led to: lanes rise one after the other.
func (s *State) inOrder(shares []LaneShare) error {
	if !slices.ContainsFunc(shares, func(l LaneShare) bool { return l.Share > flags.None }) {
		return refuse("nothing is above 0%%: say what the flags have, such as %s:25, or start it", s.Lanes[0].Name)
	}
	for i := range shares[1:] {
		if shares[i+1].Share > flags.None && shares[i].Share < flags.All {
			return refuse("%s cannot be taken over at %v while %s is at %v: lanes rise one after the other; %s",
				shares[i+1].Lane, shares[i+1].Share, shares[i].Lane, shares[i].Share,
				fmt.Sprintf("set %s to 0%% first, or %s to 100%%", shares[i+1].Lane, shares[i].Lane))
		}
	}
	return nil
}
