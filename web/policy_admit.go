package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// admit returns nil if whoever calls may do something on what the path names: a
// database, a rollout's, or whichever. A handler that finds another database in
// the body asks [may] again.
func (s *server) admit(ctx context.Context, c *call, what action) error {
	if err := s.limits.take(c.who.Name, what); err != nil {
		return err
	}
	if database := c.part("database"); database != "" {
		return permit(may(c.who, what, database))
	}
	if name := c.name(); name != "" && !what.wide() {
		return s.mayOn(ctx, c.who, what, name)
	}
	return permit(may(c.who, what, anywhere))
}

// mayOn is may for a rollout, on its database. Of a rollout that somebody may not
// read, he learns that the name is taken, and nothing else.
func (s *server) mayOn(ctx context.Context, who Caller, what action, name string) error {
	if ok, _ := may(who, what, everywhere); ok {
		return nil
	}
	hidden := permit(false, fmt.Sprintf("%s needs the role %s on the database of %s; %s is %s", what, either(needed(what)), name, who.Name, who.roles()))
	if ok, _ := may(who, what, anywhere); !ok {
		return hidden // wherever that is
	}
	database, err := s.databaseOf(ctx, name)
	if err != nil {
		return err
	}
	if ok, _ := may(who, toRead, database); !ok {
		return hidden
	}
	return permit(may(who, what, database))
}

// placeWithin is how long the journal may take to say where a rollout is. Then
// the desk answers by what it knows, so that no rollback is kept waiting.
const placeWithin = time.Second

// databaseOf returns the database that a rollout is on.
func (s *server) databaseOf(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, placeWithin)
	defer cancel()
	status, err := s.Desk.Status(ctx, name)
	switch {
	case errors.Is(err, rollout.ErrNotFound):
		return "", err
	case err != nil:
		return "", fmt.Errorf("finding out which database %s is on: %w", name, err)
	case status.State.Plan == nil:
		return everywhere, nil // it is about all of them
	}
	return status.State.Plan.Database.Name, nil
}

// mayPlan is may for a plan file: on the database that it names, and on the one
// that the rollout is on now.
func (s *server) mayPlan(ctx context.Context, who Caller, p *rollout.Plan) error {
	if err := permit(may(who, toPlan, p.Database.Name)); err != nil {
		return err
	}
	if err := s.mayOn(ctx, who, toPlan, p.Name); !errors.Is(err, rollout.ErrNotFound) {
		return err
	}
	return nil
}
