package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// Auditor holds the journal to what it was.
type Auditor interface {
	// Verify holds the events to their chain, to the rows, and to checkpoints.
	Verify(ctx context.Context, checkpoints ...audit.Checkpoint) (audit.Result, error)

	// Export writes the events after a place, as they are at one moment.
	Export(ctx context.Context, w io.Writer, after int64) error
}

// linesKind is the media type of an export: a JSON object a line.
const linesKind = "application/x-ndjson"

// How much auditing there is at once, and for how long. Both read the whole
// journal.
const (
	auditsAtOnce  = 2
	verifyWithin  = 5 * time.Minute
	checkpointsIn = 100
)

// routeAudit serves the journal to those who audit it.
func (s *server) routeAudit(r chi.Router) {
	if s.Audit == nil {
		return
	}
	a := &auditing{server: s, turns: make(chan struct{}, auditsAtOnce)}
	r.Get("/audit", s.only(toRead, s.audit))
	r.Get("/audit/verify", s.only(toVerify, a.verify))
	r.Get("/audit/export", s.only(toExport, a.export, linesKind))
}

// audit returns the events that are asked for, of those that whoever asks may
// read, and the place to go on after.
func (s *server) audit(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "rollout", "by", "kind", "from", "until", "newest", "after", "limit"); err != nil {
		return answer{}, err
	}
	q, err := asked(query)
	if err != nil {
		return answer{}, err
	}
	return s.search(ctx, c, q)
}

// asked reads what events are asked for.
func asked(query url.Values) (q rollout.Query, err error) {
	if q.Rollout, err = word(query, "rollout"); err != nil {
		return q, err
	}
	if q.By, err = word(query, "by"); err != nil {
		return q, err
	}
	if q.Kinds, err = choices(query, "kind", kinds()); err != nil {
		return q, err
	}
	if q.From, err = moment("from", query.Get("from")); err != nil {
		return q, err
	}
	if q.Until, err = moment("until", query.Get("until")); err != nil {
		return q, err
	}
	switch newest := query.Get("newest"); newest {
	case "", "true", "false":
		q.Newest = newest == "true"
	default:
		return q, bad("newest", newest, "must be true or false")
	}
	after, err := number(query, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return q, err
	}
	limit, err := number(query, "limit", usualPart, 1, largestPart)
	q.After, q.Limit = int64(after), int(limit)
	return q, err
}

// auditing is what reads the whole journal.
type auditing struct {
	*server
	turns chan struct{}
}

// turn takes a turn, and returns how to give it back.
func (a *auditing) turn() (func(), error) {
	select {
	case a.turns <- struct{}{}:
		return func() { <-a.turns }, nil
	default:
		return nil, &fault{
			status: http.StatusTooManyRequests, code: TooManyRequests, header: http.Header{"Retry-After": {"5"}},
			detail: fmt.Sprintf("%d verifications or exports run already; try again when they have ended", auditsAtOnce),
		}
	}
}

// verdict is what a verification came to.
type verdict struct {
	OK bool `json:"ok"`
	audit.Result
}

// verify verifies the journal as it is stored. That takes as long as the journal
// is, so the limit of other answers is not for this one.
func (a *auditing) verify(ctx context.Context, c *call) (answer, error) {
	checkpoints, err := checkpointsOf(c.r.URL.Query())
	if err != nil {
		return answer{}, err
	}
	done, err := a.turn()
	if err != nil {
		return answer{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyWithin)
	defer cancel()
	defer context.AfterFunc(c.r.Context(), cancel)() //nolint:contextcheck // it is only watched: whoever asks may go
	if err := c.patient(verifyWithin); err != nil {
		return answer{}, err
	}
	result, err := a.Audit.Verify(ctx, checkpoints...)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return answer{}, &fault{
			status: http.StatusGatewayTimeout, code: Timeout,
			detail: fmt.Sprintf("the journal cannot be verified here within %v; export it, and verify the export", verifyWithin),
		}
	case err != nil:
		return answer{}, fmt.Errorf("verifying the journal: %w: %w", rollout.ErrAway, err)
	}
	if d := result.Damage; d != nil {
		a.Log.ErrorContext(ctx, "the journal is damaged", "place", d.Place, "rollout", d.Rollout, "kind", d.Kind, "why", d.Why)
	}
	return answer{body: verdict{OK: result.Damage == nil, Result: result}}, nil
}

// checkpointsOf reads what the journal is held to.
func checkpointsOf(query url.Values) ([]audit.Checkpoint, error) {
	if err := queries(query, "checkpoint"); err != nil || !query.Has("checkpoint") {
		return nil, err
	}
	texts := strings.Split(query.Get("checkpoint"), ",")
	if len(texts) > checkpointsIn {
		return nil, bad("checkpoint", fmt.Sprint(len(texts)), fmt.Sprintf("must be at most %d", checkpointsIn))
	}
	list := make([]audit.Checkpoint, len(texts))
	for i, text := range texts {
		var err error
		if list[i], err = audit.ParseCheckpoint(text); err != nil {
			return nil, bad("checkpoint", text, "must be PLACE:HASH, with the 64 hexadecimal digits of the hash; several with commas between them")
		}
	}
	return list, nil
}

// export streams the journal.
func (a *auditing) export(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after"); err != nil {
		return answer{}, err
	}
	after, err := number(query, "after", 0, 0, math.MaxInt64)
	if err != nil {
		return answer{}, err
	}
	newest, err := a.Journal.Find(ctx, rollout.Query{Newest: true, Limit: 1})
	if err != nil {
		return answer{}, fmt.Errorf("looking for the newest event: %w: %w", rollout.ErrAway, err)
	}
	last := int64(0)
	for i := range newest {
		last = newest[i].Place
	}
	if int64(after) > last {
		return answer{}, bad("after", query.Get("after"), fmt.Sprintf("must be from 0 to %d, the newest place", last))
	}
	if c.r.Method == http.MethodHead {
		return answer{kind: linesKind, stream: func(context.Context) error { return nil }}, nil
	}
	done, err := a.turn()
	if err != nil {
		return answer{}, err
	}
	return answer{kind: linesKind, stream: func(ctx context.Context) error {
		defer done()
		return a.pour(ctx, c, int64(after))
	}}, nil
}

// pour sends an export. One that cannot be sent to its end breaks off: whoever
// reads must not take it for a whole one.
func (a *auditing) pour(ctx context.Context, c *call, after int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := http.NewResponseController(c.w)
	_ = out.SetReadDeadline(time.Time{}) // that of the request would end it
	buffer := bufio.NewWriterSize(&chunks{c: c, out: out, ending: a.Ending}, 32<<10)
	err := a.Audit.Export(ctx, buffer, after)
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		a.Log.WarnContext(ctx, "export broken off", "request", c.id, "err", err)
		_ = out.SetWriteDeadline(time.Unix(1, 0)) // so that the end of the answer is not sent
	}
	return err
}

// chunks sends what it is given at once, or gives up.
type chunks struct {
	c      *call
	out    *http.ResponseController
	ending <-chan struct{}
}

func (w *chunks) Write(text []byte) (int, error) {
	select {
	case <-w.ending:
		return 0, errors.New("the server ends")
	default:
	}
	if err := w.c.push(w.out, text); err != nil {
		return 0, err
	}
	return len(text), nil
}

// patient lets an answer take longer than others.
func (c *call) patient(d time.Duration) error {
	err := http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(d + slowest))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
