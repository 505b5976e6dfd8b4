package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// pass is one rollout's part of a cycle.
type pass struct {
	*Controller
	seat  *seat
	now   time.Time
	away  error // why the journal is
	clock bool

	// Of a preflight that a person asks for: what was read for it, and that it
	// makes no flags.
	fresh map[string]gates.Series
	dry   bool
}

// most is how many steps a pass may take; Decide comes to rest long before.
const most = 64

// guarded runs a pass. A fault in one must not end the process, and with it
// every guard.
func (p pass) guarded(ctx context.Context) {
	defer func() {
		if fault := recover(); fault != nil {
			p.Log.ErrorContext(ctx, "a pass broke off", "rollout", p.seat.state.Name, "err", fmt.Sprintf("%v\n%s", fault, debug.Stack()))
		}
	}()
	p.run(ctx)
}

func (p pass) run(ctx context.Context) {
	p.comeBack(ctx)
	p.lead(ctx)
	p.obeyKept(ctx)
	p.holdAll(ctx)
	seen := p.look(ctx)
	tries := make([]int, len(seen.Flags))
	var rest []rollout.Wait
	for n := 0; ; n++ {
		if n == most {
			p.Log.ErrorContext(ctx, "a pass did not come to rest", "rollout", p.seat.state.Name, "phase", p.seat.state.Phase)
			break
		}
		step := rollout.Decide(&p.seat.state, &seen, p.now)
		switch {
		case step.Event != nil && !p.record(ctx, step.Event, &seen):
			return // what was seen is of another plan: the next cycle looks anew
		case step.Event != nil:
			continue
		case step.Write != nil:
			p.act(ctx, step.Write, &seen, tries)
			continue
		}
		rest = step.Waits
		break
	}
	if !seen.Guard {
		p.seat.lastBake = p.now
	}
	p.seat.look.Store(&look{state: p.seat.state, seen: seen, rest: rest, at: p.now})
}

// comeBack tells the journal, once it is back, what was lowered without it.
func (p pass) comeBack(ctx context.Context) {
	if p.seat.base == nil || p.away != nil {
		return
	}
	e := rollout.NewLate(p.seat.base, &p.seat.state, p.seat.wrote, p.now)
	ctx, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	now, err := p.Journal.State(ctx, p.seat.base.Name)
	if err == nil {
		now, _, err = p.Journal.Append(ctx, now, e)
	}
	if err != nil {
		p.Log.WarnContext(ctx, "a late event is not recorded yet", "rollout", p.seat.base.Name, "err", err)
		return
	}
	p.Log.InfoContext(ctx, "recorded late what was lowered without the journal", "rollout", now.Name, "why", e.Why)
	p.seat.base, p.seat.wrote = nil, nil
	p.seat.state = now
}

// obeyKept obeys the rollbacks that people asked for while the journal was away:
// in memory, and once it is back by the event that they would have been.
func (p pass) obeyKept(ctx context.Context) {
	s := p.seat
	s.orders.Lock()
	kept := s.kept
	s.kept = nil
	s.orders.Unlock()
	var still []order
	told := p.away == nil && s.base == nil
	for _, o := range kept {
		if o.obeyed && !told { // by now there may be nothing left to lower; the journal is to know all the same
			still = append(still, o)
			continue
		}
		e, err := rollout.Obey(&s.state, &o.command, p.now)
		switch {
		case err != nil:
			p.Log.WarnContext(ctx, "a rollback is done already, or refused", "rollout", s.state.Name, "err", err)
		case told:
			if after, err := p.append(ctx, s.state, e); err == nil {
				s.state = after
			} else if !errors.As(err, new(rollout.Duplicate)) {
				still = append(still, o)
			}
		default:
			s.inMemory(&e)
			still = append(still, order{o.command, true})
		}
	}
	s.orders.Lock()
	s.kept = append(still, s.kept...)
	s.orders.Unlock()
}

