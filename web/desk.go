package web

import (
	"context"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Desk takes plans and commands. Its errors are those of package rollout;
// anything else is taken for a fault of ours and not shown.
type Desk interface {
	// Plan stores a version of a plan. The command says who asks, and the
	// version of the rollout that he looked at.
	Plan(ctx context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error)

	// Do obeys a command, or says why not. The same request id never acts twice.
	Do(ctx context.Context, name string, c rollout.Command) (rollout.State, error)

	// Status is the rollout as it was when the controller last looked.
	Status(ctx context.Context, name string) (rollout.Status, error)
}

// Journal reads what came to pass.
type Journal interface {
	// States returns every rollout.
	States(ctx context.Context) ([]rollout.State, error)

	// Events returns a rollout's events after a place in its own order.
	Events(ctx context.Context, name string, afterSeq uint64, limit int) ([]rollout.Event, error)
}

// Fleet takes the reports of tasks.
type Fleet interface {
	Report(ctx context.Context, r rollout.TaskReport) error
}

// Plans reads a plan file. What is wrong with it is a [rollout.Invalid].
type Plans func(name string, text []byte) (*rollout.Plan, error)
