package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// levelOf says how much a command asks, by what it would do to a rollout.
func levelOf(c *rollout.Command, s *rollout.State) level {
	switch c.Verb {
	case rollout.Rollback:
		return askLightly
	case rollout.Advance, rollout.Approve:
		if firstWrites(c, s) {
			return askName
		}
		return askYes
	case rollout.Start, rollout.Adopt, rollout.Resume, rollout.Acknowledge:
		return askYes
	case rollout.Retry, rollout.Complete:
		return askName
	case rollout.Withdraw:
		if s.Phase == rollout.Draft {
			return askNothing
		}
		return askName
	default:
		return askNothing
	}
}

// firstWrites reports whether the next step is the first that moves writes, and
// is not another than the one that the command names.
func firstWrites(c *rollout.Command, s *rollout.State) bool {
	if s.Plan == nil || s.Proposal != nil {
		return false
	}
	next, ok := s.Next()
	return ok && next.First && s.Plan.Lanes[next.Lane].Class == rollout.Writes &&
		(len(c.To) != 1 || c.To[0].Lane == s.Lanes[next.Lane].Name)
}

// give gives a command to a rollout. Where it is due, it says first what will be,
// and asks; with --dry-run it says it and does nothing. The state is that after
// the command, and zero after a dry run.
//
// What is said was seen at a revision: a person who has answered a question acts
// on that revision only, unless the command lowers.
func (s *session) give(ctx context.Context, name string, c rollout.Command) (rollout.State, error) {
	s.name = name
	c.Reason, c.Expect = s.Reason, s.ExpectRev
	if s.DryRun {
		return rollout.State{}, s.foretell(ctx, &c)
	}
	if mayAsk(c.Verb) {
		if err := s.consider(ctx, &c); err != nil {
			return rollout.State{}, err
		}
	}
	c.Request = s.request()
	state, err := s.api.Do(ctx, name, c)
	s.changing = err != nil // what was answered is done, whatever comes after it
	return state, err
}

// mayAsk reports whether a verb may ask at all. Those that never do are sent
// without a look.
func mayAsk(verb rollout.Verb) bool {
	c := rollout.Command{Verb: verb}
	return levelOf(&c, &rollout.State{}) > askNothing
}

// consider looks, and asks. A command that will be refused is not asked about:
// the server says why, and records it.
func (s *session) consider(ctx context.Context, c *rollout.Command) error {
	if c.Verb == rollout.Rollback && (!s.canAsk() || s.Yes) {
		return nil // nothing stands before it
	}
	status, err := s.api.Status(ctx, s.name)
	if err != nil && (c.Verb != rollout.Rollback || tellsAll(err) || ctx.Err() != nil) {
		return cmp.Or(s.lacking(ctx, c, err), err)
	}
	if err != nil { // a rollback may come through all the same
		status = rollout.Status{State: rollout.State{Name: s.name}}
		return s.confirm(ctx, s.questionOf(c, &status))
	}
	s.mean(c, &status.State)
	q := s.questionOf(c, &status)
	if s.canAsk() && s.refuses(c, &status.State) != nil {
		c.Expect = status.State.Version // or else it might be obeyed after all, unasked
		return nil
	}
	if err := s.confirm(ctx, q); err != nil {
		return err
	}
	if s.canAsk() && !s.Yes && c.Verb != rollout.Rollback && c.Expect == 0 {
		c.Expect = status.State.Version
	}
	return nil
}

// lacking says which flag is missing where nobody can be asked: that is so
// whether or not the server is there.
func (s *session) lacking(ctx context.Context, c *rollout.Command, away error) error {
	if _, is := errors.AsType[*client.Unreachable](away); !is || s.canAsk() || ctx.Err() != nil {
		return nil
	}
	state := rollout.State{Name: s.name}
	return s.confirm(ctx, question{level: levelOf(c, &state), name: s.name})
}

// tellsAll reports whether the error of a look is that of any command after it:
// nobody is signed in, may not do it, or there is no such rollout.
func tellsAll(err error) bool {
	problem, ok := errors.AsType[*client.Problem](err)
	return ok && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, problem.Status)
}

// mean fills in the step that a go or an approval is for, so that no other is
// taken for it. A request that may have been sent before means the step of then.
func (s *session) mean(c *rollout.Command, state *rollout.State) {
	if len(c.To) > 0 || s.repeats || c.Verb != rollout.Advance && c.Verb != rollout.Approve && c.Verb != rollout.Reject {
		return
	}
	if next, ok := nextStep(state); ok && state.Proposal == nil {
		c.To = []rollout.LaneShare{next}
		s.meant = c.To
	}
}

