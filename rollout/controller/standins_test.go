package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// notBegun is a metric that has no point yet.
const notBegun = "not-begun"

// metrics has a point for each minute, of the value that it is told.
type metrics struct {
	mu     sync.Mutex
	value  float64
	hang   bool
	bad    time.Time                                     // when a breach was first readable
	course func(time.Time) (float64, bool)               // a bucket's value, and whether it is published; nil for value at once
	before func(ctx context.Context, from, to time.Time) // each read
}

func (m *metrics) tell(value float64) { m.set(func() { m.value = value }) }

// set changes what the metrics do.
func (m *metrics) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// worsen makes all buckets from now on bad, each published a minute after its end.
func (m *metrics) worsen() {
	since := time.Now()
	m.set(func() {
		m.course = func(bucket time.Time) (float64, bool) {
			value := 1.0
			if !bucket.Before(since) {
				value = 412
			}
			return value, !time.Now().Before(bucket.Add(2 * time.Minute))
		}
	})
}

func (m *metrics) Read(ctx context.Context, wanted []gates.Metric, from, to time.Time) []gates.Series {
	m.mu.Lock()
	value, hang, course, before := m.value, m.hang, m.course, m.before
	if value > 50 && m.bad.IsZero() {
		m.bad = time.Now()
	}
	m.mu.Unlock()
	if before != nil {
		before(ctx, from, to)
	}
	out := make([]gates.Series, len(wanted))
	if hang {
		<-ctx.Done()
		for i := range out {
			out[i].Cause = gates.Failed
		}
		return out
	}
	for i := range out {
		if wanted[i].Name == notBegun {
			continue
		}
		for at := from.Truncate(time.Minute); at.Before(to); at = at.Add(time.Minute) {
			point := gates.Point{Start: at, Value: value}
			published := true
			if course != nil {
				point.Value, published = course(at)
			}
			if published {
				out[i].Points = append(out[i].Points, point)
			}
		}
	}
	return out
}

// troubled is a flag store whose reads and writes first go through hooks.
type troubled struct {
	controller.Flags
	read, write atomic.Pointer[func(context.Context, flags.Key) error]
}

// trouble sets both hooks.
func (f *troubled) trouble(hook func(context.Context, flags.Key) error) {
	f.read.Store(&hook)
	f.write.Store(&hook)
}

// cure takes both away.
func (f *troubled) cure() {
	f.read.Store(nil)
	f.write.Store(nil)
}

func (f *troubled) Read(ctx context.Context, key flags.Key) (flags.Setting, error) {
	if hook := f.read.Load(); hook != nil {
		if err := (*hook)(ctx, key); err != nil {
			return flags.Setting{}, err
		}
	}
	return f.Flags.Read(ctx, key)
}

func (f *troubled) Write(ctx context.Context, key flags.Key, c flags.Change) (flags.Setting, error) {
	if hook := f.write.Load(); hook != nil {
		if err := (*hook)(ctx, key); err != nil {
			return flags.Setting{}, err
		}
	}
	return f.Flags.Write(ctx, key, c)
}

var errDown = errors.New("503")

// down is a hook of a store that refuses all.
func down(context.Context, flags.Key) error { return errDown }

// hanging is a hook of a store that never answers for the flags of other rollouts.
func hanging(ctx context.Context, key flags.Key) error {
	if key.Namespace == "other" {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// hangingJournal is a journal that can stop answering.
type hangingJournal struct {
	controller.Journal
	hangs atomic.Bool
}

func (j *hangingJournal) wait(ctx context.Context) error {
	if !j.hangs.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (j *hangingJournal) State(ctx context.Context, name string) (rollout.State, error) {
	if err := j.wait(ctx); err != nil {
		return rollout.State{}, err
	}
	return j.Journal.State(ctx, name)
}

func (j *hangingJournal) Active(ctx context.Context) ([]rollout.State, error) {
	if err := j.wait(ctx); err != nil {
		return nil, err
	}
	return j.Journal.Active(ctx)
}

func (j *hangingJournal) Append(ctx context.Context, s rollout.State, e rollout.Event) (rollout.State, rollout.Event, error) {
	if err := j.wait(ctx); err != nil {
		return s, rollout.Event{}, err
	}
	return j.Journal.Append(ctx, s, e)
}

// logbook keeps what was logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// tells returns how often something was logged.
func (l *logbook) tells(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(what))
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
