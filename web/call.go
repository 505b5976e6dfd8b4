package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// patience is how long an answer may take.
const patience = 10 * time.Second

// call is one request, and who it is from.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	id   string
	who  Caller
	kind string // of the answer that is wanted, among those that are offered
}

// part is a part of the path by its name in the route.
func (c *call) part(name string) string {
	text := chi.URLParam(c.r, name)
	if c.r.URL.RawPath == "" {
		return text
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text // no part of a path that was parsed is this bad
	}
	return plain
}

// name is the rollout that the path names.
func (c *call) name() string { return c.part("name") }

// handler answers a call. Its error is turned into a problem.
type handler func(context.Context, *call) (answer, error)

// open answers anybody, with JSON or what else is offered.
func (s *server) open(do handler, offers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		c := &call{w: w, r: r, id: requestID(r)}
		a, err := s.safely(ctx, c, do, offers)
		sent := s.send(ctx, c, a, err)
		if err == nil && a.stream != nil {
			s.flow(r.Context(), c, a.stream)
		}
		s.note(ctx, c, sent, time.Since(began))
	}
}

// known answers whoever has a good token.
func (s *server) known(do handler, offers ...string) http.HandlerFunc {
	return s.open(func(ctx context.Context, c *call) (answer, error) {
		if err := s.authenticate(ctx, c); err != nil {
			return answer{}, err
		}
		return do(ctx, c)
	}, offers...)
}

// only answers whoever may do one thing on what the path names.
func (s *server) only(what action, do handler, offers ...string) http.HandlerFunc {
	return s.known(func(ctx context.Context, c *call) (answer, error) {
		if err := s.admit(ctx, c, what); err != nil {
			s.noteRefusal(ctx, c, what, err)
			return answer{}, err
		}
		return do(ctx, c)
	}, offers...)
}

// find looks up the rollout that the path names.
func (s *server) find(ctx context.Context, c *call) (rollout.Status, error) {
	seen, err := s.Desk.Status(ctx, c.name())
	if err == nil && seen.State.Plan == nil { // what is about all rollouts is none
		err = rollout.ErrNotFound
	}
	if err != nil {
		return rollout.Status{}, fmt.Errorf("looking at %s: %w", c.name(), err)
	}
	return seen, nil
}

// permit turns a no of the policy into an error.
func permit(ok bool, why string) error {
	if ok {
		return nil
	}
	return &fault{status: http.StatusForbidden, code: Forbidden, detail: why}
}

// safely turns a panic into an error: one bad request must not end the guard.
func (s *server) safely(ctx context.Context, c *call, do handler, offers []string) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if c.kind, err = negotiate(c.r.Header.Values("Accept"), append([]string{jsonKind}, offers...)); err != nil {
		return answer{}, err
	}
	return do(ctx, c)
}

// requestID is the id that the client gave, if it is a decent one, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); decentID(id) {
		return id
	}
	return rand.Text()
}

// goodID refuses the id of a request that cannot be kept; none is good.
func goodID(field, id string) error {
	if id == "" || decentID(id) {
		return nil
	}
	return bad(field, id, "must be at most 128 letters, digits or any of . _ : -")
}

// decentID reports whether an id can be kept and shown as it is.
func decentID(id string) bool {
	odd := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("._:-", r)
	}
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, odd)
}
