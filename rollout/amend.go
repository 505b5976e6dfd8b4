package rollout

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// Amending is what a refused amendment has for its verb. It is no verb of [Obey]:
// it needs a plan.
const Amending Verb = "amend"

// Amend returns the event that another version of a plan brings about, or why it
// is refused: a [Refusal], or [ErrConflict]. Breached are the gates that were in
// breach when somebody last looked. What only tightens becomes the plan at once;
// what loosens anything waits for a second person's approval. Whether the plan
// makes sense by itself, [Plan.Validate] has to say before.
func Amend(s *State, p *Plan, c *Command, breached []string, now time.Time) (Event, error) {
	e := Event{
		Rollout: s.Name, Seq: s.Version + 1, Kind: Amended, At: now, Plan: p,
		By: c.By, Surface: c.Surface, Request: c.Request, Why: c.Reason,
	}
	if c.Expect != 0 && c.Expect != s.Version {
		return e, fmt.Errorf("%w: you looked at revision %d, now it is %d: %s", ErrConflict, c.Expect, s.Version, s.where())
	}
	if err := s.amendable(); err != nil {
		return e, err
	}
	changes := s.Changes(p)
	if err := s.open(p, c, changes); err != nil {
		return e, err
	}
	for _, d := range changes {
		if d.Sense == Loosens {
			e.Loosens = append(e.Loosens, d.String())
		}
	}
	if len(e.Loosens) == 0 {
		return e, nil
	}
	e.Kind = Proposed
	if c.Reason == "" {
		return e, refuse("what loosens a plan needs a reason: %s", strings.Join(e.Loosens, "; "))
	}
	return e, calm(changes, breached)
}

// Loosenable refuses a plan that loosens a gate in breach: also what was only
// proposed while it was not.
func (s *State) Loosenable(p *Plan, breached []string) error { return calm(s.Changes(p), breached) }

// amendable says why no plan can be amended now, if so.
func (s *State) amendable() error {
	switch {
	case s.Phase == Draft:
		return refuse("%s is a draft; store its plan anew instead", s.Name)
	case s.Phase.Ended():
		return refuse("%s is %s; its plan stays as it is", s.Name, s.Phase)
	case s.Phase == RolledBack:
		return refuse("%s is rolled back; a plan is amended while it is held: retry it and hold it first", s.Name)
	case s.Phase != Held:
		return refuse("a plan is amended while it is held; %s is %s; hold it first", s.Name, s.where())
	}
	return nil
}

// open refuses what changes nothing, what is proposed already, and what no
// amendment may change.
func (s *State) open(p *Plan, c *Command, changes []Difference) error {
	if len(changes) == 0 {
		return refuse("that is the plan of %s already, version %d: there is nothing to amend", s.Name, s.PlanVersion)
	}
	if s.Proposal != nil && s.Proposal.Plan.Hash() == p.Hash() {
		if s.Proposal.By == c.By {
			return refuse("%s has proposed this plan already; it waits for a second person", c.By)
		}
		return refuse("%s has proposed this plan already; approve it, or reject it", s.Proposal.By)
	}
	var stays []string
	for _, d := range changes {
		if d.Sense == Fixed {
			stays = append(stays, d.String())
		}
	}
	if len(stays) > 0 {
		return refuse("an amendment never changes these; that takes a rollout of its own: %s", strings.Join(stays, "; "))
	}
	return nil
}

// Changes returns the differences of another plan from the present one, as they
// stand where the lanes are now: a stage added at or below a lane's share lets a
// step back end there, and the lane may be easier to take on from it.
func (s *State) Changes(p *Plan) []Difference {
	changes := Diff(s.Plan, p)
	for i := range changes {
		if d := &changes[i]; d.Sense == Tightens && s.reached(p, d.Field) {
			d.Sense, d.Why = Loosens, "the lane has come as far: a step back would end here"
		}
	}
	return changes
}

// reached reports whether a field is a stage at or below its lane's share.
func (s *State) reached(p *Plan, field string) bool {
	for i := range min(len(s.Lanes), len(p.Lanes)) {
		lane := &s.Lanes[i]
		for _, stage := range p.Lanes[i].Stages {
			at := fmt.Sprintf("lanes[%s].stages[%v]", lane.Name, stage.Share)
			if field == at && stage.Share <= max(lane.Intended, lane.Confirmed) {
				return true
			}
		}
	}
	return false
}

// calm refuses to loosen a gate while it is in breach.
func calm(changes []Difference, breached []string) error {
	for _, d := range changes {
		for _, gate := range breached {
			if d.Sense == Loosens && d.touches(gate) {
				return refuse("gate %s is in breach; it can be loosened once it has recovered: %s", gate, d)
			}
		}
	}
	return nil
}

// touches reports whether a difference is of a gate, or of a part of it.
func (d *Difference) touches(gate string) bool {
	at := "gates[" + gate + "]"
	return d.Field == at || strings.HasPrefix(d.Field, at+".")
}

// Breached names the gates that are in breach and have not recovered.
func Breached(verdicts []gates.Verdict) []string {
	var names []string
	for i := range verdicts {
		if v := &verdicts[i]; v.Breach && !v.Recovered {
			names = append(names, v.Gate)
		}
	}
	return names
}
