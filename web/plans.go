package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// Amender takes amendments of plans under way. Its errors are the desk's.
type Amender interface {
	// Amend makes a plan the present one, or a proposal of it. The command says
	// who asks, and the version of the rollout that he looked at.
	Amend(ctx context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error)
}

// routePlans serves plans, their versions and their amendments.
func (s *server) routePlans(r chi.Router) {
	r.Post("/plans", s.only(toPlan, s.plan))
	r.Get("/rollouts/{name}/plans", s.only(toRead, s.planVersions))
	r.Get("/rollouts/{name}/plans/{version}", s.only(toRead, s.planVersion, yamlKind))
	if s.Amender != nil {
		r.Post("/rollouts/{name}/amendments", s.only(toAmend, s.amend))
	}
}

// submitted is a plan file that somebody sent, and what for.
type submitted struct {
	plan    *rollout.Plan
	dry     bool
	command rollout.Command
}

// submitted reads a plan file with its query.
func (s *server) submitted(c *call) (submitted, error) {
	query := c.r.URL.Query()
	if err := queries(query, "dry_run", "expect", "reason"); err != nil {
		return submitted{}, err
	}
	dry := query.Get("dry_run")
	if query.Has("dry_run") && dry != "true" && dry != "false" {
		return submitted{}, bad("dry_run", dry, "must be true or false")
	}
	expect, err := number(query, "expect", 0, 0, 1<<63-1)
	if err != nil {
		return submitted{}, err
	}
	reason := query.Get("reason")
	if err := sayable("reason", reason, reasonLimit); err != nil {
		return submitted{}, err
	}
	text, err := c.body(yamlKind, bodyLimit)
	if err != nil {
		return submitted{}, err
	}
	p, err := s.Plans("the plan", text)
	if err != nil {
		return submitted{}, fmt.Errorf("reading the plan: %w", err)
	}
	cmd, err := c.sign(rollout.Command{Expect: expect, Reason: reason})
	return submitted{p, dry == "true", cmd}, err
}

// checked is what a dry run says of a plan.
type checked struct {
	Rollout string               `json:"rollout"`
	Hash    string               `json:"plan_hash"`
	Plan    *rollout.Plan        `json:"plan"`
	Version int                  `json:"version"` // that is stored; 0 if none is
	Changes []rollout.Difference `json:"changes"` // from that one
}

