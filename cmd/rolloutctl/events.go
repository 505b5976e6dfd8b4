package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

type eventsCmd struct {
	Name   string         `arg:"" optional:"" help:"Name of the rollout; without it all rollouts, and what is about all of them."`
	Follow bool           `short:"f" help:"Go on with what comes to pass. Ctrl-C ends only that."`
	After  uint64         `placeholder:"N" help:"Only those after this number: the rollout's own; without NAME, the place in the journal."`
	Since  length         `placeholder:"DURATION" help:"Only those of the last while, such as 1h."`
	Kind   []rollout.Kind `placeholder:"KIND" help:"Only this kind, such as raised; may be repeated."`
	By     string         `placeholder:"WHO" help:"Only what this person did; controller for what nobody did."`
}

// Run tells events, oldest first.
func (c *eventsCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	q := rollout.Query{Rollout: c.Name, Kinds: c.Kind, By: c.By}
	if c.Since > 0 || len(c.Kind) > 0 { // the server knows all kinds, and what time it is
		if _, _, err := s.api.AllEvents(ctx, client.EventFilter{Kinds: c.Kind}, math.MaxInt64, 1); err != nil {
			return err
		}
	}
	if c.Since > 0 {
		q.From = s.now().Add(-time.Duration(c.Since))
	}
	if c.Follow {
		return c.follow(ctx, s, &q)
	}
	all := []rollout.Event{}
	for after, any := c.After, true; any; {
		page, next, err := c.page(ctx, s, after)
		if err != nil {
			return err
		}
		for i := range page {
			if q.Matches(&page[i]) {
				all = append(all, page[i])
			}
		}
		any, after = next > after, next
	}
	if s.json() {
		return s.encode(map[string][]rollout.Event{"events": all})
	}
	if len(all) == 0 {
		s.print("no such events")
		return nil
	}
	s.print(c.table(s, all)...)
	return nil
}

// page returns events after a place, and the place to go on after.
func (c *eventsCmd) page(ctx context.Context, s *session, after uint64) ([]rollout.Event, uint64, error) {
	const most = 1000
	if c.Name != "" {
		return s.api.Events(ctx, c.Name, after, most)
	}
	events, next, err := s.api.AllEvents(ctx, client.EventFilter{Kinds: c.Kind, By: c.By}, int64(after), most)
	return events, uint64(next), err
}

// table are events, a row each.
func (c *eventsCmd) table(s *session, all []rollout.Event) []string {
	now := s.now()
	rows := [][]string{{" #", "TIME", "BY", "EVENT", "WHAT"}}
	if c.Name == "" {
		rows = [][]string{{" PLACE", "TIME", "ROLLOUT", "BY", "EVENT", "WHAT"}}
	}
	for i := range all {
		e := &all[i]
		row := []string{fmt.Sprint(e.Seq), moment(e.At, now, s.zone), byWords(e), words(rollout.Phase(e.Kind)), s.what(e)}
		if c.Name == "" {
			row = []string{fmt.Sprint(e.Place), row[1], ofWords(e), row[2], row[3], row[4]}
		}
		rows = append(rows, row)
	}
	return table("", rows)
}

// byWords is who caused an event, and by which way.
func byWords(e *rollout.Event) string {
	if e.Surface != "" && e.By != rollout.Controller {
		return e.By + " (" + e.Surface + ")"
	}
	return e.By
}

// ofWords is whose event it is.
func ofWords(e *rollout.Event) string {
	if e.Rollout == rollout.HouseName {
		return "all"
	}
	return e.Rollout
}

// follow tells what was, and what comes, until somebody ends it. A server that
// is away is said once, and asked again.
func (c *eventsCmd) follow(ctx context.Context, s *session, q *rollout.Query) error {
	var last error
	said := ""
	for e, err := range c.stream(ctx, s) {
		if last = err; err != nil {
			if text := err.Error(); text != said && !isFinal(err) {
				said = text
				s.errors.print(s.err, []string{s.errors.near + " asking again: " + text})
			}
			continue
		}
		said = ""
		if !q.Matches(&e) {
			continue
		}
		if s.json() {
			if err := json.NewEncoder(s.out).Encode(e); err != nil {
				return fmt.Errorf("writing JSON: %w", err)
			}
			continue
		}
		s.print(c.line(s, &e))
	}
	if ctx.Err() == nil {
		return last
	}
	if c.Name == "" {
		return failure{code: exitInterrupted, text: "stopped watching; the rollouts go on"}
	}
	return failure{code: exitInterrupted, text: "stopped watching; " + c.Name + " goes on"}
}

// isFinal reports whether an error ends a stream: the server has answered.
func isFinal(err error) bool {
	_, answered := errors.AsType[*client.Problem](err)
	return answered
}

func (c *eventsCmd) stream(ctx context.Context, s *session) iter.Seq2[rollout.Event, error] {
	if c.Name != "" {
		return s.api.Stream(ctx, c.Name, c.After)
	}
	return s.api.StreamAll(ctx, client.EventFilter{Kinds: c.Kind, By: c.By}, int64(c.After))
}

// line is an event by itself: nothing can be lined up with what is still to come.
func (c *eventsCmd) line(s *session, e *rollout.Event) string {
	number := fmt.Sprintf("#%d", e.Seq)
	if c.Name == "" {
		number = fmt.Sprintf("%d %s", e.Place, ofWords(e))
	}
	text := fmt.Sprintf("%s %s %s by %s", e.At.In(s.zone).Format(time.RFC3339), number, words(rollout.Phase(e.Kind)), byWords(e))
	if what := s.what(e); what != "" {
		text += ": " + what
	}
	return text
}
