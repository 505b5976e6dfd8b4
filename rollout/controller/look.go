package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/flags"
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
		Outside:  p.house.Load().Against(s.Plan.Database.Name, p.now),
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
func (p pass) read(ctx context.Context, lane int) (flag rollout.Flag) {
	defer func() {
		if fault := recover(); fault != nil { // it runs beside the pass, whose guard does not reach here
			flag = rollout.Flag{Err: fmt.Sprintf("reading it broke off: %v", fault)}
		}
	}()
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
	var remembered, reported []time.Duration
	for i := range s.Plan.Gates {
		g := &s.Plan.Gates[i]
		series, at := p.seriesOf(g)
		v := p.verdict(g, series, at)
		seen.Verdicts[i] = v
		switch {
		case s.Settled.IsZero() || v.Cause == gates.NotStarted || p.idle(g, seen):
		case g.Source == tasksSource:
			reported = append(reported, p.seat.counts[i].add(g, series, s.Settled, at))
		default:
			remembered = append(remembered, time.Duration(gates.Judge(*g, series, s.Settled, at).Complete)*g.Metric.Period)
		}
	}
	// What tasks reported is gone after a restart; where another source remembers,
	// the bake is counted by that one.
	if len(remembered) == 0 {
		remembered = reported
	}
	if len(remembered) > 0 {
		seen.Bake = slices.Min(remembered)
	}
	if seen.Bake == 0 && p.young() {
		seen.BakeFrom = time.Time{} // nothing was read yet: that is not nothing baked
	}
	seen.Blind = p.blind(seen)
}

// verdict judges a gate by a series as it was known at a moment.
func (p pass) verdict(g *gates.Gate, series gates.Series, at time.Time) gates.Verdict {
	from, counts := p.seat.state.JudgeFrom(g)
	if !counts {
		return gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData, Unit: g.Metric.Unit, Why: "its points count from settle on"}
	}
	if !p.clock && from.After(p.now) {
		from = recent(g, p.now) // the clock went back: what counts lies in its future
	}
	v := gates.Judge(*g, series, from, at)
	lag := p.now.Sub(at)
	v.Age += lag
	if v.Allows() && (lag < 0 || v.Age > 2*g.Metric.Period+p.ReadEvery) {
		v.Result, v.Cause = gates.Inconclusive, gates.Stale
		v.Why = fmt.Sprintf("the newest data are %v old", v.Age.Round(time.Second))
	}
	return v
}

// idle reports whether a gate speaks of lanes only that have no share.
func (p pass) idle(g *gates.Gate, seen *rollout.Seen) bool {
	if g.Scope != gates.ScopeLane || len(g.Lanes) == 0 {
		return false
	}
	for i := range p.seat.state.Lanes {
		lane := &p.seat.state.Lanes[i]
		if slices.Contains(g.Lanes, lane.Name) && (lane.Intended > 0 || seen.Flags[i].Share > 0) {
			return false
		}
	}
	return true
}

// seriesOf returns the series of a gate, of the fleet or what was read last, and
// the moment that it is known at.
func (p pass) seriesOf(g *gates.Gate) (gates.Series, time.Time) {
	if g.Source == tasksSource {
		s := &p.seat.state
		return p.Fleet.series(s.Plan, g.Metric, neededFrom(s, g, p.now), p.now), p.now
	}
	if series, ok := p.fresh[entryKey(g.Source, g.Metric)]; ok {
		return series, p.now
	}
	return p.series.of(g, p.now)
}

// young reports whether the controller has only begun to look: tasks have not
// reported to it yet, and metrics may still be under way.
func (p pass) young() bool {
	plan := p.seat.state.Plan
	return p.now.Sub(p.began) < 3*plan.Converge.Interval+plan.Period()
}

// blind reports whether all independent sources are: the metrics of each source
// that gates use, and the tasks' reports.
func (p pass) blind(seen *rollout.Seen) bool {
	if p.young() {
		return false
	}
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
	if !report.Passed() && (p.now.Sub(s.Since) < patience || p.now.Sub(p.began) < patience) {
		return nil
	}
	return report
}

// created makes a flag that is missing, where the store is ours alone.
func (p pass) created(ctx context.Context, key flags.Key) bool {
	if p.Create == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, flagPatience)
	defer cancel()
	_, err := p.Flags.Read(ctx, key)
	return errors.Is(err, flags.ErrNotFound) && (p.dry || p.Create(ctx, key) == nil)
}

// check is the preflight, on the facts that this look has found.
func (p pass) check(ctx context.Context, seen *rollout.Seen) *rollout.Report {
	s := &p.seat.state
	facts := preflight.Facts{Tasks: seen.Tasks, TakeOver: s.TakeOver, Every: p.Every, ReadEvery: p.ReadEvery}
	for i := range s.Plan.Lanes {
		flag := seen.Flags[i]
		switch {
		case flag.Err == "" || !p.created(ctx, s.Plan.Lanes[i].Flag):
		case p.dry:
			flag = rollout.Flag{} // the start will make it, at 0 %
		default:
			flag = p.read(ctx, i)
			seen.Flags[i] = flag
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
