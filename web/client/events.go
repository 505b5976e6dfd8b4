package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Events returns up to limit of a rollout's events after a place in its own
// order, and the place to go on after. Limit 0 leaves it to the server.
func (c *Client) Events(ctx context.Context, name string, after uint64, limit int) ([]rollout.Event, uint64, error) {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	setNumber(query, "limit", limit)
	var body struct {
		Events []rollout.Event `json:"events"`
		Next   uint64          `json:"next"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "events"}, query: query}, &body)
	return body.Events, body.Next, err
}

// EventFilter says which events are asked for; a field that is empty, any.
type EventFilter struct {
	Kinds []rollout.Kind
	By    string
}

// AllEvents returns up to limit of the events after a place in the journal, of
// all that may be read, and the place to go on after. Limit 0 leaves it to the server.
func (c *Client) AllEvents(ctx context.Context, f EventFilter, after int64, limit int) ([]rollout.Event, int64, error) {
	query := f.query(after)
	setNumber(query, "limit", limit)
	var body struct {
		Events []rollout.Event `json:"events"`
		Next   int64           `json:"next"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"events"}, query: query}, &body)
	return body.Events, body.Next, err
}

func (f EventFilter) query(after int64) url.Values {
	query := url.Values{"after": {strconv.FormatInt(after, 10)}}
	set(query, "kind", list(f.Kinds))
	set(query, "by", f.By)
	return query
}
