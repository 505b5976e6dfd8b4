package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Obey returns the event that a command brings about, or why it is refused. A
// refusal is a [Refusal], or [ErrConflict] where the rollout has gone on since
// the person looked.
func Obey(s *State, c *Command, now time.Time) (Event, error) {
	e := Event{
		Rollout: s.Name, Seq: s.Version + 1, At: now,
		By: c.By, Surface: c.Surface, Request: c.Request, Why: c.Reason,
	}
	obey, known := verbs[c.Verb]
	switch {
	case !known:
		return e, refuse("there is no command %q; there are %s", c.Verb, verbNames())
	case c.Expect != 0 && c.Expect != s.Version:
		return e, fmt.Errorf("%w: you looked at revision %d, now it is %d: %s", ErrConflict, c.Expect, s.Version, s.where())
	}
	return e, obey(s, c, &e)
}

// verbs are the commands, each a function that completes its event or refuses.
var verbs = map[Verb]func(*State, *Command, *Event) error{
	Start:       (*State).obeyStart,
	Advance:     (*State).obeyAdvance,
	Approve:     (*State).obeyApprove,
	HoldIt:      (*State).obeyHold,
	HoldForAll:  (*State).obeyHold,
	Resume:      (*State).obeyResume,
	ReleaseAll:  (*State).obeyReleaseAll,
	Rollback:    (*State).obeyRollback,
	Retry:       (*State).obeyRetry,
	Withdraw:    (*State).obeyWithdraw,
	Complete:    (*State).obeyComplete,
	Acknowledge: (*State).obeyAcknowledge,
	Note:        (*State).obeyNote,
	Adopt:       (*State).obeyAdopt,
	Reject:      (*State).obeyReject,
	HandOver:    (*State).obeyHandOver,
	Accept:      (*State).obeyAccept,
}

func verbNames() string {
	var names []string
	for _, verb := range Verbs() {
		names = append(names, string(verb))
	}
	return strings.Join(names, ", ")
}

// where says in a few words where a rollout stands.
func (s *State) where() string {
	lanes := make([]string, len(s.Lanes))
	for i, lane := range s.Lanes {
		lanes[i] = fmt.Sprintf("%s %v", lane.Name, lane.Intended)
	}
	return fmt.Sprintf("%s at %s", s.Phase, strings.Join(lanes, ", "))
}

// reasons says all holds and what is waited for.
func (s *State) reasons() string {
	var parts []string
	for _, h := range s.Holds {
		parts = append(parts, fmt.Sprintf("hold %s by %s: %s", h.Kind, h.Owner, h.Why))
	}
	for _, w := range s.Waits {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s: %s", w.Kind, w.Subject, w.Why)))
	}
	if len(parts) == 0 {
		return s.first()
	}
	return strings.Join(parts, "; ")
}

// first says what must come first, where no hold and no wait is on record.
func (s *State) first() string {
	switch {
	case s.Phase == Draft:
		return "start it first"
	case s.Phase == Preflight:
		return "the preflight has to pass first"
	case s.Phase == Advancing:
		return "its tasks have to follow the flags first"
	case s.Phase == Baking:
		return "its bake has to end first"
	case s.Phase == Soaking && !s.Soaked:
		return "its soak has to end first"
	case s.Phase.Lowering():
		return "the rollback has to be proven first"
	case s.Phase == RolledBack:
		return "retry makes a new attempt"
	case s.Phase.Ended():
		return "it is over"
	}
	return "status names what it waits for"
}

func (s *State) obeyStart(_ *Command, e *Event) error {
	e.Kind = Started
	return s.startable()
}

// startable says why an attempt cannot begin, if so.
func (s *State) startable() error {
	switch {
	case s.Phase == RolledBack:
		return refuse("%s is rolled back; retry makes a new attempt", s.Name)
	case s.Phase != Draft:
		return refuse("%s is started already: it is %s", s.Name, s.where())
	case s.Plan.Kind == MovingData:
		return refuse("%s is a moving-data plan; this version parses such plans and does not start them, since its writes need a pause, a fence and a reverse path", s.Name)
	}
	return nil
}

