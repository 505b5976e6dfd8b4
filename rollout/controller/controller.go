package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Journal keeps events and the states they make. Package journal has one.
type Journal interface {
	State(ctx context.Context, name string) (rollout.State, error)
	Active(ctx context.Context) ([]rollout.State, error)
	Append(ctx context.Context, before rollout.State, e rollout.Event) (rollout.State, rollout.Event, error)
}

// Flags keeps the shares. Packages flags, embedded and flipt have one.
type Flags interface {
	Read(ctx context.Context, key flags.Key) (flags.Setting, error)
	Write(ctx context.Context, key flags.Key, change flags.Change) (flags.Setting, error)
}

// Metrics reads series, one for each metric in their order, of buckets that
// start in [from, to). Package cloudwatch has one.
type Metrics interface {
	Read(ctx context.Context, metrics []gates.Metric, from, to time.Time) []gates.Series
}

// Options are what a controller works with.
type Options struct {
	Journal Journal
	Flags   Flags
	Metrics map[string]Metrics // by the name that gates give as their source; tasks is the fleet's
	Fleet   *Fleet
	Log     *slog.Logger

	// Lead returns a new epoch, higher than any before.
	Lead func(ctx context.Context) (int64, error)

	// Now is the time of what people ask for; time.Now if nil. Cycles are given theirs.
	Now func() time.Time

	// Create makes a missing flag at 0 %, where the store is ours alone; nil elsewhere.
	Create func(ctx context.Context, key flags.Key) error

	Every     time.Duration // between two guard cycles; 10 s
	ReadEvery time.Duration // between two reads of metrics while a share > 0; 30 s
	Patience  time.Duration // with the journal in a cycle; 800 ms
}

// Controller carries all rollouts on.
type Controller struct {
	Options

	mu     sync.Mutex
	seats  map[string]*seat
	epoch  int64
	began  time.Time // the first cycle
	last   time.Time // the latest time that a cycle was given
	gone   bool      // the journal was away in the cycle before
	series *cache
	house  atomic.Pointer[rollout.House] // as it was read last
	passes sync.WaitGroup
	poke   chan struct{}
}

// New returns a controller that does nothing yet.
func New(o Options) *Controller {
	o.Every = orElse(o.Every, 10*time.Second)
	o.ReadEvery = orElse(o.ReadEvery, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Patience = orElse(o.Patience, 800*time.Millisecond)
	return &Controller{Options: o, seats: map[string]*seat{}, series: newCache(), poke: make(chan struct{}, 1)}
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Run does a cycle every so often, and at once after a command, until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	defer c.series.wait()
	defer c.passes.Wait()
	next := time.NewTimer(c.Every)
	defer next.Stop()
	for {
		c.Cycle(ctx, time.Now().UTC().Round(0)) // by the wall clock: a step of it must show
		next.Reset(c.pace())
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		case <-c.poke:
		}
	}
}

// pace is the time until the next guard cycle: the least that an active plan asks for.
func (c *Controller) pace() time.Duration {
	every := c.Every
	for _, s := range c.all() {
		if at := s.look.Load(); at != nil && at.state.Phase.Active() {
			every = min(every, at.state.Plan.Guard.Every)
		}
	}
	return max(every, fastest)
}

const (
	fastest = 50 * time.Millisecond // no plan makes cycles follow each other closer

	// cyclePatience is how long a cycle waits for its passes. One rollout whose
	// flags hang goes on by itself, and keeps no other's guard waiting.
	cyclePatience = time.Second
)

// Poke makes the next cycle come at once.
func (c *Controller) Poke() {
	select {
	case c.poke <- struct{}{}:
	default: // it is about to come anyway
	}
}

// Cycle carries every rollout on, as far as it goes on what is seen at now. A
// rollout whose last pass still goes on is left to it.
func (c *Controller) Cycle(ctx context.Context, now time.Time) {
	away := c.sync(ctx)
	c.noteAway(ctx, away)
	clock := !now.Before(c.last) // in doubt until it has caught up
	if clock {
		c.last = now
	}
	if c.began.IsZero() {
		c.began = now
	}
	c.readMetrics(ctx, now)

	seats := c.all()
	finished := make(chan struct{}, len(seats))
	started := 0
	for _, s := range seats {
		if !s.mu.TryLock() {
			continue
		}
		if !s.state.Watched() {
			s.mu.Unlock()
			continue
		}
		started++
		c.passes.Go(func() {
			pass{Controller: c, seat: s, now: now, away: away, clock: clock}.guarded(ctx)
			s.mu.Unlock()
			finished <- struct{}{}
		})
	}
	patience := time.NewTimer(cyclePatience)
	defer patience.Stop()
	for range started {
		select {
		case <-finished:
		case <-patience.C:
			return
		}
	}
}

// sync takes leadership once, and the folded states from the journal. It
// returns why the journal is away, or nil.
func (c *Controller) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	if c.epoch == 0 {
		epoch, err := c.Lead(ctx)
		if err != nil {
			return fmt.Errorf("taking the lead: %w", err)
		}
		c.mu.Lock()
		c.epoch = epoch
		c.mu.Unlock()
	}
	states, err := c.Journal.Active(ctx)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	all, err := c.Journal.State(ctx, rollout.HouseName)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	c.house.Store(all.House)
	active := map[string]bool{}
	for i := range states {
		active[states[i].Name] = true
		if s := c.seat(states[i].Name); s.mu.TryLock() {
			s.adopt(states[i])
			s.mu.Unlock()
		}
	}
	c.dismiss(active)
	return nil
}

// dismiss forgets the rollouts that are no longer active; what a seat still has
// to tell the journal keeps it.
func (c *Controller) dismiss(active map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range c.seats {
		if active[name] || !s.mu.TryLock() {
			continue
		}
		if s.base == nil && !s.asked() {
			delete(c.seats, name)
		}
		s.mu.Unlock()
	}
}

// noteAway logs when the journal goes away and when it comes back.
func (c *Controller) noteAway(ctx context.Context, away error) {
	switch {
	case away != nil && !c.gone:
		c.Log.ErrorContext(ctx, "the journal is away: nothing rises, the way down goes on", "err", away)
	case away == nil && c.gone:
		c.Log.InfoContext(ctx, "the journal is back")
	}
	c.gone = away != nil
}

// seat returns what is kept of a rollout in memory.
func (c *Controller) seat(name string) *seat {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seats[name]
	if s == nil {
		s = &seat{}
		c.seats[name] = s
	}
	return s
}

// known returns the seat of a rollout, or nil.
func (c *Controller) known(name string) *seat {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seats[name]
}

// all returns all seats.
func (c *Controller) all() []*seat {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.seats))
}
