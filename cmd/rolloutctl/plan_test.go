package main

import (
	"context"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Amend has the controller look at once, as Do has.
func (d *desk) Amend(ctx context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error) {
	state, err := d.Controller.Amend(ctx, p, c)
	d.house.look(ctx)
	return state, err
}
