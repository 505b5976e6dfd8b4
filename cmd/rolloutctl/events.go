package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

type eventsCmd struct {
	Name  string `arg:"" help:"Name of the rollout."`
	After uint64 `placeholder:"N" help:"Only those after this number."`
}

// Run prints all events.
func (c *eventsCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	all := []rollout.Event{}
	for after := c.After; ; {
		page, next, err := s.api.Events(ctx, c.Name, after, 1000)
		if err != nil {
			return err
		}
		all = append(all, page...)
		if len(page) == 0 || next <= after {
			break
		}
		after = next
	}
	if s.json() {
		return s.encode(map[string][]rollout.Event{"events": all})
	}
	if len(all) == 0 {
		s.print(fmt.Sprintf("no events after %d", c.After))
		return nil
	}
	now := s.now()
	rows := [][]string{{" #", "TIME", "BY", "EVENT", "WHAT"}}
	for i := range all {
		e := &all[i]
		by := e.By
		if e.Surface != "" && e.By != rollout.Controller {
			by += " (" + e.Surface + ")"
		}
		rows = append(rows, []string{fmt.Sprint(e.Seq), moment(e.At, now, s.zone), by, words(rollout.Phase(e.Kind)), s.what(e)})
	}
	s.print(table("", rows)...)
	return nil
}

// findings says what a preflight came to, and each check that failed.
func findings(r *rollout.Report) string {
	failed := []string{}
	for _, c := range r.Checks {
		if c.Result == rollout.CheckFail {
			failed = append(failed, c.Name+": "+c.Why)
		}
	}
	if len(failed) == 0 {
		return fmt.Sprintf("preflight: %d checks, none failed", len(r.Checks))
	}
	return fmt.Sprintf("preflight failed, %d of %d checks: %s", len(failed), len(r.Checks), strings.Join(failed, "; "))
}

// what says an event in a line.
func (s *session) what(e *rollout.Event) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Lane != "" && (e.From != flags.None || e.To != flags.None) {
		add("%s %v %s %v", e.Lane, e.From, s.screen.arrow, e.To)
	}
	if e.Report != nil {
		add("%s", findings(e.Report))
	} else {
		for _, t := range e.Targets {
			add("%s %s %v", t.Lane, s.screen.arrow, t.Share)
		}
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
	if e.Why != "" && (e.Hold == nil || e.Hold.Why != e.Why) {
		add("%s", e.Why)
	}
	text := strings.Join(parts, "; ")
	if e.Page {
		text = s.screen.near + " " + text
	}
	return text
}
