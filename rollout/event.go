package rollout

import (
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// Kind is what an event tells.
type Kind string

// The kinds of events. Each names what has come to pass.
const (
	Planned      Kind = "planned"   // a version of the plan was stored
	Started      Kind = "started"   // an attempt; its preflight runs
	Checked      Kind = "checked"   // the preflight's report is there
	Led          Kind = "led"       // a leader of a new epoch took over
	Stamped      Kind = "stamped"   // the new leader's epoch is on the flag of a recorded raise
	Raised       Kind = "raised"    // a raise is recorded; its write follows
	Confirmed    Kind = "confirmed" // a share was read back from the store
	TakenBack    Kind = "taken_back"
	Settled      Kind = "settled"  // tasks have followed, for a whole metric period; the bake begins
	Rebaked      Kind = "rebaked"  // tasks were replaced; proof and bake begin anew
	Baked        Kind = "baked"    // a bake is complete; the evidence is in the event
	Awaited      Kind = "awaited"  // what a next step waits for has changed
	Advanced     Kind = "advanced" // an operator's go
	Approved     Kind = "approved" // by a person
	Voided       Kind = "voided"   // the approvals given so far
	HeldOn       Kind = "held"     // a hold was put on
	Released     Kind = "released" // a hold's cause is gone
	Resumed      Kind = "resumed"  // by a person
	Adopted      Kind = "adopted"  // another hand has lowered a flag; so be it
	Restored     Kind = "restored" // another hand has raised a flag; it is put back
	Lowered      Kind = "lowered"  // targets were set; the writes follow, or have been done
	Late         Kind = "late"     // what a guard did while the journal was away
	Proven       Kind = "proven"   // a rollback: tasks are back and the gates have recovered
	BecameStuck  Kind = "stuck"
	Acknowledged Kind = "acknowledged" // a stuck rollback, by a person
	SoakBegan    Kind = "soaking"
	SoakEnded    Kind = "soaked"
	Done         Kind = "completed"
	GivenUp      Kind = "withdrawn"
	Retried      Kind = "retried"
	Refused      Kind = "refused"    // a signed-in person's command; changes nothing
	Noted        Kind = "noted"      // a person's remark; changes nothing
	TakenOver    Kind = "taken_over" // flags that another hand has raised; their preflight runs
	Sealed       Kind = "sealed"     // after completion: the flags say that the target is their safe value
	Rejected     Kind = "rejected"   // a step or an amendment, by a person
	Proposed     Kind = "proposed"   // an amendment that loosens; it waits for a second person
	Amended      Kind = "amended"    // a new version of the plan, while held
	Offered      Kind = "offered"    // the rollout, to another owner
	HandedOver   Kind = "handed_over"
)

// The kinds of events of [HouseName], which are about all rollouts.
const (
	Frozen      Kind = "frozen" // a database: nothing rises on it
	Thawed      Kind = "thawed"
	Disturbed   Kind = "disturbed" // a database is not quiet: a deploy, a schema change
	Quieted     Kind = "quieted"
	HeldAll     Kind = "held_all"
	ReleaseDue  Kind = "release_asked" // by the first of two people
	ReleasedAll Kind = "released_all"
	TokenMade   Kind = "token_made"
	TokenTaken  Kind = "token_taken"
)

// Event is one thing that came to pass. Which of the fields after Why are set
// depends on its kind.
type Event struct {
	Place   int64  `json:"place"`   // among all events of the journal, without gaps
	Rollout string `json:"rollout"` // whose event it is
	Seq     uint64 `json:"seq"`     // among that rollout's events; the first is 1

	Kind    Kind      `json:"kind"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`                // a person, or [Controller]
	Surface string    `json:"surface,omitempty"` // api, cli, console, slack, controller
	Request string    `json:"request,omitempty"` // the id of the request that caused it
	Why     string    `json:"why,omitempty"`
	Page    bool      `json:"page,omitempty"` // somebody should look now

	Plan     *Plan           `json:"plan,omitempty"`
	Epoch    int64           `json:"epoch,omitempty"`
	Base     uint64          `json:"base,omitempty"` // of a late event: the version that the guard knew
	Lane     string          `json:"lane,omitempty"`
	From     flags.Share     `json:"from,omitempty"`
	To       flags.Share     `json:"to,omitempty"`
	Revision string          `json:"revision,omitempty"`
	Stamp    int64           `json:"stamp,omitempty"`   // the flag's sequence
	Targets  []LaneShare     `json:"targets,omitempty"` // where lanes are lowered to
	Hold     *Hold           `json:"hold,omitempty"`
	Holds    []HoldKind      `json:"holds,omitempty"` // that are ended
	Gates    []string        `json:"gates,omitempty"` // in breach
	Again    bool            `json:"again,omitempty"` // counts as a breach of a `previous` gate
	Verdicts []gates.Verdict `json:"verdicts,omitempty"`
	Evidence string          `json:"evidence,omitempty"` // hash
	Approval *Approval       `json:"approval,omitempty"`
	Waits    []Wait          `json:"waits,omitempty"`
	Report   *Report         `json:"report,omitempty"`
	Command  *Command        `json:"command,omitempty"` // that was refused

	Subject string       `json:"subject,omitempty"` // a person, a token, a database
	Since   time.Time    `json:"since,omitzero"`    // of a takeover: since when a flag has had a share
	Loosens []string     `json:"loosens,omitempty"` // of an amendment: what it makes less strict
	Freeze  *Freeze      `json:"freeze,omitempty"`  // of a database
	Trouble *Disturbance `json:"trouble,omitempty"` // of a database that is not quiet
}

// LaneShare is the share of a lane, and the flag revision that made it so.
type LaneShare struct {
	Lane     string      `json:"lane"`
	Share    flags.Share `json:"share"`
	Revision string      `json:"revision,omitempty"`
	Stamp    int64       `json:"stamp,omitempty"`
}

// Controller is the author of all events that no person caused.
const Controller = "controller"

// Lowers reports whether an event belongs to the way down, which waits for no journal.
func (e *Event) Lowers(phase Phase) bool {
	switch e.Kind {
	case Lowered, Adopted:
		return true
	case Confirmed, Proven, BecameStuck:
		return phase.Lowering()
	default:
		return false
	}
}
