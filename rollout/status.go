package rollout

import (
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// Status is a rollout as a person wants to see it: its state, and what the
// controller saw when it last looked.
type Status struct {
	State    State           `json:"state"`
	Lanes    []LaneStatus    `json:"lanes"`
	Verdicts []gates.Verdict `json:"verdicts"` // in the order of the plan's gates
	Bake     time.Duration   `json:"bake"`     // complete, settled data at the present shares
	Waits    []Wait          `json:"waits"`    // all reasons why nothing moves now
	Looked   time.Time       `json:"looked,omitzero"`
	LookedAt uint64          `json:"looked_at,omitempty"` // the version that the cycle came to: waits are of that one
	Next     time.Time       `json:"next,omitzero"`       // when the controller looks again
	Away     string          `json:"away,omitempty"`      // why the journal cannot be reached
}

// LaneStatus is one lane: what is intended, published and observed.
type LaneStatus struct {
	Name      string      `json:"name"`
	Class     Class       `json:"class"`
	Intended  flags.Share `json:"intended"`
	Confirmed flags.Share `json:"confirmed"`
	Published flags.Share `json:"published"`
	Unread    string      `json:"unread,omitempty"` // why the flag could not be read
	Tasks     Observation `json:"tasks"`
}

// TaskReport is what one task says of itself: report v1 of the API.
type TaskReport struct {
	Task      string       `json:"task"`
	Service   string       `json:"service"`
	Version   string       `json:"version,omitempty"`
	StartedAt time.Time    `json:"started_at"`
	SentAt    time.Time    `json:"sent_at"` // the newest wins
	Lanes     []LaneReport `json:"lanes"`
}

// LaneReport is what a task says of one lane.
type LaneReport struct {
	Lane            string       `json:"lane"`
	ShareSeen       *flags.Share `json:"share_seen,omitempty"` // absent where the provider cannot know it
	Decided         bool         `json:"decided"`              // the target
	Endpoint        string       `json:"endpoint,omitempty"`   // where its newest connection goes
	Open            int          `json:"open"`
	InUse           int          `json:"in_use"`
	Idle            int          `json:"idle"`
	Opened          int64        `json:"opened"`       // connections, since the task started
	FailedOpens     int64        `json:"failed_opens"` // since the task started
	WorstWaitMS     float64      `json:"worst_wait_ms"`
	ReadOnlyErrors  int64        `json:"read_only_errors"`
	Indeterminate   int64        `json:"indeterminate"`
	OldestOldSecond float64      `json:"oldest_old_s"` // age of the oldest connection to the other endpoint
}
