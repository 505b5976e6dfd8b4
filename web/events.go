package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// eventList is a part of a rollout's events.
type eventList struct {
	Events []rollout.Event `json:"events"`
	Next   uint64          `json:"next"` // to go on after
}

// events returns a rollout's events after a place in its own order, oldest
// first, and the place to go on after; or tells them as they come.
func (s *server) events(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	after, limit, err := c.from(query)
	if err != nil {
		return answer{}, err
	}
	if _, err := s.find(ctx, c); err != nil {
		return answer{}, err
	}
	if c.streams() {
		return s.streamOne(ctx, c, after)
	}
	events, err := s.Journal.Events(ctx, c.name(), after, limit)
	if err != nil {
		return answer{}, fmt.Errorf("reading events of %s: %w: %w", c.name(), rollout.ErrAway, err)
	}
	body := eventList{Events: append([]rollout.Event{}, events...), Next: after}
	if len(events) > 0 {
		body.Next = events[len(events)-1].Seq
	}
	return answer{body: body}, nil
}

// from reads after which place events are asked for, and how many.
func (c *call) from(query url.Values) (after uint64, limit int, err error) {
	if c.streams() {
		if query.Has("limit") {
			return 0, 0, bad("limit", query.Get("limit"), "is for lists only; a stream has no end")
		}
		if last := c.r.Header.Get("Last-Event-ID"); last != "" { // where a stream broke off
			query = url.Values{"after": {last}}
		}
	}
	if after, err = number(query, "after", 0, 0, math.MaxInt64); err != nil {
		return 0, 0, err
	}
	most, err := number(query, "limit", usualPart, 1, largestPart)
	return after, int(most), err
}

// streams reports whether events are wanted as they come.
func (c *call) streams() bool { return c.kind == eventsKind && c.r.Method == http.MethodGet }

// allEvents returns the events of all rollouts after a place in the journal, of
// those that whoever asks may read, and the place to go on after; or tells them
// as they come.
func (s *server) allEvents(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit", "kind", "by"); err != nil {
		return answer{}, err
	}
	after, limit, err := c.from(query)
	if err != nil {
		return answer{}, err
	}
	q := rollout.Query{After: int64(after)}
	if q.Kinds, err = choices(query, "kind", kinds()); err != nil {
		return answer{}, err
	}
	if q.By, err = word(query, "by"); err != nil {
		return answer{}, err
	}
	if c.streams() {
		return s.streamAll(c, q)
	}
	q.Limit = limit
	return s.search(ctx, c, q)
}

// searches is how often the journal is asked for one answer, if most of what it
// has may not be read.
const searches = 10

func (s *server) search(ctx context.Context, c *call, q rollout.Query) (answer, error) {
	body := eventList{Events: []rollout.Event{}}
	most := q.Limit
	if ok, _ := may(c.who, toRead, everywhere); !ok {
		q.Limit = largestPart // most of them may be other people's
	}
	for range searches {
		events, err := s.Journal.Find(ctx, q)
		if err != nil {
			return answer{}, fmt.Errorf("reading events: %w: %w", rollout.ErrAway, err)
		}
		for i := range events {
			if len(body.Events) == most {
				break
			}
			q.After = events[i].Place
			if ok, err := s.mayHear(ctx, c.who, &events[i]); err != nil {
				return answer{}, err
			} else if ok {
				body.Events = append(body.Events, events[i])
			}
		}
		if len(events) < q.Limit || len(body.Events) == most {
			break
		}
	}
	body.Next = uint64(q.After)
	return answer{body: body}, nil
}

// mayHear reports whether somebody may read an event: those of a rollout by its
// database, those about all rollouts by what they are about.
func (s *server) mayHear(ctx context.Context, who Caller, e *rollout.Event) (bool, error) {
	if ok, _ := may(who, toRead, everywhere); ok {
		return true, nil
	}
	ok := false
	switch {
	case e.Rollout != rollout.HouseName:
		database, err := s.databases.of(ctx, s, e.Rollout)
		if err != nil {
			return false, err
		}
		ok, _ = may(who, toRead, database)
	case e.Freeze != nil:
		ok = concerns(who, e.Freeze.Database)
	case e.Trouble != nil:
		ok = concerns(who, e.Trouble.Database)
	case e.Kind == rollout.Thawed:
		ok = concerns(who, e.Subject)
	case slices.Contains([]rollout.Kind{rollout.HeldAll, rollout.ReleaseDue, rollout.ReleasedAll}, e.Kind):
		ok, _ = may(who, toRead, anywhere) // it is about their rollouts, too
	}
	return ok, nil
}

// kinds returns all kinds of events.
func kinds() []rollout.Kind {
	return []rollout.Kind{
		rollout.Planned, rollout.Started, rollout.Checked, rollout.Led, rollout.Stamped, rollout.Raised, rollout.Confirmed,
		rollout.TakenBack, rollout.Settled, rollout.Rebaked, rollout.Baked, rollout.Awaited, rollout.Advanced, rollout.Approved,
		rollout.Voided, rollout.HeldOn, rollout.Released, rollout.Resumed, rollout.Adopted, rollout.Restored, rollout.Lowered,
		rollout.Late, rollout.Proven, rollout.BecameStuck, rollout.Acknowledged, rollout.SoakBegan, rollout.SoakEnded, rollout.Done,
		rollout.GivenUp, rollout.Retried, rollout.Refused, rollout.Noted, rollout.TakenOver, rollout.Sealed, rollout.Rejected,
		rollout.Proposed, rollout.Amended, rollout.Offered, rollout.HandedOver,
		rollout.Frozen, rollout.Thawed, rollout.Disturbed, rollout.Quieted, rollout.HeldAll, rollout.ReleaseDue, rollout.ReleasedAll,
		rollout.TokenMade, rollout.TokenTaken,
	}
}
