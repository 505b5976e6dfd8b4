package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How streams of events go.
const (
	streamsMost = 1000
	heartbeat   = 10 * time.Second // a comment, if there was nothing else
	checkEvery  = 30 * time.Second // whether the token is still good
	slowest     = 10 * time.Second // for a reader to take what it was sent
)

// tale is what a stream tells.
type tale struct {
	query rollout.Query // its After is how far it was told
	skip  uint64        // of one rollout: tell only what follows this seq
}

// id is where a reader can go on after an event.
func (t *tale) id(e *rollout.Event) string {
	if t.query.Rollout != "" {
		return strconv.FormatUint(e.Seq, 10)
	}
	return strconv.FormatInt(e.Place, 10)
}

// streamOne tells a rollout's events after a seq.
func (s *server) streamOne(ctx context.Context, c *call, after uint64) (answer, error) {
	t := tale{query: rollout.Query{Rollout: c.name()}, skip: after}
	if after > 0 { // find its place: places are what a stream goes by
		at, err := s.Journal.Events(ctx, c.name(), after-1, 1)
		if err != nil {
			return answer{}, fmt.Errorf("reading events of %s: %w: %w", c.name(), rollout.ErrAway, err)
		}
		for i := range at {
			t.query.After = at[i].Place
		}
	}
	return s.telling(c, t)
}

// streamAll tells the events of all that may be read.
func (s *server) streamAll(c *call, q rollout.Query) (answer, error) {
	return s.telling(c, tale{query: q})
}

func (s *server) telling(c *call, t tale) (answer, error) {
	if s.streams.Add(1) > streamsMost {
		s.streams.Add(-1)
		return answer{}, &fault{
			status: http.StatusTooManyRequests, code: TooManyStreams, header: http.Header{"Retry-After": {"5"}},
			detail: fmt.Sprintf("there are %d streams already; ask for lists, or try again", streamsMost),
		}
	}
	return answer{kind: eventsKind, stream: func(ctx context.Context) error {
		defer s.streams.Add(-1)
		return s.tell(ctx, c, t)
	}}, nil
}

// flow sends a stream for as long as it lasts. Why it ended is of no use to
// whoever read it: he asks again.
func (s *server) flow(ctx context.Context, c *call, stream func(context.Context) error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.ErrorContext(ctx, "stream failed", "request", c.id, "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := stream(ctx); err != nil {
		s.Log.DebugContext(ctx, "stream ended", "request", c.id, "err", err)
	}
}

// tell sends events until the reader goes or is too slow, the server ends, or
// the token is not good any more. While the journal is away it goes on waiting.
func (s *server) tell(ctx context.Context, c *call, t tale) error {
	out := http.NewResponseController(c.w)
	if err := c.push(out, []byte("retry: 2000\n\n")); err != nil {
		return err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	sent, checked := time.Now(), time.Now()
	for {
		text, more := s.next(ctx, c, &t)
		now := time.Now()
		if len(text) == 0 && now.Sub(sent) >= heartbeat {
			text = []byte(": still here\n\n")
		}
		if len(text) > 0 {
			if err := c.push(out, text); err != nil {
				return err
			}
			sent = now
		}
		if now.Sub(checked) >= checkEvery {
			if err := s.stillMay(ctx, c, t.query.Rollout); err != nil {
				return err
			}
			checked = now
		}
		if more && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Ending:
			return nil
		case <-tick.C:
		}
	}
}

// next returns the next events as they are sent, and whether there may be more
// at once. A fault of the journal leaves the tale where it was, to be tried again.
func (s *server) next(ctx context.Context, c *call, t *tale) (text []byte, more bool) {
	events, reached, err := s.tail.since(ctx, t.query)
	if err != nil {
		return nil, false
	}
	var b bytes.Buffer
	for i := range events {
		e := &events[i]
		if e.Seq <= t.skip && t.query.Rollout != "" {
			continue
		}
		ok, err := s.mayHear(ctx, c.who, e)
		if err != nil {
			return nil, false
		}
		if !ok {
			continue
		}
		line, err := encode(e)
		if err != nil {
			s.Log.ErrorContext(ctx, "event not told", "event", e.Place, "err", err)
			continue
		}
		fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n", t.id(e), e.Kind, line)
	}
	t.query.After = reached
	return b.Bytes(), len(events) == usualPart
}

// push sends what is there now. A reader who does not take it is dropped.
func (c *call) push(out *http.ResponseController, text []byte) error {
	if err := out.SetWriteDeadline(time.Now().Add(slowest)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := c.w.Write(text); err != nil {
		return err
	}
	return out.Flush()
}

// stillMay returns an error if whoever reads may not any more. That nobody can
// tell just now is none.
func (s *server) stillMay(ctx context.Context, c *call, name string) error {
	err := s.authenticate(ctx, c)
	switch {
	case err != nil:
		return err
	case name == "":
		return permit(may(c.who, toRead, anywhere))
	}
	err = s.mayOn(ctx, c.who, toRead, name)
	if no, ok := errors.AsType[*fault](err); ok {
		return no
	}
	return nil
}
