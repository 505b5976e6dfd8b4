package rollout

import (
	"slices"
	"time"
)

// Query asks for events, of all rollouts. A field that is empty asks for
// nothing in particular.
type Query struct {
	Rollout string
	By      string
	Kinds   []Kind
	From    time.Time // the first moment that is asked for
	Until   time.Time // the first that no longer is

	// After is the place to go on after: with Newest, at the events before it.
	After  int64
	Limit  int  // how many at most; none, or too many: 1000
	Newest bool // first; otherwise the oldest
}

// Matches reports whether an event is one that is asked for, wherever it stands.
func (q *Query) Matches(e *Event) bool {
	return (q.Rollout == "" || e.Rollout == q.Rollout) &&
		(q.By == "" || e.By == q.By) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) &&
		(q.From.IsZero() || !e.At.Before(q.From)) &&
		(q.Until.IsZero() || e.At.Before(q.Until))
}
