package web

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How the newest end of the journal is followed.
const (
	lookEvery  = 500 * time.Millisecond // however many streams there are
	lookWithin = time.Second
	tailKept   = 1000 // events: who is further behind reads the journal itself
	tailStale  = time.Minute
)

// tail is the newest end of the journal, read once for all streams.
type tail struct {
	journal Journal
	log     *slog.Logger

	mu     sync.Mutex
	at     time.Time // of the last look
	err    error     // of the last look
	head   int64     // the newest place
	events []rollout.Event
}

// since returns the next events that a query asks for, and the place that they
// reach: all that is asked for up to there is in them.
func (t *tail) since(ctx context.Context, q rollout.Query) ([]rollout.Event, int64, error) {
	kept, head, err := t.look(ctx, time.Now())
	if err != nil || q.After >= head {
		return nil, q.After, err
	}
	if len(kept) > 0 && kept[0].Place <= q.After+1 {
		var found []rollout.Event
		for i := range kept {
			if kept[i].Place > q.After && q.Matches(&kept[i]) {
				found = append(found, kept[i])
			}
		}
		return found, head, nil
	}
	q.Limit = usualPart
	found, err := t.journal.Find(ctx, q)
	switch {
	case err != nil:
		return nil, q.After, fmt.Errorf("reading events: %w", err)
	case len(found) == q.Limit:
		head = found[len(found)-1].Place // there may be more
	case len(found) > 0:
		head = max(head, found[len(found)-1].Place)
	}
	return found, head, nil
}

// look returns the newest events, in their order, and the newest place. It asks
// the journal at most once in a while, for all that call it.
func (t *tail) look(ctx context.Context, now time.Time) ([]rollout.Event, int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := now.Sub(t.at); age < lookEvery && age > -lookEvery {
		return t.events, t.head, t.err
	}
	// It is for the others, too, so it goes on when this one leaves.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	q := rollout.Query{After: t.head, Limit: tailKept}
	if len(t.events) == 0 || now.Sub(t.at) > tailStale { // do not catch up with what nobody waits for
		q = rollout.Query{Newest: true, Limit: 1}
	}
	found, err := t.journal.Find(ctx, q)
	if err != nil && t.err == nil {
		t.log.WarnContext(ctx, "streams wait: the journal does not tell new events", "err", err)
	}
	if t.at, t.err = now, err; err != nil {
		return nil, 0, err
	}
	if q.Newest {
		t.events = nil
	}
	if len(found) > 0 { // a new slice: the old one is being read
		t.events = append(append([]rollout.Event{}, t.events...), found...)
		t.events = t.events[max(0, len(t.events)-tailKept):]
		t.head = found[len(found)-1].Place
	}
	return t.events, t.head, nil
}
