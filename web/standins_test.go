package web

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// desk answers as it is told and keeps what it was asked.
type desk struct {
	err  error
	do   func(context.Context) error
	cmds []rollout.Command
	plan *rollout.Plan

	status *rollout.Status // nil: one that has only a plan
}

func (d *desk) Plan(_ context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error) {
	d.plan, d.cmds = p, append(d.cmds, c)
	return waitingOn(p.Name), d.err
}

func (d *desk) Amend(_ context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error) {
	d.plan, d.cmds = p, append(d.cmds, c)
	return waitingOn(p.Name), d.err
}

func (d *desk) Do(ctx context.Context, name string, c rollout.Command) (rollout.State, error) {
	d.cmds = append(d.cmds, c)
	if d.do != nil {
		return waitingOn(name), d.do(ctx)
	}
	return waitingOn(name), d.err
}

func (d *desk) Status(_ context.Context, name string) (rollout.Status, error) {
	switch {
	case name == "nobody":
		return rollout.Status{}, rollout.ErrNotFound
	case name == rollout.HouseName:
		return rollout.Status{State: rollout.State{Name: name}}, d.err
	case d.status != nil:
		return *d.status, d.err
	}
	return statusOf(name), d.err
}

// journal has events of one rollout.
type journal struct {
	mu     sync.Mutex
	states []rollout.State // none: users-db and orders-db
	events []rollout.Event
	finds  int // how often it was asked for events of all
	err    error
}

func (j *journal) States(context.Context) ([]rollout.State, error) {
	if len(j.events) == 0 || len(j.states) > 0 {
		return j.states, j.err
	}
	return []rollout.State{waitingOn("users-db"), waitingOn("orders-db")}, j.err
}

func (j *journal) Events(_ context.Context, name string, after uint64, limit int) ([]rollout.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []rollout.Event
	for _, e := range j.events {
		if e.Rollout == name && e.Seq > after && len(found) < limit {
			found = append(found, e)
		}
	}
	return found, j.err
}

// fleet keeps reports.
type fleet struct {
	reports []rollout.TaskReport
	err     error
}

func (f *fleet) Report(_ context.Context, r rollout.TaskReport) error {
	f.reports = append(f.reports, r)
	return f.err
}

// plans reads a plan's name only: the parser has tests of its own.
func plans(_ string, text []byte) (*rollout.Plan, error) {
	name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "rollout: ")
	if !ok {
		return nil, rollout.Invalid{
			{Field: "rollout", Allowed: "is missing", Line: 1},
			{Field: "lanes", Allowed: "there must be one at least"},
		}
	}
	return planOf(name), nil
}

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
