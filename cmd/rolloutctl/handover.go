package main

import (
	"context"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type handoverCmd struct {
	Name   string `arg:"" help:"Name of the rollout."`
	Person string `arg:"" help:"Whom it is offered to, as their token is called."`
}

// Run offers a rollout to another owner.
func (c *handoverCmd) Run(ctx context.Context, s *session) error {
	state, err := s.give(ctx, c.Name, rollout.Command{Verb: rollout.HandOver, Person: c.Person})
	if err != nil || s.DryRun {
		return err
	}
	return s.after(
		ctx, state, "handover: "+c.Name+" is offered to "+c.Person+"",
		"  "+ownerWords(&state)+" until "+c.Person+" runs: rolloutctl accept "+c.Name,
	)
}

type acceptCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
}

// Run takes a rollout that was offered.
func (c *acceptCmd) Run(ctx context.Context, s *session) error {
	state, err := s.give(ctx, c.Name, rollout.Command{Verb: rollout.Accept})
	if err != nil || s.DryRun {
		return err
	}
	return s.after(ctx, state, "accept: "+ownerWords(&state)+" now")
}

// ownerWords says whose a rollout is.
func ownerWords(s *rollout.State) string {
	if s.Owner == "" {
		return s.Name + " has no owner"
	}
	return s.Name + " is " + s.Owner + "'s"
}
