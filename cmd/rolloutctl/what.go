package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// what says an event in a line.
func (s *session) what(e *rollout.Event) string {
	text := strings.Join(slices.Concat(s.moves(e), s.stands(e)), "; ")
	if e.Page {
		text = s.screen.near + " " + text
	}
	return text
}

// moves says what an event does to shares and holds.
func (s *session) moves(e *rollout.Event) []string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Lane != "" && (e.From != flags.None || e.To != flags.None) {
		add("%s %v %s %v", e.Lane, e.From, s.screen.arrow, e.To)
	}
	switch {
	case e.Plan != nil:
		add("plan %s", short(e.Plan.Hash()))
	case e.Kind == rollout.Led || e.Kind == rollout.Stamped:
		add("%s", strings.TrimSpace(fmt.Sprintf("%s epoch %d", e.Lane, e.Epoch)))
	case e.Report != nil:
		add("%s", reportWords(e.Report))
	case e.Kind == rollout.TakenOver:
		for _, t := range e.Targets {
			add("%s at %v", t.Lane, t.Share)
		}
		if e.Since.IsZero() {
			add("since when is not known")
		} else {
			add("since %s", moment(e.Since, e.At, s.zone))
		}
	default:
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
	return parts
}

// stands says what an event means to people and databases, and why it is.
func (s *session) stands(e *rollout.Event) []string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case e.Freeze != nil:
		add("%s until %s", databaseWords(e.Freeze.Database), moment(e.Freeze.Until, e.At, s.zone))
	case e.Trouble != nil && e.Kind == rollout.Quieted:
		add("%s", strings.TrimSuffix(databaseWords(e.Trouble.Database)+": "+e.Trouble.What, ": "))
	case e.Trouble != nil:
		add("%s: %s, until %s at the latest", databaseWords(e.Trouble.Database), e.Trouble.What, moment(e.Trouble.Until, e.At, s.zone))
	case e.Kind == rollout.Offered:
		add("to %s", e.Subject)
	case e.Kind == rollout.HandedOver:
		add("it is %s's now", e.Subject)
	case e.Kind == rollout.Thawed:
		add("%s", databaseWords(e.Subject))
	case e.Subject != "":
		add("%s", e.Subject)
	}
	for _, l := range e.Loosens {
		add("loosens %s", l)
	}
	if e.Command != nil {
		add("%s refused", e.Command.Verb)
	}
	if e.Why != "" && (e.Hold == nil || e.Hold.Why != e.Why) {
		add("%s", e.Why)
	}
	return parts
}

// reportWords says what a preflight came to, and each check that failed.
func reportWords(r *rollout.Report) string {
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
