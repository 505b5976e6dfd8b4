package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Journal keeps events and the states they make. Package journal has one.
type Journal interface {
	State(ctx context.Context, name string) (rollout.State, error)
	States(ctx context.Context) ([]rollout.State, error)
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
	last   time.Time // the cycle before
	gone   bool      // the journal was away then
	series *cache
	poke   chan struct{}
}

// New returns a controller that does nothing yet.
func New(o Options) *Controller {
	o.Every = orElse(o.Every, 10*time.Second)
	o.ReadEvery = orElse(o.ReadEvery, 30*time.Second)
	o.Patience = orElse(o.Patience, 800*time.Millisecond)
	return &Controller{Options: o, seats: map[string]*seat{}, series: newCache(o.ReadEvery), poke: make(chan struct{}, 1)}
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
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for {
		c.Cycle(ctx, time.Now().UTC())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-c.poke:
		}
	}
}

// Poke makes the next cycle come at once.
func (c *Controller) Poke() {
	select {
	case c.poke <- struct{}{}:
	default: // it is about to come anyway
	}
}

// Cycle carries every rollout on, as far as it goes on what is seen at now.
func (c *Controller) Cycle(ctx context.Context, now time.Time) {
	away := c.sync(ctx)
	c.noteAway(ctx, away)
	clock := !now.Before(c.last)
	c.last = now
	seats := c.active()
	c.readMetrics(ctx, seats, now)

	var group errgroup.Group
	group.SetLimit(8)
	for _, s := range seats {
		group.Go(func() error {
			s.mu.Lock()
			defer s.mu.Unlock()
			pass{Controller: c, seat: s, now: now, away: away, clock: clock}.run(ctx)
			return nil
		})
	}
	_ = group.Wait() // passes report by the log; none fails
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
	states, err := c.Journal.States(ctx)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	for i := range states {
		s := c.seat(states[i].Name)
		s.mu.Lock()
		s.adopt(states[i])
		s.mu.Unlock()
	}
	return nil
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

// active returns the seats of the rollouts that there is something to do for.
func (c *Controller) active() []*seat {
	c.mu.Lock()
	all := make([]*seat, 0, len(c.seats))
	for _, s := range c.seats {
		all = append(all, s)
	}
	c.mu.Unlock()
	var active []*seat
	for _, s := range all {
		s.mu.Lock()
		if s.state.Phase.Active() && s.state.Plan != nil {
			active = append(active, s)
		}
		s.mu.Unlock()
	}
	return active
}
