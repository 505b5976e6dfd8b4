package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/web/client"
)

type approvalsCmd struct {
	Mine bool `help:"Only what you may approve now."`
}

// Run lists what waits for approval.
func (c *approvalsCmd) Run(ctx context.Context, s *session) error {
	list, err := s.api.Approvals(ctx)
	if err != nil {
		return err
	}
	if c.Mine {
		list = slices.DeleteFunc(list, func(a client.Awaited) bool { return !a.May })
	}
	if s.json() {
		return s.encode(map[string][]client.Awaited{"approvals": append([]client.Awaited{}, list...)})
	}
	if len(list) == 0 {
		if c.Mine {
			s.print("nothing waits for your approval")
			return nil
		}
		s.print("nothing waits for approval")
		return nil
	}
	s.print(s.awaited(list)...)
	return nil
}

// awaited is a table of what waits, and below it what can be pasted.
func (s *session) awaited(list []client.Awaited) []string {
	now := s.now()
	head := []string{"ROLLOUT", "WHAT", "GIVEN", "EVIDENCE", "OLD", "YOU"}
	if s.wide() {
		head = append(head, "DATABASE", "PLAN", "REVISION")
	}
	rows := [][]string{head}
	var steps []string
	for i := range list {
		a := &list[i]
		you := "may approve it"
		if !a.May {
			you = a.Why
		} else {
			steps = append(steps, approveCommand(a))
		}
		row := []string{a.Rollout, s.awaitedWhat(a), given(a), dash(short(a.Evidence)), span(now.Sub(a.Since)), you}
		if s.wide() {
			row = append(row, a.Database, short(a.Plan), fmt.Sprint(a.Version))
		}
		rows = append(rows, row)
	}
	lines := table("", rows)
	for i := range list {
		for _, loosened := range list[i].Loosens {
			lines = append(lines, fmt.Sprintf("  %s: loosens %s", list[i].Rollout, loosened))
		}
	}
	for i, step := range steps {
		head := "      "
		if i == 0 {
			head = "next: "
		}
		lines = append(lines, head+step)
	}
	return lines
}

// awaitedWhat says what would be approved.
func (s *session) awaitedWhat(a *client.Awaited) string {
	switch a.What {
	case "step":
		return fmt.Sprintf("%s %v %s %v", a.Lane, a.From, s.screen.arrow, a.To)
	case "amendment":
		return "amendment by " + a.By
	default:
		return a.What
	}
}

// given says how many have approved, and who.
func given(a *client.Awaited) string {
	who := make([]string, len(a.Given))
	for i := range a.Given {
		who[i] = a.Given[i].By
	}
	text := fmt.Sprintf("%d of %d", len(a.Given), a.Needs)
	if len(who) > 0 {
		text += " (" + strings.Join(who, ", ") + ")"
	}
	return text
}

// approveCommand is what gives an approval, for this and nothing else.
func approveCommand(a *client.Awaited) string {
	command := "rolloutctl approve " + a.Rollout
	if a.What == "step" {
		command += fmt.Sprintf(" --to %s:%d", a.Lane, int(a.To))
	}
	return command
}
