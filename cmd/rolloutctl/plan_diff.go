package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type planDiffCmd struct {
	What string   `arg:"" name:"name|file" help:"Name of a rollout, or a plan file."`
	With []string `arg:"" optional:"" name:"file|version" help:"A plan file, or one or two versions; none means the amendment that waits."`
}

// Help is said before the flags.
func (*planDiffCmd) Help() string {
	return `Each line is a field: + tightens what the plan guards, - loosens it, = is neutral, ! is never amended. It ends with 0
whether there are differences or not.

  rolloutctl plan diff orders-db                  the amendment that waits for a second person
  rolloutctl plan diff orders-db next.yaml        what a file would change now
  rolloutctl plan diff orders-db 2                what has changed since version 2
  rolloutctl plan diff orders-db 2 3              what version 3 has changed of version 2
  rolloutctl plan diff one.yaml other.yaml        two files, offline

A file has a dot or a slash in its name.`
}

// compared is two plans and how they differ.
type compared struct {
	From    string               `json:"from"`
	To      string               `json:"to"`
	Changes []rollout.Difference `json:"changes"`
}

// Run tells the differences.
func (c *planDiffCmd) Run(ctx context.Context, s *session) error {
	found, err := c.compare(ctx, s)
	if err != nil {
		return err
	}
	if s.json() {
		found.Changes = append([]rollout.Difference{}, found.Changes...)
		return s.encode(found)
	}
	s.print(s.differences(found.From, found.To, found.Changes)...)
	return nil
}

func (c *planDiffCmd) compare(ctx context.Context, s *session) (compared, error) {
	if len(c.With) > 2 {
		return compared{}, usageError{text: fmt.Sprintf("%d things to compare with: there are two plans at most", len(c.With)), next: "rolloutctl plan diff --help"}
	}
	if isFile(c.What) {
		return c.files()
	}
	s.name = c.What
	if len(c.With) == 2 {
		return c.versions(ctx, s)
	}
	status, err := s.api.Status(ctx, c.What)
	if err != nil {
		return compared{}, err
	}
	state := &status.State
	now := fmt.Sprintf("version %d", state.PlanVersion)
	switch {
	case len(c.With) == 0 && state.Proposal == nil:
		return compared{}, usageError{text: "no amendment of " + c.What + " waits; say what to compare its plan with", next: "rolloutctl plan diff --help"}
	case len(c.With) == 0:
		return compared{now, "the amendment by " + state.Proposal.By, state.Changes(state.Proposal.Plan)}, nil
	case isFile(c.With[0]):
		p, _, err := readPlan(c.With[0])
		if err != nil {
			return compared{}, err
		}
		return compared{now, c.With[0], state.Changes(p)}, nil
	}
	old, err := c.version(ctx, s, c.With[0])
	if err != nil {
		return compared{}, err
	}
	return compared{fmt.Sprintf("version %d", old.Version), now, rollout.Diff(old.Plan, state.Plan)}, nil
}

// files compares two files, asking nobody.
func (c *planDiffCmd) files() (compared, error) {
	if len(c.With) != 1 || !isFile(c.With[0]) {
		return compared{}, usageError{text: "a plan file is compared with one other file; with a rollout, its name comes first", next: "rolloutctl plan diff --help"}
	}
	a, _, err := readPlan(c.What)
	if err != nil {
		return compared{}, err
	}
	b, _, err := readPlan(c.With[0])
	if err != nil {
		return compared{}, err
	}
	return compared{c.What, c.With[0], rollout.Diff(a, b)}, nil
}

// versions compares two versions of a rollout's plan.
func (c *planDiffCmd) versions(ctx context.Context, s *session) (compared, error) {
	a, err := c.version(ctx, s, c.With[0])
	if err != nil {
		return compared{}, err
	}
	b, err := c.version(ctx, s, c.With[1])
	if err != nil {
		return compared{}, err
	}
	return compared{fmt.Sprintf("version %d", a.Version), fmt.Sprintf("version %d", b.Version), rollout.Diff(a.Plan, b.Plan)}, nil
}

func (c *planDiffCmd) version(ctx context.Context, s *session, text string) (rollout.PlanVersion, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return rollout.PlanVersion{}, usageError{text: fmt.Sprintf("%q: must be a plan file, or the number of a version from 1 on", text), next: "rolloutctl plan diff --help"}
	}
	return s.api.PlanVersion(ctx, c.What, n)
}

// isFile tells a file from a name: a name has neither a dot nor a slash.
func isFile(text string) bool { return strings.ContainsAny(text, "./") }

// differences says how two plans differ, a line for each field.
func (s *session) differences(from, to string, changes []rollout.Difference) []string {
	if len(changes) == 0 {
		return []string{from + " and " + to + " are the same"}
	}
	counts := map[rollout.Sense]int{}
	rows := [][]string{{"", "", "", ""}}
	for _, d := range changes {
		counts[d.Sense]++
		rows = append(rows, []string{signOf(d.Sense), d.Field, s.changeOf(d), string(d.Sense) + ": " + d.Why})
	}
	var parts []string
	for _, sense := range []rollout.Sense{rollout.Loosens, rollout.Tightens, rollout.Neutral, rollout.Fixed} {
		if n := counts[sense]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, map[rollout.Sense]string{
				rollout.Loosens: "loosening", rollout.Tightens: "tightening", rollout.Neutral: "neutral", rollout.Fixed: "never amended",
			}[sense]))
		}
	}
	head := fmt.Sprintf("%s %s %s: %s, %s", from, s.screen.arrow, to, count(len(changes), "difference", "differences"), strings.Join(parts, ", "))
	return append([]string{head}, table("  ", rows)[1:]...)
}

func signOf(sense rollout.Sense) string {
	switch sense {
	case rollout.Tightens:
		return "+"
	case rollout.Loosens:
		return "-"
	case rollout.Fixed:
		return "!"
	default:
		return "="
	}
}

func (s *session) changeOf(d rollout.Difference) string {
	switch {
	case d.Was == "":
		return "added: " + d.Is
	case d.Is == "":
		return "removed: " + d.Was
	default:
		return d.Was + " " + s.screen.arrow + " " + d.Is
	}
}
