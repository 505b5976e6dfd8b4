package main

import (
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// damaged says what is damaged, what that means and what to do.
func (a *verification) damaged(d *audit.Damage) error {
	where := fmt.Sprintf("place %d", d.Place)
	if d.Rollout != "" {
		where += " of rollout " + d.Rollout
	}
	holds := "  holds   nothing before it"
	if a.result.Places > 0 {
		holds = "  holds   " + a.places() + ", head " + a.result.Checkpoint.String()
	}
	return failure{
		code: exitRefused,
		text: fmt.Sprintf("%s is damaged at %s: %s", a.what, where, d.Kind),
		lines: []string{
			"  found   " + d.Why,
			"  means   " + meaning(d.Kind),
			holds,
			"next: change nothing, and keep a copy of the database; compare with a backup, or with an older export by rolloutctl audit verify --checkpoint FILE",
		},
	}
}

// meaning says what a kind of damage says of the journal.
func meaning(kind audit.Kind) string {
	switch kind {
	case audit.Edited:
		return "somebody has changed what is on record here; what it said before, this journal cannot tell"
	case audit.Missing:
		return "an event was deleted; what it said, this journal cannot tell"
	case audit.Reordered:
		return "events were moved: the order in which things came to pass was changed"
	case audit.Cut:
		return "the newest events are gone, from this place on; or a file was not written to its end"
	case audit.Extra:
		return "there is more than there may be: an event was put in, or the end was set back to hide some"
	case audit.Rewritten:
		return "the history up to here is another than it was; where the first change is, between the last checkpoint that holds and this place, cannot be told"
	case audit.Unreadable:
		return "what stands here was made unreadable"
	case audit.Row:
		return "all events hold; what was folded from them, which status shows and decisions are made on, was changed"
	case audit.Claim:
		return "all events hold; which rollout holds a database or a flag key was changed"
	case audit.Head:
		return "all events hold; whether there were more of them cannot be told"
	default:
		return "a newer server says so; ask with a newer rolloutctl"
	}
}
