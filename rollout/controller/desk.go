package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Plan stores a version of a plan: a new rollout's first, or a draft's next.
func (c *Controller) Plan(ctx context.Context, p *rollout.Plan, cmd rollout.Command) (rollout.State, error) {
	if err := p.Validate(); err != nil {
		return rollout.State{}, err
	}
	before, err := c.Journal.State(ctx, p.Name)
	switch {
	case errors.Is(err, rollout.ErrNotFound):
	case err != nil:
		return rollout.State{}, fmt.Errorf("%w: %w", rollout.ErrAway, err)
	case cmd.Expect != 0 && cmd.Expect != before.Version:
		return c.noPlan(ctx, before, p, cmd, fmt.Errorf("%w: you looked at revision %d, now it is %d", rollout.ErrConflict, cmd.Expect, before.Version))
	case before.Phase != rollout.Draft:
		return c.noPlan(ctx, before, p, cmd, rollout.Refusal(fmt.Sprintf("rollout %s is %s; its plan can only be replaced while it is a draft; later it is amended, while it is held", p.Name, before.Phase)))
	}
	e := rollout.Event{
		Rollout: p.Name, Kind: rollout.Planned, At: c.Now().UTC(), Plan: p,
		By: cmd.By, Surface: cmd.Surface, Request: cmd.Request, Why: cmd.Reason,
	}
	after, _, err := c.Journal.Append(ctx, before, e)
	if now, answer, done := c.doneBefore(ctx, p.Name, err, planned(p, cmd)); done {
		return now, answer
	}
	return after, err
}

// noPlan records that a plan was refused, and returns why; unless the request
// has stored it already.
func (c *Controller) noPlan(ctx context.Context, s rollout.State, p *rollout.Plan, cmd rollout.Command, why error) (rollout.State, error) {
	cmd.Verb = rollout.Planning
	err := c.refused(ctx, s, cmd, why)
	if now, answer, done := c.doneBefore(ctx, p.Name, err, planned(p, cmd)); done {
		return now, answer
	}
	return s, err
}

// planned reports of an event whether it is what storing a plan caused.
func planned(p *rollout.Plan, cmd rollout.Command) func(*rollout.Event) bool {
	cmd.Verb = rollout.Planning
	return func(e *rollout.Event) bool {
		return e.Answers(&cmd) || e.Kind == rollout.Planned && e.By == cmd.By && e.Plan != nil && e.Plan.Hash() == p.Hash()
	}
}

// doneBefore reports whether a request has done its work already, and then
// answers as it was answered: with the present state, or the refusal. A request
// that has done something else is refused.
func (c *Controller) doneBefore(ctx context.Context, name string, err error, same func(*rollout.Event) bool) (rollout.State, error, bool) {
	var done rollout.Duplicate
	if !errors.As(err, &done) {
		return rollout.State{}, nil, false
	}
	now, err := c.Journal.State(ctx, name)
	e := &done.Event
	switch {
	case err != nil:
	case !same(e):
		err = rollout.Reused{Event: *e}
	case e.Kind == rollout.Refused && e.Command != nil && e.Command.Expect != 0 && e.Command.Expect != e.Seq-1:
		err = fmt.Errorf("%w: %s", rollout.ErrConflict, e.Why)
	case e.Kind == rollout.Refused:
		err = rollout.Refusal(e.Why)
	}
	return now, err, true
}

// Do obeys a command. A refusal is an event, too. A rollback is obeyed also
// while the journal is away.
func (c *Controller) Do(ctx context.Context, name string, cmd rollout.Command) (rollout.State, error) {
	const conflicts = 10 // whoever appends gets on, so it ends
	for range conflicts {
		s, err := c.state(ctx, name)
		switch {
		case name == rollout.HouseName:
			return s, rollout.ErrNotFound
		case errors.Is(err, rollout.ErrNotFound):
			return s, err
		case err != nil:
			return c.withoutJournal(ctx, name, cmd, err)
		}
		after, err := c.obey(ctx, s, cmd)
		switch {
		case errors.Is(err, rollout.ErrConflict) && cmd.Expect == 0:
			continue // it went on: judge the command by its new state
		case err == nil:
			c.Poke()
			return after, nil
		}
		if now, answer, done := c.doneBefore(ctx, name, err, func(e *rollout.Event) bool { return e.Answers(&cmd) }); done {
			return now, answer
		}
		if isOurs(err) {
			return s, err
		}
		return c.withoutJournal(ctx, name, cmd, err)
	}
	return rollout.State{}, rollout.ErrConflict
}

// state returns a rollout's state. A journal that does not answer must not keep
// a rollback waiting.
func (c *Controller) state(ctx context.Context, name string) (rollout.State, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	return c.Journal.State(ctx, name)
}

// isOurs reports whether an error is an answer, and not a fault of the journal.
func isOurs(err error) bool {
	return errors.As(err, new(rollout.Refusal)) || errors.As(err, new(rollout.Locked)) || errors.Is(err, rollout.ErrConflict)
}

func (c *Controller) obey(ctx context.Context, s rollout.State, cmd rollout.Command) (rollout.State, error) {
	e, err := rollout.Obey(&s, &cmd, c.Now().UTC())
	if err == nil && cmd.Verb == rollout.Withdraw {
		err = c.atZero(ctx, &s)
	}
	if err == nil && e.Kind == rollout.Amended {
		err = c.calm(&s, e.Plan)
	}
	if err != nil {
		return s, c.refused(ctx, s, cmd, err)
	}
	return c.append(ctx, s, e)
}

