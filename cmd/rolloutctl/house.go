package main

import (
	"context"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// foresee is a dry run of what is asked of all rollouts: what it would do, or
// why it would be refused.
func (s *session) foresee(ctx context.Context, order rollout.HouseCommand, says []string) error {
	state, err := s.house(ctx)
	if err != nil {
		return err
	}
	who, err := s.api.Whoami(ctx)
	if err != nil {
		return err
	}
	order.By = who.Name // some rules are about who it is
	if len(who.May[string(order.Verb)]) == 0 {
		return failure{code: exitNotAllowed, text: fmt.Sprintf("it would be refused: %s may not %s", who.Name, order.Verb)}
	}
	if _, err := rollout.ObeyHouse(&state, &order, s.now()); err != nil {
		return failure{code: exitRefused, text: "it would be refused: " + err.Error()}
	}
	if s.json() {
		return s.encode(struct {
			DryRun  bool                 `json:"dry_run"`
			Command rollout.HouseCommand `json:"command"`
			Says    []string             `json:"says"`
		}{true, order, says})
	}
	s.print("dry run; nothing was done")
	s.print(says...)
	return nil
}

// house returns what stands for all rollouts, as the rules want it.
func (s *session) house(ctx context.Context) (rollout.State, error) {
	held, err := s.api.HeldAll(ctx)
	if err != nil {
		return rollout.State{}, err
	}
	freezes, err := s.api.Freezes(ctx)
	if err != nil {
		return rollout.State{}, err
	}
	troubles, err := s.api.Disturbances(ctx)
	if err != nil {
		return rollout.State{}, err
	}
	return rollout.State{Name: rollout.HouseName, House: &rollout.House{
		HoldAll: held.Hold, Releasing: held.Releasing, Freezes: freezes, Troubles: troubles,
	}}, nil
}
