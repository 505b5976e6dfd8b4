package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// plan checks a plan file and stores it as a new version.
func (s *server) plan(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "dry_run", "expect", "reason"); err != nil {
		return answer{}, err
	}
	dry := query.Get("dry_run")
	if query.Has("dry_run") && dry != "true" && dry != "false" {
		return answer{}, bad("dry_run", dry, "must be true or false")
	}
	expect, err := number(query, "expect", 0, 0, 1<<63-1)
	if err != nil {
		return answer{}, err
	}
	reason := query.Get("reason")
	if err := sayable("reason", reason, reasonLimit); err != nil {
		return answer{}, err
	}
	text, err := c.body("application/yaml", bodyLimit)
	if err != nil {
		return answer{}, err
	}
	p, err := s.Plans("the plan", text)
	if err != nil {
		return answer{}, fmt.Errorf("reading the plan: %w", err)
	}
	if err := s.mayPlan(ctx, c.who, p); err != nil {
		s.noteRefusal(ctx, c, toPlan, err)
		return answer{}, err
	}
	if dry == "true" {
		return answer{body: map[string]any{"rollout": p.Name, "plan_hash": p.Hash(), "plan": p}}, nil
	}
	cmd, err := c.sign(rollout.Command{Expect: expect, Reason: reason})
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	state, err := s.Desk.Plan(ctx, p, cmd)
	if err != nil {
		return answer{}, s.sinceLook(ctx, p.Name, cmd, fmt.Errorf("storing the plan of %s: %w", p.Name, err))
	}
	return answer{status: http.StatusCreated, body: state, location: "/api/v1/rollouts/" + p.Name}, nil
}
