package web

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How much of the register is read anew at once; past that, all of it is.
const (
	registerEvents   = largestPart
	registerRollouts = 100
)

// register has all rollouts as of a place in the journal. States change by events
// alone, so only those that have some since are read again.
type register struct {
	journal Journal
	desk    Desk
	turn    chan struct{} // holds a token while somebody reads; nobody waits longer than his own limit
	read    bool
	place   int64
	states  []rollout.State // by name; never changed, only replaced
}

func newRegister(j Journal, d Desk) *register {
	return &register{journal: j, desk: d, turn: make(chan struct{}, 1)}
}

// all returns every rollout, by name. The states are everybody's: they must not
// be changed.
func (r *register) all(ctx context.Context) ([]rollout.State, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the list of rollouts: %w", ctx.Err())
	}
	if err := r.refresh(ctx); err != nil {
		return nil, fmt.Errorf("listing rollouts: %w: %w", rollout.ErrAway, err)
	}
	return r.states, nil
}

// refresh brings the register to the journal's newest place, at least.
func (r *register) refresh(ctx context.Context) error {
	if !r.read {
		return r.readAll(ctx)
	}
	events, err := r.journal.Find(ctx, rollout.Query{After: r.place, Limit: registerEvents})
	if err != nil || len(events) == 0 {
		return err
	}
	var names []string
	for i := range events {
		if name := events[i].Rollout; name != rollout.HouseName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(events) == registerEvents || len(names) > registerRollouts {
		return r.readAll(ctx)
	}
	next := slices.Clone(r.states)
	for _, name := range names {
		seen, err := r.desk.Status(ctx, name)
		if err != nil {
			return err
		}
		if seen.Away != "" {
			return fmt.Errorf("reading %s: %s", name, seen.Away)
		}
		at, there := slices.BinarySearchFunc(next, name, byName)
		if there {
			next[at] = seen.State
		} else {
			next = slices.Insert(next, at, seen.State)
		}
	}
	r.states, r.place = next, events[len(events)-1].Place
	return nil
}

func byName(s rollout.State, name string) int { return strings.Compare(s.Name, name) }

// readAll reads all of it. The place comes first: what is read then may be newer.
func (r *register) readAll(ctx context.Context) error {
	newest, err := r.journal.Find(ctx, rollout.Query{Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	states, err := r.journal.States(ctx)
	if err != nil {
		return err
	}
	states = slices.Clone(states)
	slices.SortFunc(states, func(a, b rollout.State) int { return strings.Compare(a.Name, b.Name) })
	r.states, r.place, r.read = states, 0, true
	for i := range newest {
		r.place = newest[i].Place
	}
	return nil
}
