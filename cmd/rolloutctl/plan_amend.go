package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

type planAmendCmd struct {
	Name string `arg:"" help:"Name of the rollout, which is held."`
	File string `arg:"" help:"Plan file: what the plan is to be."`
}

// Help is said before the flags.
func (*planAmendCmd) Help() string {
	return `What only tightens is the plan at once. What loosens anything needs --reason and a second person, and ends with 7 until
that one approves it. No share changes; approvals are void, and the bake begins anew. To begin with:

  rolloutctl plan show orders-db > next.yaml`
}

// Run says what would change, asks, and amends.
func (c *planAmendCmd) Run(ctx context.Context, s *session) error {
	p, text, err := readPlan(c.File)
	if err != nil {
		return err
	}
	if p.Name != c.Name {
		return usageError{text: fmt.Sprintf("%s is a plan of %s, not of %s", c.File, p.Name, c.Name)}
	}
	s.name = c.Name
	found, err := s.api.CheckAmendment(ctx, c.Name, text, rollout.Command{Reason: s.Reason, Expect: s.ExpectRev})
	if err != nil {
		return errors.Join(c.unasked(ctx, s, err), err)
	}
	if s.DryRun {
		return c.foretell(s, &found)
	}
	expect, err := c.consider(ctx, s, &found)
	if err != nil {
		return err
	}
	state, err := s.api.Amend(ctx, c.Name, text, rollout.Command{Reason: s.Reason, Expect: expect, Request: s.request()})
	if err != nil {
		return err
	}
	return c.amended(ctx, s, state, p.Hash())
}

// unasked says first which flag is missing, also where nobody answers.
func (c *planAmendCmd) unasked(ctx context.Context, s *session, err error) error {
	if _, away := errors.AsType[*client.Unreachable](err); !away || s.canAsk() || s.DryRun {
		return nil
	}
	return s.confirm(ctx, question{level: askYes, name: c.Name, text: "Amend the plan?"})
}

// says is what an amendment would change and mean.
func (c *planAmendCmd) says(s *session, found *client.Amendment) []string {
	lines := s.differences(fmt.Sprintf("%s, version %d", c.Name, found.Version), c.File, found.Changes)
	switch {
	case len(found.Loosens) > 0:
		lines = append(lines, "  it loosens the plan: a second person must approve it, and until then nothing changes")
	case len(found.Changes) > 0:
		lines = append(lines, "  it becomes the plan at once: approvals are void, and the bake begins anew; no share changes")
	}
	return lines
}

func (c *planAmendCmd) foretell(s *session, found *client.Amendment) error {
	if s.json() {
		return s.encode(found)
	}
	s.print("dry run; nothing was done")
	s.print(c.says(s, found)...)
	if found.Refused != "" {
		return failure{code: exitRefused, text: "it would be refused: " + found.Refused}
	}
	return nil
}

// consider asks, and returns the revision to act on. What will be refused is not
// asked about: the server says why, and records it.
func (c *planAmendCmd) consider(ctx context.Context, s *session, found *client.Amendment) (uint64, error) {
	if len(found.Loosens) > 0 && s.Reason == "" {
		if s.canAsk() {
			s.talk(c.says(s, found)...)
		}
		if err := s.needReason(ctx, "Why is "+c.Name+" loosened? A second person will read it"); err != nil {
			return 0, err
		}
		found.Refused = ""
	}
	if found.Refused != "" && (s.canAsk() || s.Yes) {
		if s.ExpectRev == 0 && s.canAsk() {
			return found.Revision, nil // or else it might be taken after all, unasked
		}
		return s.ExpectRev, nil
	}
	text := "Amend the plan?"
	if len(found.Loosens) > 0 {
		text = "Propose it?"
	}
	if err := s.confirm(ctx, question{level: askYes, name: c.Name, text: text, says: c.says(s, found), rev: found.Revision}); err != nil {
		return 0, err
	}
	if s.ExpectRev == 0 && s.canAsk() && !s.Yes {
		return found.Revision, nil
	}
	return s.ExpectRev, nil
}

// amended says what came of it: another plan, or a proposal.
func (c *planAmendCmd) amended(ctx context.Context, s *session, state rollout.State, hash string) error {
	proposed := state.Proposal != nil && state.Proposal.Plan.Hash() == hash
	done := []string{fmt.Sprintf("amended: version %d is the plan of %s now; the bake begins anew", state.PlanVersion, c.Name)}
	if proposed {
		done = slices.Concat([]string{"proposed, and nothing has changed yet: it loosens"}, indented("  ", state.Proposal.Loosens),
			[]string{"needs a second person: rolloutctl approve " + c.Name})
	}
	if err := s.after(ctx, state, done...); err != nil {
		return err
	}
	if proposed {
		return ended(exitNotMoved)
	}
	return nil
}
