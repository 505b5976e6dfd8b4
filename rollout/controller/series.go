package controller

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// cache keeps what was read of each metric, so that a read asks for what is new.
// Reads go on beside the cycles: a source that hangs keeps no guard waiting.
type cache struct {
	mu      sync.Mutex
	entries map[string]*entry // by source and metric
	reading map[string]bool   // sources
	lastly  map[string]time.Time
	done    sync.WaitGroup
}

type entry struct {
	series gates.Series
	from   time.Time // what was asked for at first
	at     time.Time // when it was read last: what came to pass since is not in it
	whole  time.Time // when the source last answered in full; zero if it never did
}

// overlap is how many buckets are read again: the newest ones may still change.
const overlap = 5

// readBudget is how long a cycle waits for metrics; then it goes on with what it has.
const readBudget = 500 * time.Millisecond

// longestLookBack bounds what is asked for after a restart.
const longestLookBack = 8 * 24 * time.Hour

func newCache() *cache {
	return &cache{entries: map[string]*entry{}, reading: map[string]bool{}, lastly: map[string]time.Time{}}
}

func entryKey(source string, m gates.Metric) string { return source + "\x00" + m.ID() }

// of returns what is known of a gate's metric, and the moment that it is known
// at: a bucket that was due since then is not missing, it was not asked for.
func (c *cache) of(g *gates.Gate, now time.Time) (gates.Series, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[entryKey(g.Source, g.Metric)]
	if e == nil {
		return gates.Series{Cause: gates.NoData, Note: "not read yet"}, now
	}
	return e.series, e.at
}

// wait returns when no read goes on any more.
func (c *cache) wait() { c.done.Wait() }

// recent returns when a gate's last while began: a dozen periods that are due.
func recent(g *gates.Gate, now time.Time) time.Time {
	return now.Add(-12*g.Metric.Period - g.Delay)
}

// neededFrom returns from when on the points of a gate are needed.
func neededFrom(s *rollout.State, g *gates.Gate, now time.Time) time.Time {
	from := recent(g, now)
	if at, counts := s.JudgeFrom(g); counts && at.Before(from) {
		from = at
	}
	if !s.Settled.IsZero() && s.Settled.Before(from) {
		from = s.Settled
	}
	if bound := now.Add(-longestLookBack); from.Before(bound) {
		from = bound
	}
	return from.Truncate(g.Metric.Period)
}

// readMetrics reads what is due, all rollouts' metrics of a source at once.
func (c *Controller) readMetrics(ctx context.Context, now time.Time) {
	wanted := map[string]map[string]want{}
	for _, s := range c.all() {
		if !s.mu.TryLock() {
			continue
		}
		for i := range s.gates() {
			g := &s.state.Plan.Gates[i]
			if g.Source == tasksSource {
				continue
			}
			if wanted[g.Source] == nil {
				wanted[g.Source] = map[string]want{}
			}
			key := g.Metric.ID()
			w := wanted[g.Source][key].add(g, neededFrom(&s.state, g, now))
			w.every = c.cadence(&s.state, w.every)
			wanted[g.Source][key] = w
		}
		s.mu.Unlock()
	}
	finished := make(chan struct{}, len(wanted))
	started := 0
	for source, wants := range wanted {
		if c.startRead(ctx, source, wants, now, finished) {
			started++
		}
	}
	budget := time.NewTimer(readBudget)
	defer budget.Stop()
	for range started {
		select {
		case <-finished:
		case <-budget.C:
			return
		}
	}
}

// want is a metric that is to be read, from when on and how often.
type want struct {
	metric gates.Metric
	from   time.Time
	delay  time.Duration // the longest publish delay
	every  time.Duration
}

func (w want) add(g *gates.Gate, from time.Time) want {
	w.metric, w.delay = g.Metric, max(w.delay, g.Delay)
	if w.from.IsZero() || from.Before(w.from) {
		w.from = from
	}
	return w
}

