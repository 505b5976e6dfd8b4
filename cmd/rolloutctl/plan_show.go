package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

type planShowCmd struct {
	Name     string `arg:"" help:"Name of the rollout."`
	Version  int    `placeholder:"N" help:"This version of its plan; by default the present one."`
	Proposed bool   `help:"The amendment that waits for a second person."`
}

// Help is said before the flags.
func (*planShowCmd) Help() string {
	return "The text is a plan file, every field spelled out: write it to a file, change that, and amend the plan by it."
}

// Run prints the plan as its file.
func (c *planShowCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	found, says, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(found)
	}
	text, err := planfile.Format(found.Plan)
	if err != nil {
		return err
	}
	return s.printFile(fmt.Sprintf("# %s\n%s", strings.Join(says, "\n# "), text))
}

// find returns the version that is asked for, and what is known of it.
func (c *planShowCmd) find(ctx context.Context, s *session) (rollout.PlanVersion, []string, error) {
	if c.Proposed {
		status, err := s.api.Status(ctx, c.Name)
		if err != nil {
			return rollout.PlanVersion{}, nil, err
		}
		p := status.State.Proposal
		if p == nil || p.Plan == nil {
			return rollout.PlanVersion{}, nil, failure{code: exitNotFound, text: "no amendment of " + c.Name + " waits", lines: []string{"next: rolloutctl plan versions " + c.Name}}
		}
		found := rollout.PlanVersion{Hash: p.Plan.Hash(), By: p.By, At: p.At, Why: p.Why, Loosens: p.Loosens, Plan: p.Plan}
		return found, s.about("an amendment of "+c.Name+" that waits for a second person", &found), nil
	}
	version := c.Version
	if version == 0 {
		status, err := s.api.Status(ctx, c.Name)
		if err != nil {
			return rollout.PlanVersion{}, nil, err
		}
		version = status.State.PlanVersion
	}
	found, err := s.api.PlanVersion(ctx, c.Name, version)
	return found, s.about(fmt.Sprintf("%s, version %d of its plan", c.Name, version), &found), err
}

// about says where a version comes from.
func (s *session) about(what string, v *rollout.PlanVersion) []string {
	by := v.By
	if v.Proposer != "" {
		by = v.Proposer + ", approved by " + v.By
	}
	lines := []string{fmt.Sprintf("%s, hash %s, by %s, %s", what, short(v.Hash), by, moment(v.At, s.now(), s.zone))}
	if v.Why != "" {
		lines = append(lines, "why: "+strings.ReplaceAll(v.Why, "\n", " "))
	}
	return lines
}

// printFile prints a text that is to be read by programs. Only a terminal gets it
// without what would act on it.
func (s *session) printFile(text string) error {
	if s.screen.terminal {
		s.print(slices.Collect(strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n"))...)
		return nil
	}
	if _, err := s.out.Write([]byte(text)); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

type planVersionsCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
}

// Run lists the versions of a plan.
func (c *planVersionsCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	all, err := s.api.PlanVersions(ctx, c.Name)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.PlanVersion{"plans": all})
	}
	rows := [][]string{{" VERSION", "HASH", "AT", "BY", "WHY"}}
	for i := range all {
		v := &all[i]
		by, why := v.By, v.Why
		if len(v.Loosens) > 0 {
			by, why = v.Proposer+", approved by "+v.By, strings.TrimPrefix(why+"; loosens "+strings.Join(v.Loosens, "; "), "; ")
		}
		rows = append(rows, []string{fmt.Sprint(v.Version), short(v.Hash), moment(v.At, s.now(), s.zone), by, why})
	}
	s.print(table("", rows)...)
	return nil
}
