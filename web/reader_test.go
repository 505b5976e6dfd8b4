package web

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// reader takes what a stream sends, as a connection does.
type reader struct {
	mu       sync.Mutex
	header   http.Header
	status   int
	text     bytes.Buffer
	stuck    bool // takes nothing any more
	broken   bool // panics
	deadline time.Time
	ended    time.Time // when the stream did; zero while it goes on
	stop     context.CancelFunc
}

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(status int) { r.status = status }

func (r *reader) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		panic("hunter2")
	}
	if r.stuck {
		time.Sleep(time.Until(r.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return r.text.Write(text)
}

func (r *reader) Flush() {}

func (r *reader) SetWriteDeadline(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = at
	return nil
}

func (r *reader) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// ids are those of the events that came.
func (r *reader) ids() []string {
	var list []string
	for line := range strings.Lines(r.got()) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			list = append(list, strings.TrimSpace(id))
		}
	}
	return list
}

func (r *reader) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended.IsZero()
}

// listen opens a stream; it ends with the test at the latest.
func (h *house) listen(t *testing.T, token, path string, headers ...string) *reader {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := httptest.NewRequestWithContext(ctx, "GET", path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	out := &reader{header: http.Header{}, stop: stop}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.handler.ServeHTTP(out, r)
		out.mu.Lock()
		defer out.mu.Unlock()
		out.ended = time.Now()
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return out
}

// pass lets time pass, and everything happen that then does.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
