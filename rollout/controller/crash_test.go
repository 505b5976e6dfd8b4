package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// fragile stands before journal and store, and lets the process die around the
// n-th answer that changes anything: before the work is done, or after it, with
// the answer lost.
type fragile struct {
	controller.Journal
	controller.Flags

	mu    sync.Mutex
	left  int
	after bool
	dead  bool
	die   func()
}

var errDead = errors.New("the process is gone")

// around does the work, unless the process dies first.
func (f *fragile) around(work func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errDead
	}
	if f.left--; f.left != 0 {
		return work()
	}
	f.dead = true
	if f.after {
		_ = work() // done, and nobody hears of it
	}
	f.die()
	return errDead
}

func (f *fragile) Append(ctx context.Context, s rollout.State, e rollout.Event) (after rollout.State, stored rollout.Event, err error) {
	err = f.around(func() error {
		after, stored, err = f.Journal.Append(ctx, s, e)
		return err
	})
	return after, stored, err
}

func (f *fragile) Write(ctx context.Context, key flags.Key, c flags.Change) (s flags.Setting, err error) {
	err = f.around(func() error {
		s, err = f.Flags.Write(ctx, key, c)
		return err
	})
	return s, err
}

// TestADeathAnywhereIsResumedWithoutASecondStep kills the controller around
// each of its answers in turn, and starts it again.
func TestADeathAnywhereIsResumedWithoutASecondStep(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 3; n <= 40; n++ { // the first two are a person's: planned and started
			t.Run(fmt.Sprintf("answer %d, done %v", n, after), func(t *testing.T) {
				bubble(t, func(t *testing.T) { dieAt(t, n, after) })
			})
		}
	}
}

func dieAt(t *testing.T, n int, after bool) {
	gone := make(chan struct{})
	f := &fragile{left: n, after: after, die: func() { close(gone) }}
	var alive controller.Options
	h := build(t, func(o *controller.Options) {
		alive = *o
		f.Journal, f.Flags = o.Journal, o.Flags
		o.Journal, o.Flags = f, f
	})
	h.begin()
	select {
	case <-gone:
	case <-time.After(3 * time.Hour):
		if h.state().Phase != rollout.Soaking {
			t.Fatalf("nobody died, and it is %s", h.state().Phase)
		}
		return // it needed fewer answers
	}
	h.close()
	h.options = alive
	h.open()
	h.until(rollout.Soaking, 3*time.Hour)
	checkSteps(t, h.events())
}

// checkSteps holds what the journal tells against what may never happen: a step
// that skips a stage, is confirmed twice, or follows no bake.
func checkSteps(t *testing.T, events []rollout.Event) {
	t.Helper()
	at := map[string]flags.Share{}
	baked := true
	for _, e := range events {
		switch e.Kind {
		case rollout.Raised:
			if !baked {
				t.Errorf("event %d raises %s to %v without a bake before", e.Seq, e.Lane, e.To)
			}
			if e.From != at[e.Lane] {
				t.Errorf("event %d raises %s from %v, which is at %v", e.Seq, e.Lane, e.From, at[e.Lane])
			}
		case rollout.Confirmed:
			if e.To <= at[e.Lane] {
				t.Errorf("event %d confirms %s at %v again", e.Seq, e.Lane, e.To)
			}
			at[e.Lane], baked = e.To, false
		case rollout.Baked:
			baked = true
		}
	}
}
