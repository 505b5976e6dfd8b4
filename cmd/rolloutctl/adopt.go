package main

import (
	"context"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type adoptCmd struct {
	Name  string      `arg:"" help:"Name of the rollout."`
	At    []laneShare `required:"" placeholder:"LANE:SHARE" help:"What a lane's flag has, such as reads:25; may be repeated. A lane that is not named is at 0%."`
	Since string      `default:"unknown" placeholder:"TIME" help:"Since when a flag has had a share, or unknown: what was measured since then is no baseline."`
}

// Run takes over flags that another hand has raised.
func (c *adoptCmd) Run(ctx context.Context, s *session) error {
	order := rollout.Command{Verb: rollout.Adopt}
	for _, at := range c.At {
		order.To = append(order.To, rollout.LaneShare(at))
	}
	if !strings.EqualFold(c.Since, "unknown") {
		since, err := s.instant("--since", c.Since)
		if err != nil {
			return err
		}
		order.Since = since
	}
	state, err := s.give(ctx, c.Name, order)
	if err != nil || s.DryRun {
		return err
	}
	return s.after(ctx, state, "adopt: done", "  no flag was changed; once the preflight has proven them it is held, and resume has it baked")
}
