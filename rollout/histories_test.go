package rollout_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// TestHistories lets random histories of commands, observations, faults and
// time go over the machine, from a random rung of the ladder, and holds every
// step against the invariants. Run more of them with -rapid.checks=100000.
func TestHistories(t *testing.T) {
	rungs := append(climb(t), takenOver()...)
	rapid.Check(t, func(t *rapid.T) {
		w := rungs[rapid.IntRange(0, len(rungs)-1).Draw(t, "rung")].clone()
		program := rapid.SliceOfN(rapid.Uint32(), 20, 60).Draw(t, "program")
		var told []string
		for _, op := range program {
			spin := op
			w.dice = func(n int) int {
				spin = spin*1664525 + 1013904223
				return int(spin>>8) % n
			}
			name := w.happen(op)
			if told = append(told, name); w.broken != "" {
				t.Fatalf("%s\nafter %s\n%s", w.broken, strings.Join(told, " · "), w.tail())
			}
		}
		if again := rollout.Fold(w.events); !reflect.DeepEqual(again, w.journal) {
			t.Fatalf("folding the events anew gives another state:\n%+v\n%+v", again, w.journal)
		}
		if w.settleAll(); w.broken != "" {
			t.Fatalf("%s\nafter %s\n%s", w.broken, strings.Join(told, " · "), w.tail())
		}
	})
}

// tail shows the last events and where everything stands.
func (w *world) tail() string {
	var b strings.Builder
	for _, e := range w.events[max(0, len(w.events)-25):] {
		fmt.Fprintf(&b, "%s %s %s %v→%v rev %s %v %s\n", e.At.Format(time.TimeOnly), e.Kind, e.Lane, e.From, e.To, e.Revision, e.Targets, e.Why)
	}
	s := w.journal
	fmt.Fprintf(&b, "phase %s lanes %+v pending %+v holds %+v\nstore %+v observed %v", s.Phase, s.Lanes, s.Pending, s.Holds, w.store, w.obs)
	return b.String()
}

var climbOnce = sync.OnceValue(func() []*world {
	w := newWorld()
	var rungs []*world
	seen := map[[2]flags.Share]bool{}
	for range 400 {
		w.pass(period)
		w.cycle(false, false)
		if w.journal.Phase == rollout.Waiting || w.journal.Phase == rollout.Ready {
			for _, by := range []string{"ann", "ben"} {
				_ = w.command(rollout.Command{Verb: rollout.Approve, By: by})
			}
			_ = w.command(rollout.Command{Verb: rollout.Advance, By: "operator"})
		}
		at := [2]flags.Share{w.store[reads].Share, w.store[writes].Share}
		if !seen[at] && w.journal.Phase == rollout.Baking || w.journal.Phase == rollout.Ready && len(rungs) == 0 {
			seen[at] = true
			rungs = append(rungs, w.clone())
		}
		if w.journal.Soaked || w.broken != "" {
			return append(rungs, w)
		}
	}
	w.broken = "never came to the end of the ladder"
	return append(rungs, w)
})

// climb returns healthy worlds, one at each rung of the ladder.
func climb(t *testing.T) []*world {
	rungs := climbOnce()
	if last := rungs[len(rungs)-1]; last.broken != "" {
		t.Fatalf("a healthy rollout: %s\n%s", last.broken, last.tail())
	}
	if len(rungs) != 14 {
		t.Fatalf("%d rungs, want ready, 12 stages and the soak\n%s", len(rungs), rungs[0].tail())
	}
	return rungs
}

// happen lets one thing happen, chosen by op.
func (w *world) happen(op uint32) string {
	n := int(op % 100)
	switch roll := int(op / 100); {
	case n < 40:
		w.faults = true
		w.guardedCycle(roll%4 == 0)
		w.faults = false
		return "cycle"
	case n < 55:
		w.pass([]time.Duration{period, period, 2 * period, 10 * time.Second}[roll%4])
		return "time"
	case n < 70:
		return w.person(roll)
	case n < 82:
		return w.fault(roll)
	default:
		return w.hand(roll)
	}
}

// guardedCycle runs a cycle; a readable breach must have its lanes at 0 by its end, unless writes fail.
func (w *world) guardedCycle(guard bool) {
	if w.dice(3) == 0 {
		w.faults = false
	}
	epoch := w.me.epoch
	w.cycle(guard, w.faults)
	if !w.faults && w.storeUp && w.badFrom.IsZero() && epoch == w.me.epoch && w.me.state.Plan != nil {
		for l := range w.store {
			counted := !w.me.state.Changed.IsZero() && w.journal.Phase != rollout.Completed && w.journal.Phase.Active()
			if counted && (w.breach[0] || w.breach[1+l]) && w.store[l].Share > 0 {
				w.violate("I6 a readable breach left lane %d at %v (%s)", l, w.store[l].Share, w.me.state.Phase)
			}
		}
	}
}

