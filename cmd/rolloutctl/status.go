package main

import (
	"context"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
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
		return s.watch(ctx, c.Name, c.Every)
	}
	status, err := s.api.Status(ctx, c.Name)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(view{Status: status, NextSteps: commands(nextSteps(&status))})
	}
	p := s.page(&status)
	p.readings = s.readings(ctx, &status)
	s.print(p.whole()...)
	return nil
}

// readings are the points of the gates, where they can be drawn; without them a
// status is still a status.
func (s *session) readings(ctx context.Context, status *rollout.Status) []rollout.Reading {
	if s.screen.ascii || len(status.Verdicts) == 0 {
		return nil
	}
	readings, err := s.api.Gates(ctx, status.State.Name, sparkWhile)
	if err != nil {
		return nil
	}
	return readings
}
