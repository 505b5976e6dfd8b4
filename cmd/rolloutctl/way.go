package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// way returns how requests go out: bounded in time, listening to the server's
// clock and, with --debug, told.
func (s *session) way() http.RoundTripper {
	const patience = 15 * time.Second // longer than the server's own, which then says what is wrong
	limit := patience
	if s.Timeout != nil {
		limit = min(*s.Timeout, patience)
	}
	way := s.clock.listen(&limited{next: http.DefaultTransport, limit: limit})
	if s.Debug {
		way = &telling{next: way, say: func(line string) { s.errors.print(s.err, []string{line}) }}
	}
	return way
}

// limited bounds how long an answer may take, its body included; a stream of
// events has no end and no bound.
type limited struct {
	next  http.RoundTripper
	limit time.Duration
}

// RoundTrip asks.
func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Accept") == "text/event-stream" {
		return l.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), l.limit, fmt.Errorf("waited %v: %w", l.limit, context.DeadlineExceeded))
	resp, err := l.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if ctx.Err() != nil && r.Context().Err() == nil {
			err = context.Cause(ctx)
		}
		cancel()
		return nil, err
	}
	resp.Body = &bounded{ReadCloser: resp.Body, cancel: cancel}
	return resp, nil
}

// bounded is a body whose time ends with it.
type bounded struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends it.
func (b *bounded) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// telling says what is asked of the server, what it answers, and how long that
// takes. Of headers it says only ids: a token is never told.
type telling struct {
	next http.RoundTripper
	say  func(line string)
}

// RoundTrip asks, and tells.
func (t *telling) RoundTrip(r *http.Request) (*http.Response, error) {
	line := "debug: " + r.Method + " " + r.URL.Redacted()
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		line += " request=" + key
	}
	began := time.Now()
	resp, err := t.next.RoundTrip(r)
	took := time.Since(began).Round(100 * time.Microsecond)
	if err != nil {
		t.say(fmt.Sprintf("%s: %v after %v", line, err, took))
		return nil, err
	}
	t.say(fmt.Sprintf("%s: %s in %v id=%s", line, resp.Status, took, resp.Header.Get("X-Request-Id")))
	return resp, nil
}