func (w *world) person(roll int) string {
	who := []string{"ann", "ben", "cat"}[roll%3]
	c := rollout.Command{By: who}
	switch n := roll / 3 % 26; {
	case n < 5:
		c.Verb = rollout.Approve
	case n < 9:
		c.Verb = rollout.Advance
	case n < 14:
		c.Verb = rollout.Resume
	case n < 16:
		c.Verb = rollout.HoldIt
	case n < 17:
		c.Verb = rollout.Rollback
	case n < 18:
		c.Verb = rollout.Rollback
		l := roll / 60 % 2
		c.To = []rollout.LaneShare{{Lane: w.plan.Lanes[l].Name, Share: flags.Share(roll / 120 % 100)}}
	case n < 19:
		c.Verb = []rollout.Verb{rollout.HoldForAll, rollout.ReleaseAll, rollout.Acknowledge}[roll/60%3]
	case n < 20:
		c.Verb = rollout.Retry
	case n < 23:
		return w.amend(who, roll/78)
	default:
		c = w.agreement(who, roll/78)
	}
	if w.journal.Proposal != nil && w.me.base == nil {
		c.Expect = w.journal.Version // whoever agrees to an amendment has looked at it
	}
	if err := w.command(c); err != nil {
		return string(c.Verb) + " refused"
	}
	return string(c.Verb)
}

func (w *world) fault(roll int) string {
	switch n := roll % 24; {
	case n < 4:
		w.breach, w.silent, w.frozen, w.badFrom = [5]bool{}, false, false, time.Time{}
		return "all gates pass"
	case n < 7:
		i := roll / 24 % 5
		w.breach[i] = true
		return "breach of " + w.plan.Gates[i].Name
	case n < 9:
		w.silent = !w.silent
		return "gates silent or not"
	case n < 10:
		w.frozen = !w.frozen
		return "freeze or not"
	case n < 11:
		w.badFrom = w.now
		return "source fails its probe"
	case n < 14:
		w.journalUp = !w.journalUp
		return fmt.Sprintf("journal up %v", w.journalUp)
	case n < 16:
		w.storeUp = !w.storeUp
		return fmt.Sprintf("store up %v", w.storeUp)
	case n < 18:
		w.lease = !w.lease
		return fmt.Sprintf("lease %v", w.lease)
	case n < 19:
		w.clock = !w.clock
		return "clock in doubt or not"
	case n < 21:
		w.crash()
		return "crash"
	default:
		if w.journalUp {
			w.lead()
		}
		return "new leader"
	}
}

// hand is another hand than ours, and what is still under way.
func (w *world) hand(roll int) string {
	l := roll / 32 % 2
	switch n := roll % 32; {
	case n < 14:
		if len(w.flight) > 0 {
			q := w.flight[0]
			w.flight = slices.Clone(w.flight[1:])
			_ = w.apply(q, true)
			return "a delayed write lands"
		}
		w.pass(period)
		return "time"
	case n < 17:
		if share := w.store[l].Share; share > 0 && w.storeUp {
			w.outside(l, []flags.Share{0, share / 2, share - 1}[roll/64%3])
			w.unseen = true
			w.needPerson = w.needPerson || w.store[l].Share < w.journal.Lanes[l].Confirmed
			return "another hand lowers"
		}
	case n < 19:
		if share := w.store[l].Share; share < flags.All && w.storeUp {
			w.outside(l, share+1+flags.Share(roll/64)%(flags.All-share))
			return "another hand raises"
		}
	case n < 20:
		if w.storeUp {
			w.outside(l, w.store[l].Share)
			return "another hand writes the same"
		}
	case n < 26:
		w.haunt()
		return "a former leader's guard"
	default:
		if w.zombie != nil && w.journalUp {
			w.comeBack(&w.me)
			w.comeBack(w.zombie)
			w.me.state = w.journal
			return "a former leader's late event"
		}
	}
	return "nothing"
}

func (w *world) outside(l int, share flags.Share) {
	next := w.store[l]
	from := next.Share
	next.Share = share
	w.put(l, next)
	w.lowered(l, from, share)
}
