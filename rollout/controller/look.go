package controller

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/preflight"
)

// flagPatience is how long one read or write of a flag may take.
const flagPatience = 3 * time.Second

// tasksSource is the gate source that the fleet is.
const tasksSource = "tasks"

// look sees the flags, the tasks and the gates of one rollout.
func (p pass) look(ctx context.Context) rollout.Seen {
	s := &p.seat.state
	seen := rollout.Seen{
		Flags:    make([]rollout.Flag, len(s.Lanes)),
		Tasks:    make([]rollout.Observation, len(s.Lanes)),
		Verdicts: make([]gates.Verdict, len(s.Plan.Gates)),
		BakeFrom: s.Settled,
		Guard:    !p.mayRaise(),
		Journal:  p.away == nil,
		Lease:    p.away == nil && s.Epoch == p.epoch,
		Clock:    p.clock,
	}
	p.lookAtFlags(ctx, &seen)
	p.lookAtTasks(&seen)
	p.judge(&seen)
	if s.Phase == rollout.Preflight {
		seen.Report = p.checked(ctx, &seen)
	}
	return seen
}

// mayRaise reports whether this is a bake cycle: one each metric period, and
// each that follows an event.
func (p pass) mayRaise() bool {
	return p.now.Sub(p.seat.lastBake) >= p.seat.state.Plan.Period() || p.seat.state.Since.After(p.seat.lastBake)
}

func (p pass) lookAtFlags(ctx context.Context, seen *rollout.Seen) {
	var group errgroup.Group
	for i := range seen.Flags {
		group.Go(func() error {
			seen.Flags[i] = p.read(ctx, i)
			return nil
		})
	}
	_ = group.Wait() // what cannot be read is said in the flag
}

// read reads one lane's flag. The way down needs it too, so it outlives a cancelled context.
func (p pass) read(ctx context.Context, lane int) rollout.Flag {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flagPatience)
	defer cancel()
	setting, err := p.Flags.Read(ctx, p.seat.state.Plan.Lanes[lane].Flag)
	if err != nil {
		return rollout.Flag{Err: err.Error()}
	}
	return rollout.Flag{Setting: setting, Before: p.seat.lanes[lane].notice(setting.Revision, p.now)}
}

func (p pass) lookAtTasks(seen *rollout.Seen) {
	s := &p.seat.state
	heard := p.Fleet.heard(s.Plan)
	for i := range seen.Tasks {
		published := s.Lanes[i].Confirmed
		if seen.Flags[i].Err == "" {
			published = seen.Flags[i].Share
		}
		seen.Tasks[i] = p.observe(i, heard, published)
	}
}

func (p pass) judge(seen *rollout.Seen) {
	s := &p.seat.state
	bake, measured := time.Duration(0), false
	for i := range s.Plan.Gates {
		g := &s.Plan.Gates[i]
		series, at := p.seriesOf(g)
		from, counts := s.JudgeFrom(g)
		if !counts {
			seen.Verdicts[i] = gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData, Unit: g.Metric.Unit, Why: "its points count from settle on"}
		} else {
			seen.Verdicts[i] = gates.Judge(*g, series, from, at)
		}
		if s.Settled.IsZero() {
			continue
		}
		length := time.Duration(gates.Judge(*g, series, s.Settled, at).Complete) * g.Metric.Period
		if !measured || length < bake {
			bake, measured = length, true
		}
	}
	seen.Bake = bake
	seen.Blind = p.blind(seen)
}

// seriesOf returns the series of a gate, of the fleet or what was read last, and
// the moment that it is known at.
func (p pass) seriesOf(g *gates.Gate) (gates.Series, time.Time) {
	if g.Source == tasksSource {
		return p.Fleet.series(p.seat.state.Plan, g.Metric, p.since(g), p.now), p.now
	}
	return p.series.of(g, p.now)
}

// since returns from when on points of a gate may be asked for.
func (p pass) since(g *gates.Gate) time.Time { return neededFrom(&p.seat.state, g, p.now) }

// blind reports whether all independent sources are: the metrics of each source
// that gates use, and the tasks' reports.
func (p pass) blind(seen *rollout.Seen) bool {
	sees := false
	for i := range seen.Tasks {
		sees = sees || seen.Tasks[i].Live > 0
	}
	for i := range seen.Verdicts {
		g, v := &p.seat.state.Plan.Gates[i], &seen.Verdicts[i]
		if g.Source == tasksSource {
			continue
		}
		_, counts := p.seat.state.JudgeFrom(g)
		sees = sees || !counts || v.Result != gates.Inconclusive || v.Cause == gates.NotStarted
	}
	return !sees
}

// checked returns the report of a preflight. One that fails is looked at again
// for a while: what was asked for a moment ago may not have come in yet.
func (p pass) checked(ctx context.Context, seen *rollout.Seen) *rollout.Report {
	s := &p.seat.state
	report := p.check(ctx, seen)
	patience := 2 * (s.Plan.Period() + s.Plan.Converge.Interval)
	if !report.Passed() && p.now.Sub(s.Since) < patience {
		return nil
	}
	return report
}

// check is the preflight, on the facts that this look has found.
func (p pass) check(ctx context.Context, seen *rollout.Seen) *rollout.Report {
	s := &p.seat.state
	facts := preflight.Facts{Tasks: seen.Tasks}
	for i := range s.Plan.Lanes {
		flag := seen.Flags[i]
		if flag.Err != "" && p.Create != nil {
			if err := p.Create(ctx, s.Plan.Lanes[i].Flag); err == nil {
				flag = p.read(ctx, i)
				seen.Flags[i] = flag
			}
		}
		facts.Flags = append(facts.Flags, flag)
	}
	for i := range s.Plan.Gates {
		g := &s.Plan.Gates[i]
		series, at := p.seriesOf(g)
		// Of the last while only: what a former attempt met is over.
		facts.Verdicts = append(facts.Verdicts, gates.Judge(*g, series, recent(g, p.now), at))
		facts.Notes = append(facts.Notes, series.Note)
	}
	return preflight.Check(s.Plan, &facts)
}
