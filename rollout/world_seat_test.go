package rollout_test

import (
	"reflect"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// --- the controller.

func (w *world) look(s *rollout.State, guard bool) rollout.Seen {
	if !w.bakeFrom.Equal(s.Settled) {
		w.bake, w.bakeFrom = 0, s.Settled
	}
	seen := rollout.Seen{
		Flags: make([]rollout.Flag, 2), Tasks: make([]rollout.Observation, 2), Verdicts: make([]gates.Verdict, len(w.plan.Gates)),
		Bake: time.Duration(w.bake) * period, BakeFrom: s.Settled,
		Guard: guard, Journal: w.journalUp && s == &w.me.state, Lease: w.lease, Clock: w.clock, BadFrom: w.badFrom,
	}
	if w.frozen {
		seen.Outside = []rollout.Wait{{Kind: rollout.WaitFreeze, Subject: "year-end"}}
	}
	if w.storeUp && s == &w.me.state {
		w.unseen = false
	}
	if s.Phase == rollout.Preflight {
		seen.Report = &rollout.Report{Hash: "preflight"}
	}
	for l := range w.store {
		seen.Flags[l] = rollout.Flag{Setting: w.store[l]}
		if !w.storeUp {
			seen.Flags[l] = rollout.Flag{Err: "store down"}
		}
		seen.Tasks[l] = w.observe(l)
	}
	for i := range seen.Verdicts {
		g := &w.plan.Gates[i]
		seen.Verdicts[i] = gates.Verdict{Gate: g.Name, Result: gates.Pass, Recovered: true}
		from, counts := s.JudgeFrom(g)
		switch {
		case !counts, from.After(w.now):
			seen.Verdicts[i] = gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData}
		case w.breach[i]:
			seen.Verdicts[i] = gates.Verdict{Gate: g.Name, Result: gates.Fail, Breach: true}
		case w.silent:
			seen.Verdicts[i] = gates.Verdict{Gate: g.Name, Result: gates.Inconclusive, Cause: gates.NoData}
		}
	}
	return seen
}

func (w *world) observe(l int) rollout.Observation {
	o := rollout.Observation{Share: w.obs[l], Live: 100, Inventory: 100, On: int(w.obs[l]), Cohort: int(w.store[l].Share)}
	o.Converged, o.Since = w.obs[l] == w.store[l].Share, w.obsSince[l]
	o.Stray = max(0, int(w.obs[l]-w.store[l].Share))
	return o
}

// healthy reports whether the conditions of a raise hold, told by the world and not by the code.
func (w *world) healthy(guard bool) bool {
	return w.lease && w.clock && !guard && !w.silent && !w.frozen && w.breach == [5]bool{}
}

// cycle is one pass of the controller: look, decide, record, act, look again.
func (w *world) cycle(guard, crashes bool) {
	m := &w.me
	if w.journalUp {
		w.comeBack(m)
		m.state = w.journal
	}
	seen := w.look(&m.state, guard)
	tries := [2]int{}
	for n := 0; ; n++ {
		if n > 40 {
			w.violate("L a cycle never rests: %s", m.state.Phase)
			return
		}
		step := rollout.Decide(&m.state, &seen, w.now)
		switch {
		case step.Event != nil:
			if !w.keep(m, step.Event) {
				return
			}
			if crashes && w.dice(12) == 0 {
				w.crash()
				return
			}
		case step.Write != nil:
			w.act(m, step.Write, &seen, &tries, guard)
			if crashes && w.dice(12) == 0 {
				w.crash()
				return
			}
		default:
			return
		}
	}
}

// keep records an event, or on the way down goes on without the journal.
func (w *world) keep(m *seat, e *rollout.Event) bool {
	switch {
	case w.journalUp && m == &w.me:
		w.record(*e)
		m.state = w.journal
	case e.Lowers(m.state.Phase):
		w.inMemory(m, e)
	default:
		return false
	}
	return true
}

func (w *world) inMemory(m *seat, e *rollout.Event) {
	if m.base == nil {
		base := m.state
		m.base = &base
	}
	m.state = rollout.Apply(m.state, e)
}

// act writes a flag and looks again.
func (w *world) act(m *seat, q *rollout.Write, seen *rollout.Seen, tries *[2]int, guard bool) {
	l, f := q.Lane, &seen.Flags[q.Lane]
	if q.Change.Kind == flags.Raise && m == &w.me {
		if !w.healthy(guard) || !w.journalUp && w.journal.Pending == nil || len(m.state.Holds) > 0 {
			w.violate("I3 a raise of lane %d was written though its conditions do not hold", l)
		}
	}
	before := f.Revision
	err := w.send(inFlight{l, q.Change})
	tries[l]++
	switch {
	case !w.storeUp:
		*f = rollout.Flag{Err: "store down", Failed: true}
		return
	case err == nil:
		*f = rollout.Flag{Setting: w.store[l], Replaced: before}
	default:
		*f = rollout.Flag{Setting: w.store[l], Failed: tries[l] >= 2}
	}
	if m.base != nil && err == nil {
		m.wrote = append(slices.DeleteFunc(slices.Clone(m.wrote), func(a rollout.LaneShare) bool { return a.Lane == w.plan.Lanes[l].Name }),
			rollout.LaneShare{Lane: w.plan.Lanes[l].Name, Share: w.store[l].Share, Revision: w.store[l].Revision, Stamp: w.store[l].Stamp.Seq})
	}
}

// comeBack appends what was lowered while the journal was away.
func (w *world) comeBack(m *seat) {
	if m.base == nil {
		return
	}
	before := w.journal
	e := rollout.NewLate(m.base, &m.state, m.wrote, w.now)
	e.Seq = before.Version + 1
	w.record(e)
	m.base, m.wrote = nil, nil
	for l := range before.Lanes {
		if w.journal.Lanes[l].Confirmed > before.Lanes[l].Confirmed || w.journal.Lanes[l].Intended > before.Lanes[l].Intended {
			w.violate("I9 a late event raised lane %d", l)
		}
		stale := slices.ContainsFunc(e.Targets, func(a rollout.LaneShare) bool {
			return a.Lane == before.Lanes[l].Name && a.Stamp <= before.Lanes[l].Seq
		})
		none := !slices.ContainsFunc(e.Targets, func(a rollout.LaneShare) bool {
			i := slices.IndexFunc(before.Lanes, func(b rollout.Lane) bool { return b.Name == a.Lane })
			return a.Stamp > before.Lanes[i].Seq
		})
		if e.Base != before.Version && stale && none && !reflect.DeepEqual(before.Lanes, w.journal.Lanes) {
			w.violate("I9 an old late event changed the state")
		}
	}
}

// haunt lets a former leader's guard act on its last folded state, without lease and journal.
func (w *world) haunt() {
	z := w.zombie
	if z == nil || z.state.Plan == nil {
		return
	}
	seen := w.look(&z.state, true)
	seen.Lease = false
	tries := [2]int{}
	for range 20 {
		step := rollout.Decide(&z.state, &seen, w.now)
		switch {
		case step.Event != nil && step.Event.Lowers(z.state.Phase):
			w.inMemory(z, step.Event)
		case step.Write != nil:
			if step.Write.Change.Kind == flags.Raise {
				w.violate("I9 a leader without a lease wrote a raise")
			}
			l := step.Write.Lane
			w.act(z, step.Write, &seen, &tries, true)
			w.needPerson = w.needPerson || w.store[l].Share < w.journal.Lanes[l].Confirmed
		default:
			return
		}
	}
}
