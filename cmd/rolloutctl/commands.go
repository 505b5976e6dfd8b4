package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// do gives a command, and says what is then.
func (s *session) do(ctx context.Context, name string, c rollout.Command) error {
	state, err := s.give(ctx, name, c)
	if err != nil || s.DryRun {
		return err
	}
	return s.after(ctx, state, string(c.Verb)+": done")
}

// startCmd begins an attempt: start, or retry.
type startCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
	waiting
}

// Run begins it.
func (c *startCmd) Run(ctx context.Context, s *session, k *kong.Context) error {
	state, err := s.give(ctx, c.Name, rollout.Command{Verb: rollout.Verb(k.Selected().Name)})
	if err != nil || s.DryRun {
		return err
	}
	return s.finish(ctx, state, c.waiting, begun(), k.Selected().Name+": done")
}

// resumeCmd ends holds.
type resumeCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
	waiting
}

// Run ends them.
func (c *resumeCmd) Run(ctx context.Context, s *session) error {
	state, err := s.give(ctx, c.Name, rollout.Command{Verb: rollout.Resume})
	if err != nil || s.DryRun {
		return err
	}
	return s.finish(ctx, state, c.waiting, proven(), "resume: done")
}

// advanceCmd gives a go.
type advanceCmd struct {
	Name string     `arg:"" help:"Name of the rollout."`
	To   *laneShare `aliases:"stage" placeholder:"LANE:SHARE" help:"The step that is meant, such as reads:50; refused if it is not the next one."`
	waiting
}

// Run gives it, and says whether anything has moved.
func (c *advanceCmd) Run(ctx context.Context, s *session) error {
	state, err := s.give(ctx, c.Name, rollout.Command{Verb: rollout.Advance, To: c.To.step()})
	if err != nil || s.DryRun {
		return err
	}
	step, ok := nextStep(&state)
	for _, to := range slices.Concat(s.meant, c.To.step()) { // one, where it was sent
		step, ok = to, true
	}
	if !ok { // the answer to a request that was obeyed before, and is the last step
		return s.after(ctx, state, "advance: the go is given")
	}
	if c.Wait != nil && *c.Wait > 0 {
		return s.finish(ctx, state, c.waiting, atStage(step), "advance: the go is given")
	}
	return s.moved(ctx, state, step)
}

// moved says whether a go has moved anything yet; if not, all that it waits for.
func (s *session) moved(ctx context.Context, state rollout.State, step rollout.LaneShare) error {
	status := s.settled(ctx, state)
	now := &status.State
	taken := slices.ContainsFunc(now.Lanes, func(l rollout.Lane) bool { return l.Name == step.Lane && l.Intended >= step.Share })
	if taken || now.Pending != nil {
		return s.tell(&status, "advance: the go is given, and the step is taken")
	}
	if err := s.tell(&status, "advance: the go is given; nothing has moved yet"); err != nil {
		return err
	}
	return ended(exitNotMoved)
}

// stepCmd is about what waits for approval: approve, or reject.
type stepCmd struct {
	Name string     `arg:"" help:"Name of the rollout."`
	To   *laneShare `aliases:"stage" placeholder:"LANE:SHARE" help:"The step that is meant, such as reads:50; refused if it is not the next one."`
}

// Run approves or rejects.
func (c *stepCmd) Run(ctx context.Context, s *session, k *kong.Context) error {
	cmd := rollout.Command{Verb: rollout.Verb(k.Selected().Name), To: c.To.step()}
	if cmd.Verb == rollout.Reject && !s.DryRun {
		if err := s.needReason(ctx, "Why is "+c.Name+" rejected? The others will read it"); err != nil {
			return err
		}
	}
	state, err := s.give(ctx, c.Name, cmd)
	if err != nil || s.DryRun {
		return err
	}
	return s.after(ctx, state, string(cmd.Verb)+": done"+tally(&state, cmd.Verb))
}

// tally says how many approvals a step has.
func tally(state *rollout.State, verb rollout.Verb) string {
	if _, ok := nextStep(state); verb != rollout.Approve || !ok || len(state.Approvals) == 0 {
		return ""
	}
	next, _ := state.Next()
	return fmt.Sprintf(", %d of %d for %s %v", len(state.Approvals), next.Stage.Approvals, state.Lanes[next.Lane].Name, next.Stage.Share)
}

// holdCmd holds.
type holdCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
}

// Run holds; why, it asks afterwards.
func (c *holdCmd) Run(ctx context.Context, s *session) error {
	if err := s.do(ctx, c.Name, rollout.Command{Verb: rollout.HoldIt}); err != nil || s.DryRun {
		return err
	}
	s.noteLater(ctx, c.Name)
	return nil
}

// rollbackCmd takes shares down.
type rollbackCmd struct {
	Name string      `arg:"" help:"Name of the rollout."`
	To   []laneShare `placeholder:"LANE:SHARE" help:"Take only these lanes down, such as writes:0; may be repeated."`
	waiting
}

// rollbackWait is how long a rollback is waited for if nobody says how long.
const rollbackWait = time.Minute

// Run takes them down, and waits until it is proven by what tasks use.
func (c *rollbackCmd) Run(ctx context.Context, s *session) error {
	state, err := s.give(ctx, c.Name, rollout.Command{Verb: rollout.Rollback, To: laneShares(c.To)})
	if err != nil || s.DryRun {
		return err
	}
	defer s.noteLater(ctx, c.Name)
	wait := rollbackWait
	if c.Wait != nil {
		wait = *c.Wait
	}
	if wait == 0 {
		if err := s.after(ctx, state, "rollback: the targets are set; not proven yet"); err != nil {
			return err
		}
		return ended(exitNotMoved)
	}
	return s.finish(ctx, state, waiting{&wait}, lowered(state.Version), "rollback: the targets are set")
}

type noteCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
	Text string `arg:"" optional:"" help:"The remark; or give it with --reason."`
}

// Run gives the command.
func (c *noteCmd) Run(ctx context.Context, s *session) error {
	if c.Text != "" {
		s.Reason = c.Text
	}
	return s.do(ctx, c.Name, rollout.Command{Verb: rollout.Note})
}