// lead puts our epoch on a rollout that a former leader left.
func (p pass) lead(ctx context.Context) {
	s := &p.seat.state
	if p.away != nil || p.seat.base != nil || s.Epoch >= p.epoch {
		return
	}
	e := rollout.Event{Kind: rollout.Led, At: p.now, By: rollout.Controller, Surface: rollout.Controller, Epoch: p.epoch}
	after, err := p.append(ctx, *s, e)
	if err != nil {
		p.Log.WarnContext(ctx, "leadership is not recorded yet", "rollout", s.Name, "err", err)
		return
	}
	p.seat.state = after
}

// record appends an event. What belongs to the way down goes on without the
// journal; for anything else its absence is one more thing that is seen. It
// reports whether what was seen still belongs to the rollout's plan.
func (p pass) record(ctx context.Context, e *rollout.Event, seen *rollout.Seen) bool {
	s := p.seat
	if seen.Journal && s.base == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Patience)
		defer cancel()
		after, _, err := p.Journal.Append(ctx, s.state, *e)
		switch {
		case err == nil:
			s.state = after
			p.tell(ctx, e)
			return true
		case errors.Is(err, rollout.ErrConflict):
			if now, err := p.Journal.State(ctx, s.state.Name); err == nil {
				same := now.PlanHash == s.state.PlanHash
				s.adopt(now) // a person was faster, or another leader: decide anew
				seen.Lease = seen.Lease && now.Epoch == p.epoch
				return same
			}
		}
		p.Log.WarnContext(ctx, "an event cannot be recorded", "rollout", s.state.Name, "event", e.Kind, "err", err)
		seen.Journal, seen.Lease = false, false
	}
	if e.Lowers(s.state.Phase) {
		s.inMemory(e)
		p.tell(ctx, e)
		return true
	}
	seen.Journal, seen.Lease = false, false
	return true
}

// tell logs an event.
func (p pass) tell(ctx context.Context, e *rollout.Event) {
	log := p.Log.InfoContext
	if e.Page {
		log = p.Log.ErrorContext
	}
	log(ctx, "came to pass", "rollout", e.Rollout, "event", e.Kind, "lane", e.Lane, "share", e.To, "why", e.Why)
}

// act writes a flag, and looks again at what became of it. A way down that has
// begun is not cut short by a cancelled context.
func (p pass) act(ctx context.Context, w *rollout.Write, seen *rollout.Seen, tries []int) {
	if w.Change.Kind != flags.Raise {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, flagPatience)
	defer cancel()
	lane, before := w.Lane, seen.Flags[w.Lane].Revision
	plan := &p.seat.state.Plan.Lanes[lane]
	change := w.Change
	change.Epoch = min(change.Epoch, p.epoch) // nobody signs for another
	after, err := p.Flags.Write(ctx, plan.Flag, change)
	tries[lane]++
	if err == nil {
		seen.Flags[lane] = rollout.Flag{Setting: after, Replaced: before, Before: p.seat.lanes[lane].notice(after.Revision, p.now)}
		p.seat.remember(lane, after)
		p.Log.InfoContext(ctx, "flag written", "rollout", p.seat.state.Name, "lane", plan.Name, "change", w.Change.Kind, "share", after.Share)
	} else {
		seen.Flags[lane] = p.read(ctx, lane)
		seen.Flags[lane].Failed = tries[lane] >= 2 || seen.Flags[lane].Err != ""
		p.Log.WarnContext(ctx, "flag not written", "rollout", p.seat.state.Name, "lane", plan.Name, "change", w.Change.Kind, "share", w.Change.Share, "err", err)
	}
	p.lookAtTasks(seen)
}

// observe holds what tasks report against a lane's published share.
func (p pass) observe(lane int, heard []rollout.Heard, published flags.Share) rollout.Observation {
	s := &p.seat.state
	o := rollout.Observe(s.Plan, lane, heard, published, s.Settled, p.now)
	o.Since = p.seat.lanes[lane].follow(published, o.Converged, p.now)
	return o
}
