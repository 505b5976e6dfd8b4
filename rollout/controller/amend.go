package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Amend takes another version of the plan of a rollout that is held, or makes a
// proposal of it: see [rollout.Amend]. A refusal is an event, too, and the same
// request id never acts twice.
func (c *Controller) Amend(ctx context.Context, p *rollout.Plan, cmd rollout.Command) (rollout.State, error) {
	if err := p.Validate(); err != nil {
		return rollout.State{}, err
	}
	cmd.Verb = rollout.Amending
	const conflicts = 10 // whoever appends gets on, so it ends
	for range conflicts {
		s, err := c.state(ctx, p.Name)
		switch {
		case errors.Is(err, rollout.ErrNotFound):
			return s, err
		case err != nil:
			return rollout.State{}, fmt.Errorf("%w: %w", rollout.ErrAway, err)
		}
		after, err := c.amend(ctx, s, p, cmd)
		switch {
		case errors.Is(err, rollout.ErrConflict) && cmd.Expect == 0:
			continue // it went on: judge the plan by its new state
		case err == nil:
			c.Poke()
			return after, nil
		}
		if now, answer, done := c.doneBefore(ctx, p.Name, err, amended(p, cmd)); done {
			return now, answer
		}
		if isOurs(err) {
			return s, err
		}
		return rollout.State{}, fmt.Errorf("%w: %w", rollout.ErrAway, err)
	}
	return rollout.State{}, rollout.ErrConflict
}

// amended reports of an event whether it is what an amendment caused.
func amended(p *rollout.Plan, cmd rollout.Command) func(*rollout.Event) bool {
	return func(e *rollout.Event) bool {
		asked := e.Kind == rollout.Amended || e.Kind == rollout.Proposed
		return e.Answers(&cmd) || asked && e.By == cmd.By && e.Plan != nil && e.Plan.Hash() == p.Hash()
	}
}

// amend records an amendment or a proposal, or that it was refused.
func (c *Controller) amend(ctx context.Context, s rollout.State, p *rollout.Plan, cmd rollout.Command) (rollout.State, error) {
	breached, _ := c.breached(&s)
	e, err := rollout.Amend(&s, p, &cmd, breached, c.Now().UTC())
	if err == nil {
		err = c.calm(&s, p)
	}
	if err != nil {
		return s, c.refused(ctx, s, cmd, err)
	}
	return c.append(ctx, s, e)
}

// calm refuses to loosen a gate that is in breach, or that nobody has looked at.
func (c *Controller) calm(s *rollout.State, p *rollout.Plan) error {
	breached, seen := c.breached(s)
	if seen {
		return s.Loosenable(p, breached)
	}
	all := make([]string, len(s.Plan.Gates))
	for i := range s.Plan.Gates {
		all[i] = s.Plan.Gates[i].Name
	}
	if s.Loosenable(p, all) != nil {
		return rollout.Refusal("nobody has looked at the gates just now, so what this loosens may be in breach; ask again in a few seconds")
	}
	return nil
}

// recentLook is how old a look may be that says which gates are in breach.
const recentLook = time.Minute

// breached returns the gates in breach; false if nobody has looked by this plan of late.
func (c *Controller) breached(s *rollout.State) ([]string, bool) {
	seat := c.known(s.Name)
	if seat == nil {
		return nil, false
	}
	last := seat.look.Load()
	if last == nil || last.state.PlanHash != s.PlanHash || c.Now().Sub(last.at) > recentLook {
		return nil, false
	}
	return rollout.Breached(last.seen.Verdicts), true
}
