package main

import (
	"context"
	"time"
)

type statusCmd struct {
	Name  string        `arg:"" help:"Name of the rollout."`
	Watch bool          `short:"w" help:"Go on showing it: drawn in place on a terminal, elsewhere a line for each change."`
	Every time.Duration `default:"2s" help:"How often to look, with -w."`
}

// Run shows a rollout.
func (c *statusCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	if c.Watch {
		return s.watch(ctx, c.Name, max(c.Every, 50*time.Millisecond))
	}
	status, err := s.api.Status(ctx, c.Name)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(view{Status: status, NextSteps: commands(nextSteps(&status))})
	}
	s.print(s.page(&status).whole()...)
	return nil
}
