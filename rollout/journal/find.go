package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Find returns the events that a query asks for, in the order of their places or
// against it, at most as many as its limit and never more than 1000: fewer means
// that there are no more. Without a rollout it may have to look at every event;
// a call's limit of time ends that.
func (j *Journal) Find(ctx context.Context, q rollout.Query) ([]rollout.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	found, err := j.find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("looking for events: %w", err)
	}
	return found, nil
}

func (j *Journal) find(ctx context.Context, q rollout.Query) ([]rollout.Event, error) {
	var found []rollout.Event
	for limit := bounded(q.Limit); ; {
		query, args, err := search(&q, limit)
		if err != nil {
			return nil, err
		}
		page, err := j.events(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if q.Matches(&page[i]) && len(found) < limit {
				found = append(found, page[i])
			}
		}
		if len(page) < limit || len(found) == limit {
			return found, nil
		}
		q.After = page[len(page)-1].Place
	}
}

// search makes a statement of a query. It lets through some more than is asked
// for: times are kept in whole milliseconds, and who an event is by is in its
// text alone, where others may be named, too.
func search(q *rollout.Query, limit int) (string, []any, error) {
	var where []string
	var args []any
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	order := "place"
	if q.Newest {
		order = "place DESC"
	}
	switch {
	case !q.Newest:
		add("place > ?", q.After)
	case q.After > 0:
		add("place < ?", q.After)
	default:
		add("place < ?", int64(math.MaxInt64))
	}
	if q.Rollout != "" {
		add("rollout = ?", q.Rollout)
		order = strings.Replace(order, "place", "seq", 1) // the same order, and the index has it
	}
	if len(q.Kinds) > 0 {
		kinds := make([]any, len(q.Kinds))
		for i, kind := range q.Kinds {
			kinds[i] = string(kind)
		}
		add("kind IN (?"+strings.Repeat(", ?", len(kinds)-1)+")", kinds...)
	}
	if !q.From.IsZero() {
		add("at >= ?", q.From.UnixMilli())
	}
	if !q.Until.IsZero() {
		add("at <= ?", q.Until.UnixMilli())
	}
	if q.By != "" {
		by, err := json.Marshal(q.By)
		if err != nil {
			return "", nil, fmt.Errorf("encoding %q: %w", q.By, err)
		}
		add("INSTR(body, ?) > 0", `"by":`+string(by))
	}
	return "SELECT body FROM events WHERE " + strings.Join(where, " AND ") + " ORDER BY " + order + " LIMIT ?", append(args, limit), nil
}