func (s *State) obeyRetry(_ *Command, e *Event) error {
	if s.Phase != RolledBack {
		return refuse("only a rollout that is rolled back can be retried; %s is %s", s.Name, s.where())
	}
	e.Kind = Retried
	return nil
}

func (s *State) obeyAdvance(c *Command, e *Event) error {
	if s.Phase != Ready && s.Phase != Waiting {
		return refuse("%s cannot be advanced: it is %s; %s", s.Name, s.where(), s.reasons())
	}
	next, ok := s.Next()
	if err := s.meant(c, next, ok); err != nil {
		return err
	}
	switch {
	case !ok:
		return refuse("%s has no further stage", s.Name)
	case !next.Stage.Manual:
		return refuse("the step of %s to %v needs no go; it goes on by itself once this is there: %s", s.Lanes[next.Lane].Name, next.Stage.Share, s.reasons())
	case s.Go:
		return refuse("the go for %v is given already; the next bake cycle takes the step, or status names what is missing", next.Stage.Share)
	}
	e.Kind, e.Lane, e.From, e.To = Advanced, s.Lanes[next.Lane].Name, next.From, next.Stage.Share
	return nil
}

func (s *State) obeyApprove(c *Command, e *Event) error {
	if s.Proposal != nil {
		if err := s.meantAmendment(c); err != nil {
			return err
		}
		return s.agreeTo(c, e)
	}
	a := &Approval{Plan: s.PlanHash, Evidence: s.Evidence, By: c.By, At: e.At, Expires: e.At.Add(ApprovalLife)}
	next, ok := s.Next()
	if err := s.meant(c, next, ok); err != nil {
		return err
	}
	switch {
	case s.Phase == Soaking && s.Soaked:
		a.From, a.To = flags.All, flags.All
	case s.Phase != Ready && s.Phase != Waiting || !ok:
		return refuse("there is nothing to approve: %s is %s; %s", s.Name, s.where(), s.reasons())
	case next.Stage.Approvals == 0:
		return refuse("the step of %s to %v needs no approval; %s", s.Lanes[next.Lane].Name, next.Stage.Share, s.reasons())
	default:
		a.Lane, a.From, a.To = s.Lanes[next.Lane].Name, next.From, next.Stage.Share
	}
	if slices.ContainsFunc(s.Approvals, func(b Approval) bool { return b.By == c.By && e.At.Before(b.Expires) }) {
		return refuse("%s has approved this step already; one person counts once", c.By)
	}
	e.Kind, e.Approval, e.Lane, e.From, e.To = Approved, a, a.Lane, a.From, a.To
	return nil
}

func (s *State) obeyHold(c *Command, e *Event) error {
	kind := HoldPerson
	if c.Verb == HoldForAll {
		kind = HoldAll
	}
	switch {
	case s.Phase.Lowering():
		return refuse("%s is %s; a hold would keep shares up, and nothing rises until it is proven", s.Name, s.where())
	case !s.Phase.Active() || s.Phase == RolledBack:
		return refuse("there is nothing to hold: %s is %s", s.Name, s.where())
	case s.holds(kind):
		return refuse("%s is held already: %s", s.Name, s.reasons())
	}
	e.Kind = HeldOn
	e.Hold = &Hold{Kind: kind, Owner: c.By, Why: cmp.Or(c.Reason, "no reason given"), At: e.At}
	return nil
}

func (s *State) obeyResume(_ *Command, e *Event) error {
	var ends, stays []HoldKind
	for _, h := range s.Holds {
		if h.Kind.clearsItself() || h.Kind == HoldAll {
			stays = append(stays, h.Kind)
		} else {
			ends = append(ends, h.Kind)
		}
	}
	switch {
	case s.Phase != Held:
		return refuse("%s is not held: it is %s", s.Name, s.where())
	case s.Pending != nil:
		return refuse("the raise of %s to %v is being taken back; resume again in a few seconds", s.Pending.Lane, s.Pending.To)
	case len(ends) == 0 && slices.Contains(stays, HoldAll):
		return refuse("%s is held by hold-all; only release-all ends that", s.Name)
	case len(ends) == 0:
		return refuse("%s goes on by itself once the cause is gone: %s", s.Name, s.reasons())
	}
	e.Kind, e.Holds = Resumed, ends
	return nil
}

