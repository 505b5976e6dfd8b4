package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// line is a server at the other end of a line, which answers one request after
// the other: the n-th by the n-th function, further ones by the last.
type line struct {
	answer []func(context.Context, io.Writer)
	asked  []*http.Request
	at     []time.Time
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.asked, l.at = append(l.asked, r), append(l.at, time.Now())
	answer := l.answer[min(len(l.asked), len(l.answer))-1]
	in, out := io.Pipe()
	go func(ctx context.Context) {
		answer(ctx, out)
		_ = out.Close()
	}(r.Context())
	stop := context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: closer{in, stop}, Request: r}, nil
}

type closer struct {
	*io.PipeReader
	stop func() bool
}

func (c closer) Close() error {
	c.stop()
	return c.PipeReader.Close()
}

func event(seq int) string {
	return fmt.Sprintf("id: %d\nevent: noted\ndata: {\"rollout\":\"a\",\"seq\":%d,\"kind\":\"noted\"}\n\n", seq, seq)
}

func TestAStreamGoesOnWhereItBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{answer: []func(context.Context, io.Writer){
			func(_ context.Context, w io.Writer) { // breaks in the middle of an event
				io.WriteString(w, "retry: 2000\n\n"+event(5)+event(6)+event(7)[:20])
			},
			func(ctx context.Context, w io.Writer) { // falls silent
				io.WriteString(w, event(7)+": still here\n\n")
				<-ctx.Done()
			},
			func(_ context.Context, w io.Writer) { io.WriteString(w, event(8)+event(9)) },
		}}
		c := client.New("http://127.0.0.1:1", "cut_x", http.Client{Transport: l})
		var got []uint64
		var lost []string
		for e, err := range c.Stream(t.Context(), "a", 4) {
			if err != nil {
				lost = append(lost, err.Error())
				continue
			}
			if got = append(got, e.Seq); e.Seq == 8 {
				break // and nothing is asked any more
			}
		}
		if !slices.Equal(got, []uint64{5, 6, 7, 8}) {
			t.Errorf("got %v", got)
		}
		if len(lost) != 2 || !strings.Contains(lost[0], "the stream broke off: EOF") || !strings.Contains(lost[1], "not a word for 30s") {
			t.Errorf("lost %q", lost)
		}
		if len(l.asked) != 3 {
			t.Fatalf("asked %d times", len(l.asked))
		}
		for i, last := range []string{"", "6", "7"} {
			if r := l.asked[i]; r.Header.Get("Last-Event-ID") != last || r.URL.Query().Get("after") != "4" || r.Header.Get("Accept") != "text/event-stream" {
				t.Errorf("request %d: %s, after %q", i, r.URL, r.Header.Get("Last-Event-ID"))
			}
		}
		if gap := l.at[2].Sub(l.at[1]); gap < 30*time.Second || gap > 35*time.Second {
			t.Errorf("the silent one was given up after %v", gap)
		}
	})
}

func TestAStreamEndsWhenItsContextDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{answer: []func(context.Context, io.Writer){func(ctx context.Context, _ io.Writer) { <-ctx.Done() }}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for _, err := range client.New("http://127.0.0.1:1", "", http.Client{Transport: l}).StreamAll(ctx, client.EventFilter{}, 0) {
			t.Errorf("it told %v", err)
		}
	})
}

func TestAStreamOfWhatIsNotThereSaysSoAndEnds(t *testing.T) {
	c := serve(t, &rooms{err: rollout.ErrNotFound}, "viewer")
	var said []error
	for _, err := range c.Stream(t.Context(), "a", 0) {
		said = append(said, err)
	}
	if p, ok := errors.AsType[*client.Problem](errors.Join(said...)); len(said) != 1 || !ok || p.Code != "not_found" {
		t.Errorf("it said %v", said)
	}
}