// nextStep is the next step of a rollout, if there is any.
func nextStep(s *rollout.State) (rollout.LaneShare, bool) {
	if s.Plan == nil {
		return rollout.LaneShare{}, false
	}
	next, ok := s.Next()
	if !ok {
		return rollout.LaneShare{}, false
	}
	return rollout.LaneShare{Lane: s.Lanes[next.Lane].Name, Share: next.Stage.Share}, true
}

// refuses says why a command would be refused by the rules, or nil. Who gives it
// is the server's to say; what depends on that is not foretold.
func (s *session) refuses(c *rollout.Command, state *rollout.State) error {
	_, err := rollout.Obey(state, c, s.now())
	return err
}

// foretell is a dry run: what a command would do, or why it would be refused.
func (s *session) foretell(ctx context.Context, c *rollout.Command) error {
	status, err := s.api.Status(ctx, s.name)
	if err != nil {
		return err
	}
	s.mean(c, &status.State)
	if who, err := s.api.Whoami(ctx); err == nil {
		c.By = who.Name // some rules are about who it is
	}
	e, err := rollout.Obey(&status.State, c, s.now())
	if err != nil {
		return s.wouldRefuse(err, &status)
	}
	q := s.questionOf(c, &status)
	after := rollout.Apply(status.State, &e)
	if s.json() {
		return s.encode(foretold{DryRun: true, Command: *c, Before: status.State.Phase, After: after.Phase, Says: q.says, Waits: remaining(c, &status)})
	}
	s.print("dry run; nothing was done")
	s.print(q.says...)
	left := remaining(c, &status)
	s.print(s.page(&status).still(left)...)
	if len(left) == 0 && (c.Verb == rollout.Advance || c.Verb == rollout.Approve && status.State.Phase == rollout.Waiting) {
		s.print("  nothing else is waited for: the next bake cycle takes the step")
	}
	return nil
}

// foretold is a dry run as JSON.
type foretold struct {
	DryRun  bool            `json:"dry_run"`
	Command rollout.Command `json:"command"`
	Before  rollout.Phase   `json:"before"`
	After   rollout.Phase   `json:"after"`
	Says    []string        `json:"says"`
	Waits   []rollout.Wait  `json:"waits"`
}

// wouldRefuse says that a command would be refused, with all that stands against it.
func (s *session) wouldRefuse(why error, status *rollout.Status) error {
	if errors.Is(why, rollout.ErrConflict) {
		return why
	}
	return failure{code: exitRefused, text: "it would be refused: " + why.Error(), lines: s.page(status).brief()}
}

// remaining is what a command would still wait for.
func remaining(c *rollout.Command, status *rollout.Status) []rollout.Wait {
	gives := map[rollout.Verb]rollout.WaitKind{rollout.Advance: rollout.WaitGo}[c.Verb]
	if c.Verb == rollout.Approve {
		if next, ok := status.State.Next(); ok && len(status.State.Approvals)+1 >= next.Stage.Approvals {
			gives = rollout.WaitApproval
		}
	}
	if c.Verb != rollout.Advance && c.Verb != rollout.Approve {
		return nil
	}
	waits := status.Waits
	if len(waits) == 0 {
		waits = status.State.Waits
	}
	return slices.DeleteFunc(slices.Clone(waits), func(w rollout.Wait) bool { return w.Kind == gives })
}

// noteLater asks for the reason of what has taken effect, and records it as a
// note. It never fails: what was asked for is done.
func (s *session) noteLater(ctx context.Context, name string) {
	if s.Reason != "" || !s.canAsk() || s.Yes || ctx.Err() != nil {
		return
	}
	why, err := s.ask(ctx, "Why? It goes into the journal; Enter leaves it out:")
	if err != nil || why == "" {
		return
	}
	note := rollout.Command{Verb: rollout.Note, Reason: why, Request: s.RequestID + "-note"}
	if _, err := s.api.Do(ctx, name, note); err != nil {
		s.talk("the note is not recorded: " + err.Error())
	}
}

// above reports whether any share may be above 0.
func above(s *rollout.State) bool {
	return slices.ContainsFunc(s.Lanes, func(l rollout.Lane) bool { return max(l.Intended, l.Confirmed) > flags.None })
}
