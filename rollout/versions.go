package rollout

import (
	"cmp"
	"time"
)

// PlanVersion is one version of a rollout's plan.
type PlanVersion struct {
	Version int       `json:"version"` // from 1 on
	Hash    string    `json:"hash"`
	Seq     uint64    `json:"seq"` // of the event that made it the plan
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Why     string    `json:"why,omitempty"`
	Plan    *Plan     `json:"plan,omitempty"`

	// Of an amendment that took two people: what it loosens of the version before
	// it, and who proposed it. By is who approved it then.
	Loosens  []string `json:"loosens,omitempty"`
	Proposer string   `json:"proposer,omitempty"`
}

// VersionKinds are the kinds of events that tell of a plan's versions.
func VersionKinds() []Kind { return []Kind{Planned, Proposed, Amended} }

// Versions returns the versions that a rollout's events of [VersionKinds] made,
// all of them and in order.
func Versions(events []Event) []PlanVersion {
	versions := make([]PlanVersion, 0, len(events))
	var proposal *Event
	for i := range events {
		e := &events[i]
		switch {
		case e.Plan == nil:
			continue
		case e.Kind == Proposed:
			proposal = e
			continue
		}
		v := PlanVersion{
			Version: len(versions) + 1, Hash: e.Plan.Hash(), Seq: e.Seq, By: e.By, At: e.At, Why: e.Why, Loosens: e.Loosens, Plan: e.Plan,
		}
		if len(e.Loosens) > 0 && proposal != nil {
			v.Proposer, v.Why = proposal.By, cmp.Or(e.Why, proposal.Why)
		}
		versions = append(versions, v)
	}
	return versions
}
