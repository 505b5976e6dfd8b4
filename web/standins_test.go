package web

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// Find returns the events that a query asks for, as the journal does.
func (j *journal) Find(_ context.Context, q rollout.Query) ([]rollout.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.finds++
	if j.err != nil {
		return nil, j.err
	}
	var found []rollout.Event
	for _, e := range j.events {
		if q.Matches(&e) && (q.Newest || e.Place > q.After) && (q.Newest == false || q.After == 0 || e.Place < q.After) {
			found = append(found, e)
		}
	}
	if q.Newest {
		slices.Reverse(found)
	}
	return found[:min(len(found), q.Limit)], nil
}

// add appends an event, as something that comes to pass does.
func (j *journal) add(e rollout.Event) rollout.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Place = int64(len(j.events) + 1)
	e.Seq = 1
	for _, other := range j.events {
		if other.Rollout == e.Rollout {
			e.Seq++
		}
	}
	j.events = append(j.events, e)
	return e
}

// fail makes the journal fail, or not.
func (j *journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

// standing obeys what is about all rollouts, by the rules of the core.
type standing struct {
	mu    sync.Mutex
	state rollout.State
	cmds  []rollout.HouseCommand
	err   error
}

func (s *standing) House(context.Context) (rollout.House, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.House == nil {
		return rollout.House{}, s.err
	}
	return *s.state.House, s.err
}

func (s *standing) DoHouse(_ context.Context, c rollout.HouseCommand) (rollout.House, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmds = append(s.cmds, c)
	if s.err != nil {
		return rollout.House{}, s.err
	}
	s.state.Name = rollout.HouseName
	e, err := rollout.ObeyHouse(&s.state, &c, time.Now().UTC())
	if err == nil {
		s.state = rollout.Apply(s.state, &e)
	}
	if s.state.House == nil {
		return rollout.House{}, err
	}
	return *s.state.House, err
}

// inspector has what it is given.
type inspector struct {
	gates  []rollout.Reading
	tasks  []rollout.TaskStatus
	report *rollout.Report
	while  time.Duration // that was asked for
	look   func(context.Context)
	err    error
}

func (i *inspector) Gates(ctx context.Context, _ string, while time.Duration) ([]rollout.Reading, error) {
	if i.look != nil {
		i.look(ctx)
		return nil, ctx.Err()
	}
	i.while = while
	return i.gates, i.err
}

func (i *inspector) Tasks(context.Context, string) ([]rollout.TaskStatus, error) {
	return i.tasks, i.err
}

func (i *inspector) Preflight(context.Context, string) (*rollout.Report, error) {
	return i.report, i.err
}

// goodAuditor finds nothing wrong.
type goodAuditor struct{}

func (goodAuditor) Verify(context.Context, ...audit.Checkpoint) (audit.Result, error) {
	return audit.Result{Places: 3, Checkpoint: audit.Checkpoint{Version: audit.Version, Place: 3, Hash: audit.Hash{1, 2}, At: began}}, nil
}

func (goodAuditor) Export(_ context.Context, w io.Writer, _ int64) error {
	_, err := io.WriteString(w, "{}\n")
	return err
}
