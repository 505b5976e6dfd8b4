package rollout

import "time"

// PlanVersion is one version of a rollout's plan.
type PlanVersion struct {
	Version int       `json:"version"` // from 1 on
	Hash    string    `json:"hash"`
	Seq     uint64    `json:"seq"` // of the event that made it the plan
	By      string    `json:"by"`  // of an amendment that took two: who approved it
	At      time.Time `json:"at"`
	Why     string    `json:"why,omitempty"`
	Loosens []string  `json:"loosens,omitempty"` // of the version before it
	Plan    *Plan     `json:"plan,omitempty"`
}

// VersionKinds are the kinds of events that make a version of a plan.
func VersionKinds() []Kind { return []Kind{Planned, Amended} }

// Versions returns the versions that a rollout's events of [VersionKinds] made,
// all of them and in order.
func Versions(events []Event) []PlanVersion {
	versions := make([]PlanVersion, 0, len(events))
	for i := range events {
		e := &events[i]
		if e.Plan == nil {
			continue
		}
		versions = append(versions, PlanVersion{
			Version: len(versions) + 1, Hash: e.Plan.Hash(), Seq: e.Seq,
			By: e.By, At: e.At, Why: e.Why, Loosens: e.Loosens, Plan: e.Plan,
		})
	}
	return versions
}
