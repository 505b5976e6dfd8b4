package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Gates returns a rollout's gates with what they said last and their points of
// the last while. Of a rollout that nobody looks at, they have no verdict.
func (c *Controller) Gates(ctx context.Context, name string, while time.Duration) ([]rollout.Reading, error) {
	s, last, err := c.lastKnown(ctx, name)
	if err != nil {
		return nil, err
	}
	now := c.Now().UTC()
	readings := make([]rollout.Reading, len(s.Plan.Gates))
	for i := range s.Plan.Gates {
		g := &s.Plan.Gates[i]
		series := c.pointsOf(s.Plan, g, now.Add(-while), now)
		r := rollout.Reading{Gate: *g, Points: []gates.Point{}, Note: series.Note}
		r.Verdict = gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData, Unit: g.Metric.Unit, Why: "nobody looks at it now"}
		if i < len(last.seen.Verdicts) {
			r.Verdict = last.seen.Verdicts[i]
		}
		for _, p := range series.Points {
			if !p.Start.Before(now.Add(-while)) {
				r.Points = append(r.Points, p)
			}
		}
		readings[i] = r
	}
	return readings, nil
}

// pointsOf returns what is known of a gate's metric.
func (c *Controller) pointsOf(p *rollout.Plan, g *gates.Gate, from, to time.Time) gates.Series {
	if g.Source == tasksSource {
		return c.Fleet.series(p, g.Metric, from.Truncate(g.Metric.Period), to)
	}
	series, _ := c.series.of(g, to)
	return series
}

// lastKnown returns a rollout and what was seen of it last.
func (c *Controller) lastKnown(ctx context.Context, name string) (rollout.State, *look, error) {
	last := &look{}
	if seat := c.known(name); seat != nil && seat.look.Load() != nil {
		last = seat.look.Load()
	}
	s, err := c.state(ctx, name)
	switch {
	case err == nil && s.Plan == nil:
		return s, last, rollout.ErrNotFound
	case err == nil && s.PlanHash != last.state.PlanHash:
		return s, &look{}, nil // what was seen then is of another plan
	case err == nil, errors.Is(err, rollout.ErrNotFound):
		return s, last, err
	case last.state.Plan != nil:
		return last.state, last, nil
	}
	return s, last, fmt.Errorf("rollout %s is not known without the journal: %w: %w", name, rollout.ErrAway, err)
}

// Tasks returns where each task of a rollout stands.
func (c *Controller) Tasks(ctx context.Context, name string) ([]rollout.TaskStatus, error) {
	s, last, err := c.lastKnown(ctx, name)
	if err != nil {
		return nil, err
	}
	published := make([]flags.Share, len(s.Lanes))
	for i := range published {
		published[i] = s.Lanes[i].Confirmed
		if i < len(last.seen.Flags) && last.seen.Flags[i].Err == "" {
			published[i] = last.seen.Flags[i].Share
		}
	}
	return rollout.Tasks(s.Plan, c.Fleet.heard(s.Plan), published, c.Now().UTC()), nil
}

// Preflight runs a rollout's preflight now. It starts nothing and changes nothing.
func (c *Controller) Preflight(ctx context.Context, name string) (*rollout.Report, error) {
	s, _, err := c.lastKnown(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.TakeOver == nil && s.Phase.Active() { // then its flags are where we left them
		for i := range s.Lanes {
			s.TakeOver = append(s.TakeOver, rollout.LaneShare{Lane: s.Lanes[i].Name, Share: s.Lanes[i].Confirmed})
		}
	}
	seat := &seat{}
	seat.adopt(s)
	p := pass{Controller: c, seat: seat, now: c.Now().UTC(), clock: true, dry: true}
	seen := rollout.Seen{
		Flags: make([]rollout.Flag, len(s.Lanes)),
		Tasks: make([]rollout.Observation, len(s.Lanes)),
	}
	p.lookAtFlags(ctx, &seen)
	p.lookAtTasks(&seen)
	p.fresh = c.readNow(ctx, s.Plan, p.now)
	return p.check(ctx, &seen), nil
}

// readNow reads the last while of all metrics of a plan, past what is kept.
func (c *Controller) readNow(ctx context.Context, p *rollout.Plan, now time.Time) map[string]gates.Series {
	ctx, cancel := context.WithTimeout(ctx, inspectPatience)
	defer cancel()
	bySource := map[string][]gates.Metric{}
	from := now
	for i := range p.Gates {
		g := &p.Gates[i]
		if g.Source == tasksSource {
			continue
		}
		bySource[g.Source] = append(bySource[g.Source], g.Metric)
		if at := recent(g, now); at.Before(from) {
			from = at
		}
	}
	found := map[string]gates.Series{}
	for source, metrics := range bySource {
		reader := c.Metrics[source]
		if reader == nil {
			continue
		}
		for i, series := range reader.Read(ctx, metrics, from, now) {
			found[entryKey(source, metrics[i])] = series
		}
	}
	return found
}

// inspectPatience is how long a person waits for metrics that nobody has read yet.
const inspectPatience = 5 * time.Second

// Refuse records that a person's command was refused before it came to the desk:
// by the policy. A rollout that is not there has nothing to record it in.
func (c *Controller) Refuse(ctx context.Context, name string, cmd rollout.Command, why string) error {
	s, err := c.state(ctx, name)
	if err != nil {
		return fmt.Errorf("recording a refusal: %w", err)
	}
	_, err = c.append(ctx, s, rollout.Event{
		Kind: rollout.Refused, At: c.Now().UTC(), By: cmd.By, Surface: cmd.Surface, Why: why, Command: &cmd,
	})
	return err
}
