package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// patience is how long an answer may take.
const patience = 10 * time.Second

// call is one request, and who it is from.
type call struct {
	w   http.ResponseWriter
	r   *http.Request
	id  string
	who Caller
}

// name is the rollout that the path names.
func (c *call) name() string { return chi.URLParam(c.r, "name") }

// answer is what goes back: with status 200, if none is set, and a body as JSON,
// if there is one.
type answer struct {
	status   int
	body     any
	location string
}

// handler answers a call. Its error is turned into a problem.
type handler func(context.Context, *call) (answer, error)

// open answers anybody.
func (s *server) open(do handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		c := &call{w: w, r: r, id: requestID(r)}
		a, err := s.safely(ctx, c, do)
		sent := s.send(ctx, c, a, err)
		s.note(ctx, c, sent, time.Since(began))
	}
}

// known answers whoever has a good token.
func (s *server) known(do handler) http.HandlerFunc {
	return s.open(func(ctx context.Context, c *call) (answer, error) {
		if err := s.authenticate(ctx, c); err != nil {
			return answer{}, err
		}
		return do(ctx, c)
	})
}

// only answers whoever may do one thing on what the path names.
func (s *server) only(what action, do handler) http.HandlerFunc {
	return s.known(func(ctx context.Context, c *call) (answer, error) {
		if err := s.admit(ctx, c, what); err != nil {
			s.noteRefusal(ctx, c, what, err)
			return answer{}, err
		}
		return do(ctx, c)
	})
}

// permit turns a no of the policy into an error.
func permit(ok bool, why string) error {
	if ok {
		return nil
	}
	return &fault{status: http.StatusForbidden, code: Forbidden, detail: why}
}

// safely turns a panic into an error: one bad request must not end the guard.
func (s *server) safely(ctx context.Context, c *call, do handler) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if !accepts(c.r.Header.Values("Accept")) {
		return answer{}, &fault{
			status: http.StatusNotAcceptable, code: NotAcceptable,
			detail: "Accept: only application/json is served",
		}
	}
	return do(ctx, c)
}

// send writes the answer, or the problem, and returns the status.
func (s *server) send(ctx context.Context, c *call, a answer, err error) int {
	header := c.w.Header()
	header.Set("X-Request-Id", c.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	kind := "application/json"
	code := cmp.Or(a.status, http.StatusOK)
	var text []byte
	if err == nil {
		text, err = encode(a.body)
	}
	if err != nil {
		p := s.problem(ctx, c, err)
		text, _ = encode(p)
		code, kind = p.Status, "application/problem+json"
	}
	if a.location != "" && err == nil {
		header.Set("Location", a.location)
	}
	if text != nil {
		header.Set("Content-Type", kind)
	}
	c.w.WriteHeader(code)
	_, _ = c.w.Write(text) // whoever asked may have gone; the log has the status
	return code
}

// problem says what an error means to whoever asked. A fault of ours is logged, not told.
func (s *server) problem(ctx context.Context, c *call, err error) Problem {
	p := status(err)
	p.Title = http.StatusText(p.Status)
	p.RequestID = c.id
	switch {
	case p.Status == http.StatusInternalServerError:
		s.Log.ErrorContext(ctx, "request failed", "request", c.id, "err", err)
	case p.Status > http.StatusInternalServerError:
		s.Log.WarnContext(ctx, "request not answered in time", "request", c.id, "err", err)
	}
	if found, ok := errors.AsType[*fault](err); ok {
		maps.Copy(c.w.Header(), found.header)
	}
	return p
}

// note writes the access log: the path and whose token, never a header or a query.
func (s *server) note(ctx context.Context, c *call, code int, took time.Duration) {
	level := slog.LevelInfo
	if quiet := c.r.URL.Path; code < http.StatusBadRequest && (strings.HasSuffix(quiet, "/reports") || strings.HasSuffix(quiet, "/healthz")) {
		level = slog.LevelDebug // a thousand a second, in a big fleet
	}
	s.Log.Log(ctx, level, "request",
		"method", c.r.Method, "path", c.r.URL.Path, "status", code, "took", took,
		"by", c.who.Name, "remote", c.r.RemoteAddr, "request", c.id)
}

// encode returns JSON with a line's end; nothing for no body.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return b.Bytes(), nil
}

// requestID is the id that the client gave, if it is a decent one, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); decentID(id) {
		return id
	}
	return rand.Text()
}

// decentID reports whether an id can be kept and shown as it is.
func decentID(id string) bool {
	odd := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("._:-", r)
	}
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, odd)
}