// cadence is how often a rollout needs its metrics: often while it has a share,
// else once a period.
func (c *Controller) cadence(s *rollout.State, soonest time.Duration) time.Duration {
	every := max(c.ReadEvery, s.Plan.Period())
	for i := range s.Lanes {
		if s.Lanes[i].Intended > 0 || s.Lanes[i].Confirmed > 0 {
			every = c.ReadEvery
		}
	}
	if soonest > 0 {
		return min(soonest, every)
	}
	return every
}

// startRead starts a read of a source if one is due and none goes on.
func (c *Controller) startRead(ctx context.Context, source string, wants map[string]want, now time.Time, finished chan<- struct{}) bool {
	every, fresh := time.Duration(0), false
	c.series.mu.Lock()
	for key, w := range wants {
		if every == 0 || w.every < every {
			every = w.every
		}
		_, known := c.series.entries[source+"\x00"+key]
		fresh = fresh || !known
	}
	since := now.Sub(c.series.lastly[source])
	due := !c.series.reading[source] && (fresh || since < 0 || since >= every)
	if due {
		c.series.reading[source] = true
		c.series.lastly[source] = now
		c.series.done.Add(1)
	}
	c.series.mu.Unlock()
	if due {
		go func() {
			defer c.series.done.Done()
			defer func() { finished <- struct{}{} }()
			defer c.broken(ctx, source)
			c.read(ctx, source, wants, now)
		}()
	}
	return due
}

// broken keeps a fault of a reader from ending the process.
func (c *Controller) broken(ctx context.Context, source string) {
	if fault := recover(); fault != nil {
		c.Log.ErrorContext(ctx, "a read broke off", "source", source, "err", fmt.Sprintf("%v\n%s", fault, debug.Stack()))
		c.series.mu.Lock()
		c.series.reading[source] = false
		c.series.mu.Unlock()
	}
}

// read reads metrics of a source and keeps what it finds.
func (c *Controller) read(ctx context.Context, source string, wants map[string]want, now time.Time) {
	metrics := make([]gates.Metric, 0, len(wants))
	from := now
	c.series.mu.Lock()
	for key, w := range wants {
		metrics = append(metrics, w.metric)
		need := w.from
		if e := c.series.entries[source+"\x00"+key]; e != nil && !need.Before(e.from) && !e.whole.IsZero() {
			if again := e.whole.Add(-overlap*w.metric.Period - w.delay); again.After(need) {
				need = again
			}
		}
		if need.Before(from) {
			from = need
		}
	}
	c.series.mu.Unlock()

	var series []gates.Series
	if reader := c.Metrics[source]; reader != nil {
		series = reader.Read(ctx, metrics, from, now)
	}
	c.series.mu.Lock()
	defer c.series.mu.Unlock()
	c.series.reading[source] = false
	c.series.forget(now)
	for i, m := range metrics {
		got := gates.Series{Cause: gates.Config, Note: "there is no source " + source}
		if i < len(series) {
			got = series[i]
		}
		c.series.merge(entryKey(source, m), got, wants[m.ID()].from, now)
	}
}

// forget drops what nobody has asked for in the last hour.
func (c *cache) forget(now time.Time) {
	maps.DeleteFunc(c.entries, func(_ string, e *entry) bool { return now.Sub(e.at) > time.Hour })
}

// merge adds points to what is known, the newer value of a bucket winning.
func (c *cache) merge(key string, got gates.Series, from, at time.Time) {
	e := c.entries[key]
	if e == nil {
		e = &entry{from: from}
		c.entries[key] = e
	}
	e.from = from
	byStart := func(a, b gates.Point) int { return a.Start.Compare(b.Start) }
	points := slices.SortedStableFunc(slices.Values(slices.Concat(e.series.Points, got.Points)), byStart)
	merged := points[:0]
	for _, p := range points {
		switch last := len(merged) - 1; {
		case p.Start.Before(from):
		case last >= 0 && merged[last].Start.Equal(p.Start):
			merged[last] = p
		default:
			merged = append(merged, p)
		}
	}
	e.series, e.at = gates.Series{Points: slices.Clip(merged), Cause: got.Cause, Note: got.Note}, at
	if got.Cause == "" {
		e.whole = at
	}
}
