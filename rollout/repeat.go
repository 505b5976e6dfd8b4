package rollout

import (
	"fmt"
	"slices"
)

// Planning is what a refused plan has for its verb. It is no verb of [Obey]: it
// needs a plan.
const Planning Verb = "plan"

// Reused says that a request id, which makes a repeated command act once, was
// given to another command before.
type Reused struct {
	Event Event // which that one caused
}

func (r Reused) Error() string {
	return fmt.Sprintf("request %s has done something else already: event %d, %s, by %s; nothing was done now. Take a new request id",
		r.Event.Request, r.Event.Seq, r.Event.Kind, r.Event.By)
}

// Answers reports whether an event, or a refusal, is what a command would have
// caused: the same verb of the same person, and the same effect. What the person
// looked at, and gave as a reason, may differ; but a note is its reason.
func (e *Event) Answers(c *Command) bool {
	if e.By != c.By {
		return false
	}
	if e.Kind == Refused {
		return e.Command != nil && e.Command.Verb == c.Verb && e.Command.Person == c.Person && sameShares(e.Command.To, c.To)
	}
	if !slices.Contains(effects[c.Verb], e.Kind) {
		return false
	}
	switch c.Verb {
	case Approve:
		return e.Kind == Amended && len(e.Loosens) > 0 || e.Kind == Approved && e.step(c.To)
	case Advance:
		return e.step(c.To)
	case HoldIt, HoldForAll:
		return e.Hold != nil && (e.Hold.Kind == HoldAll) == (c.Verb == HoldForAll)
	case Note:
		return e.Why == c.Reason
	case HandOver:
		return e.Subject == c.Person
	case Adopt:
		return sameShares(e.Targets, c.To)
	case Rollback:
		return len(c.To) == 0 && sameShares(e.Targets, nil) || len(c.To) > 0 && e.lowers(c.To)
	default:
		return true
	}
}

// effects are the kinds of events that each verb brings about.
var effects = map[Verb][]Kind{
	Start: {Started}, Adopt: {TakenOver}, Advance: {Advanced}, Approve: {Approved, Amended}, Reject: {Rejected},
	HoldIt: {HeldOn}, HoldForAll: {HeldOn}, Resume: {Resumed}, ReleaseAll: {Released}, Rollback: {Lowered},
	Retry: {Retried}, Withdraw: {GivenUp}, Complete: {Done}, Acknowledge: {Acknowledged}, Note: {Noted},
	HandOver: {Offered}, Accept: {HandedOver},
}

// step reports whether an event is of the step that was meant; any, if none was named.
func (e *Event) step(to []LaneShare) bool {
	return len(to) == 0 || len(to) == 1 && to[0].Lane == e.Lane && to[0].Share == e.To
}

// sameShares reports whether two lists ask for the same; a lane that is not
// named is at 0.
func sameShares(a, b []LaneShare) bool {
	shares := map[string]int{}
	for _, l := range a {
		shares[l.Lane] += int(l.Share)
	}
	for _, l := range b {
		shares[l.Lane] -= int(l.Share)
	}
	for _, left := range shares {
		if left != 0 {
			return false
		}
	}
	return true
}

// lowers reports whether a rollback's event takes lanes where they were asked to
// go. Writes may go further down: never above their reads.
func (e *Event) lowers(to []LaneShare) bool {
	for _, want := range to {
		if !slices.ContainsFunc(e.Targets, func(l LaneShare) bool { return l.Lane == want.Lane && l.Share <= want.Share }) {
			return false
		}
	}
	return slices.ContainsFunc(e.Targets, func(l LaneShare) bool {
		return slices.ContainsFunc(to, func(want LaneShare) bool { return want.Lane == l.Lane && want.Share == l.Share })
	})
}

// AnswersHouse is [Event.Answers] for what is about all rollouts. Until when
// something was asked for may differ: it may have been said as a duration.
func (e *Event) AnswersHouse(c *HouseCommand) bool {
	switch {
	case e.By != c.By:
		return false
	case e.Kind == Refused:
		return e.Subject == string(c.Verb)
	case !slices.Contains(houseEffects[c.Verb], e.Kind):
		return false
	case e.Freeze != nil:
		return e.Freeze.Database == c.Database
	case e.Trouble != nil:
		return e.Trouble.Database == c.Database && e.Trouble.What == c.What
	case c.Verb == Thaw:
		return e.Subject == c.Database
	default:
		return c.Subject == "" || e.Subject == c.Subject
	}
}

var houseEffects = map[Verb][]Kind{
	HoldForAll: {HeldAll}, ReleaseAll: {ReleaseDue, ReleasedAll}, Freezing: {Frozen}, Thaw: {Thawed},
	Disturb: {Disturbed}, Quiet: {Quieted}, MakeToken: {TokenMade}, TakeToken: {TokenTaken},
}
