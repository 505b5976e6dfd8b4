package web

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Changed says what came to pass since a rollout was looked at.
type Changed struct {
	Expected uint64   `json:"expected"` // the version that was looked at
	Now      uint64   `json:"now"`
	Events   []Change `json:"events"` // oldest first, and at most 20
}

// Change is one event in a few words.
type Change struct {
	Seq  uint64       `json:"seq"`
	Kind rollout.Kind `json:"kind"`
	By   string       `json:"by"`
	At   time.Time    `json:"at"`
	What string       `json:"what"`
}

// How much is told of what changed, and how long that may take.
const (
	changesMost = 20
	tellWithin  = time.Second
)

// stale is a conflict with what came to pass since somebody looked.
type stale struct {
	error

	changed *Changed
}

func (e stale) Unwrap() error { return e.error }

// sinceLook adds to a conflict what came to pass since the version that was
// expected; it returns any other error as it is.
func (s *server) sinceLook(ctx context.Context, name string, cmd rollout.Command, err error) error {
	if cmd.Expect == 0 || !errors.Is(err, rollout.ErrConflict) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	seen, odd := s.Desk.Status(ctx, name)
	if odd != nil {
		return err // that it is a conflict matters more
	}
	changed := &Changed{Expected: cmd.Expect, Now: seen.State.Version, Events: []Change{}}
	events, odd := s.Journal.Events(ctx, name, cmd.Expect, changesMost)
	if odd != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if e.Kind == rollout.Refused && e.Request != "" && e.Request == cmd.Request {
			continue // this very refusal
		}
		changed.Events = append(changed.Events, Change{Seq: e.Seq, Kind: e.Kind, By: e.By, At: e.At, What: what(e)})
	}
	return stale{err, changed}
}

// what says an event in a line.
func what(e *rollout.Event) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Lane != "" && (e.From != flags.None || e.To != flags.None) {
		add("%s %v to %v", e.Lane, e.From, e.To)
	}
	for _, t := range e.Targets {
		add("%s to %v", t.Lane, t.Share)
	}
	if len(e.Gates) > 0 {
		add("gate %s", strings.Join(e.Gates, ", "))
	}
	if e.Hold != nil {
		add("hold %s: %s", e.Hold.Kind, e.Hold.Why)
	}
	for _, h := range e.Holds {
		add("hold %s ended", h)
	}
	if e.Command != nil {
		add("%s refused", e.Command.Verb)
	}
	if e.Subject != "" {
		add("%s", e.Subject)
	}
	if e.Why != "" && (e.Hold == nil || e.Hold.Why != e.Why) {
		add("%s", e.Why)
	}
	return strings.Join(parts, "; ")
}