// plan checks a plan file and stores it as a new version.
func (s *server) plan(ctx context.Context, c *call) (answer, error) {
	got, err := s.submitted(c)
	if err != nil {
		return answer{}, err
	}
	p := got.plan
	if err := s.mayPlan(ctx, c.who, p); err != nil {
		s.noteRefusal(ctx, c, toPlan, err)
		return answer{}, err
	}
	if got.dry {
		return s.checkPlan(ctx, p)
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	state, err := s.Desk.Plan(ctx, p, got.command)
	if err != nil {
		return answer{}, s.sinceLook(ctx, p.Name, got.command, fmt.Errorf("storing the plan of %s: %w", p.Name, err))
	}
	return answer{status: http.StatusCreated, body: state, location: "/api/v1/rollouts/" + p.Name}, nil
}

// checkPlan says what storing a plan would change. A journal that is away keeps
// nobody from having a plan checked.
func (s *server) checkPlan(ctx context.Context, p *rollout.Plan) (answer, error) {
	found := checked{Rollout: p.Name, Hash: p.Hash(), Plan: p, Changes: []rollout.Difference{}}
	seen, err := s.Desk.Status(ctx, p.Name)
	switch {
	case errors.Is(err, rollout.ErrNotFound), errors.Is(err, rollout.ErrAway):
	case err != nil:
		return answer{}, fmt.Errorf("looking at %s: %w", p.Name, err)
	case seen.State.Plan != nil:
		found.Version = seen.State.PlanVersion
		found.Changes = append(found.Changes, rollout.Diff(seen.State.Plan, p)...)
	}
	return answer{body: found}, nil
}

// proposed is what a dry run says of an amendment.
type proposed struct {
	Rollout  string               `json:"rollout"`
	Revision uint64               `json:"revision"` // of the rollout that was looked at
	Version  int                  `json:"version"`  // of its plan
	Changes  []rollout.Difference `json:"changes"`
	Loosens  []string             `json:"loosens"`  // the fields; with any, it takes a second person
	Tightens []string             `json:"tightens"` // the fields
	Refused  string               `json:"refused"`  // why it would be refused now; empty if it would not
}

// amend makes another version of a plan under way, or a proposal of it.
func (s *server) amend(ctx context.Context, c *call) (answer, error) {
	got, err := s.submitted(c)
	if err != nil {
		return answer{}, err
	}
	if got.plan.Name != c.name() {
		return answer{}, bad("rollout", got.plan.Name, "must be "+c.name()+", as the path says; an amendment never changes it")
	}
	if got.dry {
		return s.checkAmendment(ctx, c, got)
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	state, err := s.Amender.Amend(ctx, got.plan, got.command)
	if err != nil {
		return answer{}, s.sinceLook(ctx, c.name(), got.command, fmt.Errorf("amending the plan of %s: %w", c.name(), err))
	}
	return answer{body: state}, nil
}

func (s *server) checkAmendment(ctx context.Context, c *call, got submitted) (answer, error) {
	seen, err := s.find(ctx, c)
	if err != nil {
		return answer{}, err
	}
	state := &seen.State
	found := proposed{
		Rollout: state.Name, Revision: state.Version, Version: state.PlanVersion,
		Changes: append([]rollout.Difference{}, state.Changes(got.plan)...), Loosens: []string{}, Tightens: []string{},
	}
	for _, d := range found.Changes {
		switch d.Sense {
		case rollout.Loosens:
			found.Loosens = append(found.Loosens, d.Field)
		case rollout.Tightens:
			found.Tightens = append(found.Tightens, d.Field)
		default:
		}
	}
	if _, err := rollout.Amend(state, got.plan, &got.command, rollout.Breached(seen.Verdicts), time.Now()); err != nil {
		found.Refused = err.Error()
	}
	return answer{body: found}, nil
}

// versionList is a part of the versions of a plan, each without the plan.
type versionList struct {
	Plans []rollout.PlanVersion `json:"plans"`
	Next  int                   `json:"next"` // the version to go on after; 0 at the end
}

// planVersions lists the versions of a rollout's plan, oldest first.
func (s *server) planVersions(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	after, err := number(query, "after", 0, 0, 1<<31-1)
	if err != nil {
		return answer{}, err
	}
	limit, err := number(query, "limit", usualPart, 1, largestPart)
	if err != nil {
		return answer{}, err
	}
	all, err := s.history(ctx, c.name())
	if err != nil {
		return answer{}, err
	}
	list := versionList{Plans: all[min(int(after), len(all)):]}
	if len(list.Plans) > int(limit) {
		list.Plans, list.Next = list.Plans[:limit], int(after+limit)
	}
	for i := range list.Plans {
		list.Plans[i].Plan = nil
	}
	return answer{body: list}, nil
}

// planVersion answers one version of a rollout's plan, with the plan or as its file.
func (s *server) planVersion(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	text := c.part("version")
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n < 1 {
		return answer{}, bad("version", text, "must be a whole number from 1 on")
	}
	all, err := s.history(ctx, c.name())
	if err != nil {
		return answer{}, err
	}
	if int(n) > len(all) {
		return answer{}, &fault{
			status: http.StatusNotFound, code: NotFound,
			detail: fmt.Sprintf("the plan of %s has no version %d; the newest is %d", c.name(), n, len(all)),
		}
	}
	found := all[n-1]
	if c.kind != yamlKind {
		return answer{body: found}, nil
	}
	file, err := planfile.Format(found.Plan)
	if err != nil {
		return answer{}, fmt.Errorf("writing version %d of the plan of %s: %w", n, c.name(), err)
	}
	return answer{text: file, kind: yamlKind}, nil
}

// history returns all versions of a rollout's plan, with their plans.
func (s *server) history(ctx context.Context, name string) ([]rollout.PlanVersion, error) {
	query := rollout.Query{Rollout: name, Kinds: rollout.VersionKinds(), Limit: largestPart}
	var events []rollout.Event
	for {
		part, err := s.Journal.Find(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("reading the plans of %s: %w: %w", name, rollout.ErrAway, err)
		}
		events = append(events, part...)
		if len(part) < query.Limit {
			break
		}
		query.After = part[len(part)-1].Place
	}
	versions := rollout.Versions(events)
	if len(versions) == 0 {
		return nil, rollout.ErrNotFound
	}
	return versions, nil
}