func (s *State) obeyReleaseAll(_ *Command, e *Event) error {
	if !s.holds(HoldAll) {
		return refuse("%s is not held by hold-all", s.Name)
	}
	if s.Pending != nil {
		return refuse("the raise of %s to %v is being taken back; release again in a few seconds", s.Pending.Lane, s.Pending.To)
	}
	e.Kind, e.Holds = Released, []HoldKind{HoldAll}
	return nil
}

func (s *State) obeyRollback(c *Command, e *Event) error {
	switch s.Phase {
	case Draft, RolledBack:
		return refuse("%s is %s: no task uses the target", s.Name, s.Phase)
	case Preflight:
		if s.TakeOver == nil {
			return refuse("%s is %s: no task uses the target", s.Name, s.Phase)
		}
	case Completed, Withdrawn:
		return refuse("%s is %s; the way back is a rollout of its own", s.Name, s.Phase)
	default:
	}
	targets := c.To
	if len(targets) == 0 {
		targets = make([]LaneShare, len(s.Lanes))
		for i := range s.Lanes {
			targets[i].Lane = s.Lanes[i].Name
		}
	}
	for _, to := range targets {
		i := s.lane(to.Lane)
		switch {
		case i < 0:
			return refuse("there is no lane %q; there are %s", to.Lane, strings.Join(s.laneNames(), ", "))
		case !to.Share.Valid():
			return refuse("share %d of lane %s: must be from 0%% to 100%%", int(to.Share), to.Lane)
		case to.Share > 0 && to.Share > s.Lanes[i].Intended:
			return refuse("lane %s is at %v; a rollback only lowers, it does not go to %v", to.Lane, s.Lanes[i].Intended, to.Share)
		}
	}
	e.Kind = Lowered
	e.Targets = s.Plan.cascade(s.base(targets))
	e.Hold = &Hold{Kind: HoldPerson, Owner: c.By, Why: cmp.Or(c.Reason, "rolled back by a person"), At: e.At}
	return nil
}

func (s *State) laneNames() []string {
	names := make([]string, len(s.Lanes))
	for i := range s.Lanes {
		names[i] = s.Lanes[i].Name
	}
	return names
}

func (s *State) obeyWithdraw(_ *Command, e *Event) error {
	switch {
	case s.Phase.Ended():
		return refuse("%s is %s already", s.Name, s.Phase)
	case s.holds(HoldDrift):
		return refuse("%s is held by drift: another hand wrote a flag; roll it back first, then withdraw it at 0%%", s.Name)
	case s.Phase == Draft, s.Phase == RolledBack, s.Phase == Preflight:
	case s.Phase == Ready && s.atZero() && s.Pending == nil, s.Phase == Held && s.atZero() && s.Pending == nil:
	default:
		return refuse("%s is %s; roll it back first, then withdraw it at 0%%", s.Name, s.where())
	}
	e.Kind = GivenUp
	return nil
}

func (s *State) obeyComplete(_ *Command, e *Event) error {
	switch {
	case s.Phase != Soaking:
		return refuse("only a rollout that is soaking can be completed; %s is %s", s.Name, s.where())
	case !s.Soaked:
		return refuse("the soak is not over: %s", s.reasons())
	case !slices.ContainsFunc(s.Approvals, func(a Approval) bool { return e.At.Before(a.Expires) }):
		return refuse("an approver must approve the completion first: the old path goes with it")
	}
	e.Kind = Done
	return nil
}

func (s *State) obeyAcknowledge(_ *Command, e *Event) error {
	if s.Phase != Stuck {
		return refuse("there is nothing to acknowledge: %s is %s", s.Name, s.where())
	}
	e.Kind = Acknowledged
	return nil
}

func (s *State) obeyNote(c *Command, e *Event) error {
	if c.Reason == "" {
		return refuse("a note needs a text")
	}
	e.Kind = Noted
	return nil
}
