package web

import (
	"context"
	"time"

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

// House takes what is about all rollouts. Its errors are the desk's.
type House interface {
	House(ctx context.Context) (rollout.House, error)
	DoHouse(ctx context.Context, c rollout.HouseCommand) (rollout.House, error)
}

// Inspector looks closer at one rollout. Its errors are the desk's.
type Inspector interface {
	// Gates returns the gates with their points of the last while.
	Gates(ctx context.Context, name string, while time.Duration) ([]rollout.Reading, error)

	// Tasks returns where each task stands.
	Tasks(ctx context.Context, name string) ([]rollout.TaskStatus, error)

	// Preflight runs the preflight now; it starts nothing.
	Preflight(ctx context.Context, name string) (*rollout.Report, error)
}

// Journal reads what came to pass.
type Journal interface {
	// States returns every rollout.
	States(ctx context.Context) ([]rollout.State, error)

	// Events returns a rollout's events after a place in its own order.
	Events(ctx context.Context, name string, afterSeq uint64, limit int) ([]rollout.Event, error)

	// Find returns the events that a query asks for, of all rollouts; fewer than
	// its limit means that there are no more.
	Find(ctx context.Context, q rollout.Query) ([]rollout.Event, error)
}

// Fleet takes the reports of tasks.
type Fleet interface {
	Report(ctx context.Context, r rollout.TaskReport) error
}

// Plans reads a plan file. What is wrong with it is a [rollout.Invalid].
type Plans func(name string, text []byte) (*rollout.Plan, error)