// atZero refuses to give up a rollout whose flags may still have a share:
// nobody would lower them any more.
func (c *Controller) atZero(ctx context.Context, s *rollout.State) error {
	if s.Phase == rollout.Draft {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flagPatience)
	defer cancel()
	for i := range s.Plan.Lanes {
		key := s.Plan.Lanes[i].Flag
		setting, err := c.Flags.Read(ctx, key)
		switch {
		case err != nil:
			return rollout.Refusal(fmt.Sprintf("flag %s cannot be read, so nobody knows that it is at 0%%: %v", key, err))
		case setting.Share > 0:
			return rollout.Refusal(fmt.Sprintf("flag %s is at %v; roll it back first, then withdraw it at 0%%", key, setting.Share))
		}
	}
	return nil
}

// refused records a refusal and returns it. The journal knows the request if it
// was obeyed before: then the refusal is only that it is late for once more.
func (c *Controller) refused(ctx context.Context, s rollout.State, cmd rollout.Command, why error) error {
	if cmd.Verb == rollout.Advance {
		why = c.withWaits(s, why)
	}
	e := rollout.Event{
		Kind: rollout.Refused, At: c.Now().UTC(), By: cmd.By, Surface: cmd.Surface, Request: cmd.Request,
		Why: why.Error(), Command: &cmd,
	}
	_, _, err := c.Journal.Append(ctx, s, e)
	switch {
	case errors.As(err, new(rollout.Duplicate)):
		return err
	case err != nil:
		c.Log.WarnContext(ctx, "a refusal is not recorded", "rollout", s.Name, "err", err)
	}
	return why
}

// withWaits adds to a refusal all that the rollout waits for, as it was seen last.
func (c *Controller) withWaits(s rollout.State, why error) error {
	seat := c.known(s.Name)
	if seat == nil || !errors.As(why, new(rollout.Refusal)) {
		return why
	}
	last := seat.look.Load()
	if last == nil || last.state.Version != s.Version {
		return why
	}
	parts := []string{why.Error()}
	for _, w := range last.rest {
		parts = append(parts, fmt.Sprintf("%s %s: %s", w.Kind, w.Subject, w.Why))
	}
	return rollout.Refusal(strings.Join(parts, "; "))
}

// withoutJournal obeys a rollback on the last folded state; nothing else is.
func (c *Controller) withoutJournal(ctx context.Context, name string, cmd rollout.Command, away error) (rollout.State, error) {
	if cmd.Verb != rollout.Rollback {
		return rollout.State{}, fmt.Errorf("%w: %w", rollout.ErrAway, away)
	}
	s := c.known(name)
	if s == nil || s.look.Load() == nil {
		return rollout.State{}, fmt.Errorf("rollout %s is not known without the journal: %w: %w", name, rollout.ErrAway, away)
	}
	state := s.look.Load().state
	e, err := rollout.Obey(&state, &cmd, c.Now().UTC())
	if err != nil {
		return state, err
	}
	s.keep(cmd)
	c.Log.ErrorContext(ctx, "rolling back without the journal", "rollout", name, "why", e.Why, "err", away)
	c.Poke()
	return rollout.Apply(state, &e), nil
}

// unread says why nothing is known of a flag yet.
func unread(phase rollout.Phase) string {
	if phase.Active() {
		return "not looked at yet"
	}
	return "" // nobody looks at it
}

// Status is a rollout as it was when a cycle last looked.
func (c *Controller) Status(ctx context.Context, name string) (rollout.Status, error) {
	state, err := c.Journal.State(ctx, name)
	if name == rollout.HouseName || errors.Is(err, rollout.ErrNotFound) {
		return rollout.Status{}, rollout.ErrNotFound
	}
	last := &look{}
	if s := c.known(name); s != nil && s.look.Load() != nil {
		last = s.look.Load()
	}
	if err == nil && last.state.PlanHash != state.PlanHash {
		last = &look{} // what was seen then is of another plan
	}
	status := rollout.Status{State: state, Verdicts: last.seen.Verdicts, Bake: last.seen.Bake, Waits: last.rest, Looked: last.at, LookedAt: last.state.Version}
	if err != nil {
		if last.state.Plan == nil {
			return rollout.Status{}, fmt.Errorf("rollout %s is not known without the journal: %w: %w", name, rollout.ErrAway, err)
		}
		status.State, status.Away = last.state, err.Error()
		state = last.state
	}
	if !last.at.IsZero() && state.Phase.Active() {
		status.Next = last.at.Add(c.pace())
	}
	for i := range state.Lanes {
		lane := rollout.LaneStatus{
			Name: state.Lanes[i].Name, Class: state.Plan.Lanes[i].Class,
			Intended: state.Lanes[i].Intended, Confirmed: state.Lanes[i].Confirmed,
			Unread: unread(state.Phase),
		}
		if i < len(last.seen.Flags) {
			lane.Published, lane.Unread = last.seen.Flags[i].Share, last.seen.Flags[i].Err
			lane.Tasks = last.seen.Tasks[i]
		}
		status.Lanes = append(status.Lanes, lane)
	}
	return status, nil
}
