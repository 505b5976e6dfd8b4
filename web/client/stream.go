package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How a stream goes on after it broke.
const (
	silence    = 30 * time.Second // three heartbeats of the server: nobody is there any more
	firstPause = 500 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Stream tells each event of a rollout after a place in its own order, as it
// comes to pass, without end.
//
// When the connection breaks, or the server is away, the cause is told beside an
// event that is zero; whoever goes on has it tried again, from where it was. A
// [Problem] that no further try can mend, such as a rollout that is not there,
// is told last. It also ends, without a word, when ctx does.
func (c *Client) Stream(ctx context.Context, name string, after uint64) iter.Seq2[rollout.Event, error] {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	return c.stream(ctx, request{path: []string{"rollouts", name, "events"}, query: query})
}

// StreamAll is [Client.Stream] for the events of all that may be read, after a
// place in the journal.
func (c *Client) StreamAll(ctx context.Context, f EventFilter, after int64) iter.Seq2[rollout.Event, error] {
	return c.stream(ctx, request{path: []string{"events"}, query: f.query(after)})
}

func (c *Client) stream(ctx context.Context, q request) iter.Seq2[rollout.Event, error] {
	q.method, q.accept = http.MethodGet, "text/event-stream"
	return func(yield func(rollout.Event, error) bool) {
		q := q // each time from the beginning
		for pause := firstPause; ; pause = min(2*pause, lastPause) {
			more, err := c.follow(ctx, q, func(id string, e rollout.Event) bool {
				q.last, pause = id, firstPause
				return yield(e, nil)
			})
			if !more || ctx.Err() != nil || !yield(rollout.Event{}, err) || final(err) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// final reports whether asking again would bring the same answer.
func final(err error) bool {
	if _, silent := errors.AsType[*Unreachable](err); silent {
		return false
	}
	p, ok := errors.AsType[*Problem](err)
	return !ok || p.Status/100 == 4 && p.Status != http.StatusTooManyRequests
}

// errSilent says that a connection is dead, though nobody has closed it.
var errSilent = fmt.Errorf("not a word for %v", silence)

// follow reads one connection's events to its end and says why it ended; more is
// false if nobody wants any more of them.
func (c *Client) follow(ctx context.Context, q request, each func(id string, e rollout.Event) bool) (more bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	r, err := c.build(ctx, q)
	if err != nil {
		return true, err
	}
	resp, err := c.http.Do(r)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	if err != nil {
		return true, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
		return true, problem(resp, text)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, answerLimit)
	var id string
	var data []byte
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(": "))
		switch {
		case string(name) == "id":
			id = string(value)
		case string(name) == "data":
			data = append(data[:0], value...)
		case len(lines.Bytes()) == 0 && len(data) > 0:
			var e rollout.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return true, fmt.Errorf("reading an event of %s: is that a Cutover server? %w", c.base, err)
			}
			if data = data[:0]; !each(id, e) {
				return false, nil
			}
		}
	}
	why := lines.Err()
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		why = errSilent
	case why == nil:
		why = io.EOF
	}
	return true, &Unreachable{URL: c.base, Sent: true, Err: fmt.Errorf("the stream broke off: %w", why)}
}
