package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// House returns what stands for all rollouts.
func (c *Controller) House(ctx context.Context) (rollout.House, error) {
	s, err := c.state(ctx, rollout.HouseName)
	if err != nil {
		return rollout.House{}, fmt.Errorf("%w: %w", rollout.ErrAway, err)
	}
	return houseOf(&s), nil
}

func houseOf(s *rollout.State) rollout.House {
	if s.House == nil {
		return rollout.House{}
	}
	return *s.House
}

// DoHouse obeys a command about all rollouts. What it holds or releases, it
// holds or releases before it returns; whatever is missed then, a cycle finds.
func (c *Controller) DoHouse(ctx context.Context, cmd rollout.HouseCommand) (rollout.House, error) {
	s, err := c.appendHouse(ctx, cmd)
	if err != nil {
		return houseOf(&s), err
	}
	c.house.Store(s.House)
	if err := c.everywhere(ctx, s.House, &cmd); err != nil {
		c.Log.WarnContext(ctx, "not told to all rollouts yet; the next cycles do", "verb", cmd.Verb, "err", err)
	}
	c.Poke()
	return houseOf(&s), nil
}

// appendHouse records such a command, or its refusal.
func (c *Controller) appendHouse(ctx context.Context, cmd rollout.HouseCommand) (rollout.State, error) {
	const conflicts = 10 // whoever appends gets on, so it ends
	for range conflicts {
		s, err := c.state(ctx, rollout.HouseName)
		if err != nil {
			return s, fmt.Errorf("%w: %w", rollout.ErrAway, err)
		}
		e, refusal := rollout.ObeyHouse(&s, &cmd, c.Now().UTC())
		if refusal != nil {
			e = rollout.Event{
				Kind: rollout.Refused, At: e.At, By: cmd.By, Surface: cmd.Surface, Request: cmd.Request, Subject: string(cmd.Verb), Why: refusal.Error(),
			}
		}
		after, err := c.append(ctx, s, e)
		switch {
		case errors.Is(err, rollout.ErrConflict):
			continue
		case err == nil:
			return after, refusal
		}
		if now, answer, done := c.doneBefore(ctx, rollout.HouseName, err, func(e *rollout.Event) bool { return e.AnswersHouse(&cmd) }); done {
			return now, answer
		}
		return s, fmt.Errorf("%w: %w", rollout.ErrAway, err)
	}
	return rollout.State{}, rollout.ErrConflict
}

// append records an event. A journal that does not answer keeps nobody waiting.
func (c *Controller) append(ctx context.Context, before rollout.State, e rollout.Event) (rollout.State, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	after, _, err := c.Journal.Append(ctx, before, e)
	return after, err
}

// everywhere tells each active rollout what a hold-all or its end means for it.
func (c *Controller) everywhere(ctx context.Context, house *rollout.House, cmd *rollout.HouseCommand) error {
	if cmd.Verb != rollout.HoldForAll && cmd.Verb != rollout.ReleaseAll {
		return nil
	}
	states, err := c.Journal.Active(ctx)
	if err != nil {
		return fmt.Errorf("reading the active rollouts: %w", err)
	}
	var errs []error
	for i := range states {
		s := &states[i]
		order, due := house.Due(s)
		if !due {
			continue
		}
		order.Surface = cmd.Surface
		if _, err := c.Do(ctx, s.Name, order); err != nil && !errors.As(err, new(rollout.Refusal)) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// holdAll makes a rollout held, or not, as the house has it: one that began after
// a hold-all, or was missed by it.
func (p pass) holdAll(ctx context.Context) {
	s := &p.seat.state
	if p.away != nil || p.seat.base != nil || !s.Watched() {
		return
	}
	order, due := p.house.Load().Due(s)
	if !due {
		return
	}
	e, err := rollout.Obey(s, &order, p.now)
	if err != nil {
		return // not now; the next cycle asks again
	}
	after, err := p.append(ctx, *s, e)
	if err != nil {
		p.Log.WarnContext(ctx, "hold-all is not told to a rollout yet; nothing rises all the same", "rollout", s.Name, "err", err)
		return
	}
	p.seat.state = after
}
