package rollout

import (
	"maps"
	"slices"
	"time"
)

// Verb names a command.
type Verb string

// The verbs that a person may use.
const (
	Start       Verb = "start"
	Advance     Verb = "advance"
	Approve     Verb = "approve"
	HoldIt      Verb = "hold"
	Resume      Verb = "resume"
	Rollback    Verb = "rollback"
	Retry       Verb = "retry"
	Withdraw    Verb = "withdraw"
	Complete    Verb = "complete"
	Acknowledge Verb = "acknowledge"
	HoldForAll  Verb = "hold-all"
	ReleaseAll  Verb = "release-all"
	Note        Verb = "note"
	Adopt       Verb = "adopt"    // take over flags that already have a share
	Reject      Verb = "reject"   // a step or an amendment that waits for approval
	HandOver    Verb = "handover" // offer the rollout to another owner
	Accept      Verb = "accept"   // what was offered
)

// Verbs returns the verbs of a rollout, in alphabetical order.
func Verbs() []Verb { return slices.Sorted(maps.Keys(verbs)) }

// Command is what a person asks of a rollout.
type Command struct {
	Verb    Verb      `json:"verb"`
	By      string    `json:"by"`
	Surface string    `json:"surface,omitempty"`
	Request string    `json:"request,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Expect  uint64    `json:"expect,omitempty"` // the version that the person looked at; 0 if any will do
	Person  string    `json:"person,omitempty"` // of handover: whom it is offered to
	Since   time.Time `json:"since,omitzero"`   // of adopt: since when a flag has had a share; zero if nobody knows

	// To names shares. Of rollback: these lanes only; none means all to 0. Of
	// adopt: what the flags have. Of advance, approve and reject: the step that the
	// person means, so that nothing else is taken for it.
	To []LaneShare `json:"to,omitempty"`
}
