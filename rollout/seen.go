package rollout

import (
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// Seen is what the controller saw when it looked. Slices are in the plan's order.
type Seen struct {
	Flags    []Flag
	Tasks    []Observation
	Verdicts []gates.Verdict
	Bake     time.Duration // complete, settled data of every gate since BakeFrom
	BakeFrom time.Time     // the State.Settled that Bake was measured from

	Guard   bool // a guard cycle: nothing rises
	Journal bool // the journal takes events; without it only the way down goes on
	Lease   bool // leadership is proven in this cycle, and the state's epoch is ours
	Clock   bool // the clock is not in doubt

	Blind   bool      // all independent sources are
	BadFrom time.Time // since when the source itself fails its probe; zero if it does not
	Outside []Wait    // freeze, quiet, lock: what stands against a raise from outside

	Report *Report // of a preflight that is due
}

// Flag is one lane's flag as the store has it.
type Flag struct {
	flags.Setting
	Err      string    // why it could not be read; empty if it was
	Failed   bool      // a write of it failed in this cycle
	Replaced string    // the revision that a write of ours replaced in this cycle
	Before   time.Time // when another revision was last seen; zero if never
}

// Observation is what one lane's tasks report, held against the published share.
type Observation struct {
	Share     flags.Share `json:"share"` // percent of live tasks that use the target, rounded up
	Live      int         `json:"live"`
	Inventory int         `json:"inventory"`
	On        int         `json:"on"`     // live tasks that use the target
	Cohort    int         `json:"cohort"` // live tasks whose bucket asks for the target
	Stray     int         `json:"stray"`  // use the target though their bucket does not ask for it
	Lagging   []string    `json:"lagging,omitempty"`
	Converged bool        `json:"converged"`
	Since     time.Time   `json:"since,omitzero"` // since when it has been
	Replaced  int         `json:"replaced"`       // live tasks that were not there when the bake began
	Why       string      `json:"why,omitempty"`  // why it is not converged
}

// Step is what to do next: record the event, or write the flag; or, with
// neither, rest for the reasons given.
type Step struct {
	Event *Event
	Write *Write
	Waits []Wait
}

// Write is a change of one lane's flag.
type Write struct {
	Lane   int
	Change flags.Change
}

// WaitKind says what kind of thing is waited for.
type WaitKind string

// The kinds of things that a rollout waits for.
const (
	WaitGo       WaitKind = "go"
	WaitApproval WaitKind = "approval"
	WaitGate     WaitKind = "gate"
	WaitWindow   WaitKind = "window"
	WaitFreeze   WaitKind = "freeze"
	WaitQuiet    WaitKind = "quiet"
	WaitLock     WaitKind = "lock"
	WaitTasks    WaitKind = "tasks" // to follow the flag
	WaitBake     WaitKind = "bake"
	WaitSoak     WaitKind = "soak"
	WaitHold     WaitKind = "hold"
	WaitFlag     WaitKind = "flag"  // to be readable, or to be written
	WaitLease    WaitKind = "lease" // or the clock
	WaitCycle    WaitKind = "cycle" // the next bake cycle
	WaitStart    WaitKind = "start" // nobody has started it, or nothing is left to do
)

// Wait is one thing that is waited for. Kind and Subject name it; Why has the values.
type Wait struct {
	Kind    WaitKind `json:"kind"`
	Subject string   `json:"subject,omitempty"`
	Why     string   `json:"why,omitempty"`
}
