package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"
)

// The media types that are answered.
const (
	jsonKind    = "application/json"
	problemKind = "application/problem+json"
	yamlKind    = "application/yaml"
	eventsKind  = "text/event-stream"
)

// answer is what goes back: with status 200, if none is set, and a body as JSON,
// if there is one.
type answer struct {
	status   int
	body     any
	location string

	text []byte // instead of a body: as it is
	kind string // of the text

	stream func(context.Context) error // instead of a body: for as long as it lasts
}

// send writes the answer, or the problem, and returns the status.
func (s *server) send(ctx context.Context, c *call, a answer, err error) int {
	header := c.w.Header()
	harden(header, c.id)
	kind, text := cmp.Or(a.kind, jsonKind), a.text
	code := cmp.Or(a.status, http.StatusOK)
	if err == nil && a.body != nil {
		text, err = encode(a.body)
	}
	switch {
	case err != nil:
		p := s.problem(ctx, c, err)
		text, _ = encode(p)
		code, kind = p.Status, problemKind
	case a.location != "":
		header.Set("Location", a.location)
	}
	looks := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	if looks && code == http.StatusOK && text != nil {
		tag := etag(text)
		header.Set("ETag", tag)
		if matches(c.r.Header.Values("If-None-Match"), tag) {
			code, text = http.StatusNotModified, nil
		}
	}
	if text != nil || a.stream != nil && err == nil {
		header.Set("Content-Type", kind)
	}
	c.w.WriteHeader(code)
	_, _ = c.w.Write(text) // whoever asked may have gone; the log has the status
	return code
}

// harden sets what goes with every answer.
func harden(header http.Header, id string) {
	header.Set("X-Request-Id", id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	header.Add("Vary", "Accept")
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

// encode returns JSON with a line's end.
func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return b.Bytes(), nil
}
