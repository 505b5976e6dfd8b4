package audit

import "fmt"

// Kind says what was done to a journal.
type Kind string

// The kinds of damage.
const (
	Edited     Kind = "edited"     // an event's text does not fit its hash, or a column does not fit the text
	Missing    Kind = "missing"    // a place is skipped
	Reordered  Kind = "reordered"  // events stand in each other's places
	Cut        Kind = "cut"        // there are fewer events than there were
	Extra      Kind = "extra"      // an event stands beyond the end
	Rewritten  Kind = "rewritten"  // all fits together, and is not what it was: hashes were computed anew
	Unreadable Kind = "unreadable" // what stands there is no event
	Row        Kind = "row"        // a rollout's row is not what its events make
	Claim      Kind = "claim"      // a claim is not what the events make
	Head       Kind = "head"       // the row that knows the journal's end
)

// Damage is the first thing that is not what was written.
type Damage struct {
	Kind    Kind   `json:"kind"`
	Place   int64  `json:"place"`             // the first that is wrong; of a row, that of its rollout's last event
	Rollout string `json:"rollout,omitempty"` // empty if it cannot be known
	Why     string `json:"why"`
}

func (d Damage) Error() string {
	where := fmt.Sprintf("place %d", d.Place)
	if d.Rollout != "" {
		where += ", rollout " + d.Rollout
	}
	return fmt.Sprintf("%s: %s: %s", where, d.Kind, d.Why)
}

// Gone says that the event at a place is missing.
func Gone(place int64) Damage {
	return Damage{Kind: Missing, Place: place, Why: "there is no event at this place, though there are some after it"}
}

// Result is how far a chain was verified, and why no further.
type Result struct {
	Places     int64      `json:"places"`           // how many events hold
	Checkpoint Checkpoint `json:"checkpoint"`       // at the last of them
	Damage     *Damage    `json:"damage,omitempty"` // the first; none if all of it holds
}
