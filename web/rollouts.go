package web

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// list returns every rollout, by name.
func (s *server) list(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	states, err := s.Journal.States(ctx)
	if err != nil {
		return answer{}, fmt.Errorf("listing rollouts: %w: %w", rollout.ErrAway, err)
	}
	states = append([]rollout.State{}, states...) // an empty list is a list, too
	slices.SortFunc(states, func(a, b rollout.State) int { return strings.Compare(a.Name, b.Name) })
	return answer{body: map[string]any{"rollouts": states}}, nil
}

// show returns a rollout's status.
func (s *server) show(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	status, err := s.Desk.Status(ctx, c.name())
	if err != nil {
		return answer{}, fmt.Errorf("looking at %s: %w", c.name(), err)
	}
	return answer{body: status}, nil
}

// How many events are answered at once.
const (
	eventsUsual = 100
	eventsMost  = 1000
)

// events returns a rollout's events after a place, oldest first, and the place
// to go on after.
func (s *server) events(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	after, err := number(query, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return answer{}, err
	}
	limit, err := number(query, "limit", eventsUsual, 1, eventsMost)
	if err != nil {
		return answer{}, err
	}
	events, err := s.Journal.Events(ctx, c.name(), after, int(limit))
	if err != nil {
		return answer{}, fmt.Errorf("reading events of %s: %w: %w", c.name(), rollout.ErrAway, err)
	}
	next := after
	if len(events) > 0 {
		next = events[len(events)-1].Seq
	} else if err := s.exists(ctx, c, after); err != nil {
		return answer{}, err
	}
	return answer{body: map[string]any{"events": append([]rollout.Event{}, events...), "next": next}}, nil
}

// exists tells a rollout without newer events from none at all: every rollout
// has a first event.
func (s *server) exists(ctx context.Context, c *call, after uint64) error {
	if after == 0 {
		return rollout.ErrNotFound
	}
	first, err := s.Journal.Events(ctx, c.name(), 0, 1)
	if err != nil {
		return fmt.Errorf("reading events of %s: %w: %w", c.name(), rollout.ErrAway, err)
	}
	if len(first) == 0 {
		return rollout.ErrNotFound
	}
	return nil
}

// queries refuses parameters that are unknown or there twice.
func queries(query url.Values, allowed ...string) error {
	for name, values := range query {
		switch {
		case !slices.Contains(allowed, name) && len(allowed) == 0:
			return bad(name, "", "there is no such parameter here; there are none")
		case !slices.Contains(allowed, name):
			return bad(name, "", "there is no such parameter here; there are "+strings.Join(allowed, ", "))
		case len(values) > 1:
			return bad(name, "", "is there twice")
		}
	}
	return nil
}

// number reads a whole number from a query.
func number(query url.Values, name string, usual, low, high uint64) (uint64, error) {
	if !query.Has(name) {
		return usual, nil
	}
	text := query.Get(name)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, bad(name, text, fmt.Sprintf("must be a whole number from %d to %d", low, high))
	}
	return n, nil
}
