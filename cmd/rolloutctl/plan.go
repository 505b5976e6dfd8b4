package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

type planValidateCmd struct {
	Files []string `arg:"" name:"file" help:"Plan files."`
}

func (*planValidateCmd) offline() {}

// Run checks plan files without asking anybody.
func (c *planValidateCmd) Run(s *session) error {
	type checked struct {
		File     string            `json:"file"`
		Rollout  string            `json:"rollout,omitempty"`
		Hash     string            `json:"plan_hash,omitempty"`
		Problems []rollout.Problem `json:"problems,omitempty"`
	}
	results := make([]checked, 0, len(c.Files))
	wrong := false
	for _, file := range c.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading the plan: %w", err)
		}
		p, err := planfile.Parse(file, text)
		invalid, isInvalid := errors.AsType[rollout.Invalid](err)
		switch {
		case isInvalid:
			wrong = true
			results = append(results, checked{File: file, Problems: invalid})
		case err != nil:
			return err
		default:
			results = append(results, checked{File: file, Rollout: p.Name, Hash: p.Hash()})
		}
		if s.json() {
			continue
		}
		if len(invalid) > 0 {
			s.print(file + ": " + count(len(invalid), "thing is", "things are") + " wrong")
			for _, problem := range invalid {
				s.print("  " + problem.Error())
			}
			continue
		}
		s.print(file + ": good: " + gistOfPlan(p))
	}
	if s.json() {
		if err := s.encode(map[string][]checked{"plans": results}); err != nil {
			return err
		}
	}
	if wrong {
		return ended(exitUsage)
	}
	return nil
}

// gistOfPlan is a plan in a line.
func gistOfPlan(p *rollout.Plan) string {
	stages := 0
	for i := range p.Lanes {
		stages += len(p.Lanes[i].Stages)
	}
	return fmt.Sprintf("%s (%s), %s with %s, %s, hash %s", p.Name, p.Kind,
		count(len(p.Lanes), "lane", "lanes"), count(stages, "stage", "stages"), count(len(p.Gates), "gate", "gates"), short(p.Hash()))
}

type planApplyCmd struct {
	File string `arg:"" help:"Plan file."`
}

// Run stores a plan. It is checked here first, where its lines are known.
func (c *planApplyCmd) Run(ctx context.Context, s *session) error {
	p, text, err := readPlan(c.File)
	if err != nil {
		return err
	}
	if s.DryRun {
		return c.tryOut(ctx, s, text)
	}
	s.name = p.Name
	state, err := s.api.Plan(ctx, text, rollout.Command{Reason: s.Reason, Expect: s.ExpectRev, Request: s.request()})
	if err != nil {
		return err
	}
	return s.after(ctx, state, fmt.Sprintf("plan stored as version %d of %s: %s", state.PlanVersion, state.Name, gistOfPlan(p)))
}

// tryOut has the server check the plan, and says what it would change.
func (c *planApplyCmd) tryOut(ctx context.Context, s *session, text []byte) error {
	checked, err := s.api.CheckPlan(ctx, text)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(checked)
	}
	s.print("good, and not stored: " + gistOfPlan(checked.Plan))
	if checked.Version > 0 {
		s.print(s.differences(fmt.Sprintf("version %d", checked.Version), c.File, checked.Changes)...)
	}
	s.print("next: rolloutctl plan apply " + quoted(c.File))
	return nil
}

// readPlan reads a plan file. What is wrong with it is told with its lines.
func readPlan(file string) (*rollout.Plan, []byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the plan: %w", err)
	}
	p, err := planfile.Parse(file, text)
	return p, text, err
}
