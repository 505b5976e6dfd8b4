package rollout_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// tape is a program of bytes; where it ends it goes on with zeros.
type tape []byte

func (t *tape) next(n int) int {
	if len(*t) == 0 {
		return 0
	}
	b := (*t)[0]
	*t = (*t)[1:]
	return int(b) % n
}

func (t *tape) yes() bool { return t.next(2) == 1 }

func pick[T any](t *tape, from ...T) T { return from[t.next(len(from))] }

var eventKinds = []rollout.Kind{
	rollout.Planned, rollout.Started, rollout.Checked, rollout.Led, rollout.Stamped, rollout.Raised, rollout.Confirmed, rollout.TakenBack,
	rollout.Settled, rollout.Rebaked, rollout.Baked, rollout.Awaited, rollout.Advanced, rollout.Approved, rollout.Voided, rollout.HeldOn,
	rollout.Released, rollout.Resumed, rollout.Adopted, rollout.Restored, rollout.Lowered, rollout.Late, rollout.Proven, rollout.BecameStuck,
	rollout.Acknowledged, rollout.SoakBegan, rollout.SoakEnded, rollout.Done, rollout.GivenUp, rollout.Retried, rollout.Refused, rollout.Noted,
	rollout.TakenOver, rollout.Sealed, rollout.Proposed, rollout.Amended, rollout.Rejected, rollout.Offered, rollout.HandedOver,
	"of a later version",
}

var holdKinds = []rollout.HoldKind{
	rollout.HoldPerson, rollout.HoldDrift, rollout.HoldGate, rollout.HoldData, rollout.HoldNotConverged, rollout.HoldFlagUnknown, rollout.HoldAll,
}

// event reads an event that makes no sense, or little.
func (t *tape) event(seq uint64, at time.Time, plan *rollout.Plan, hash string) rollout.Event {
	shares := []flags.Share{0, 1, 10, 25, 30, 50, 75, 100}
	revisions := []string{"", "1", "2", "3"}
	lane := func() string { return pick(t, "reads", "writes", "no such lane") }
	e := rollout.Event{
		Rollout: "orders", Seq: seq, Kind: eventKinds[t.next(len(eventKinds))], At: at, By: rollout.Controller,
		Lane: lane(), From: pick(t, shares...), To: pick(t, shares...), Revision: pick(t, revisions...), Stamp: int64(t.next(5)),
		Epoch: int64(t.next(3)), Base: uint64(t.next(4)), Again: t.yes(),
	}
	if (e.Kind == rollout.Planned || e.Kind == rollout.Proposed || e.Kind == rollout.Amended) && t.yes() {
		e.Plan = plan
	}
	for range t.next(4) {
		e.Targets = append(e.Targets, rollout.LaneShare{Lane: lane(), Share: pick(t, shares...), Revision: pick(t, revisions...), Stamp: int64(t.next(5))})
	}
	if t.yes() {
		e.Hold = &rollout.Hold{Kind: pick(t, holdKinds...), Owner: "x", At: at}
	}
	if t.yes() {
		e.Holds, e.Gates = []rollout.HoldKind{pick(t, holdKinds...)}, []string{pick(t, "all", "r", "headroom")}
	}
	switch t.next(3) {
	case 1:
		e.Report = &rollout.Report{Hash: "h", Checks: []rollout.Check{{Result: pick(t, rollout.CheckPass, rollout.CheckFail)}}}
	case 2:
		e.Approval = &rollout.Approval{Lane: lane(), From: e.From, To: e.To, Plan: pick(t, hash, "other"), By: pick(t, "ben", "cat"), Expires: at.Add(time.Hour)}
	}
	return e
}

// state folds a program of events upon a plan.
func (t *tape) state(plan *rollout.Plan, events int) (rollout.State, time.Time) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s := rollout.Apply(rollout.State{}, &rollout.Event{Rollout: plan.Name, Seq: 1, Kind: rollout.Planned, At: now, Plan: plan})
	for range events {
		now = now.Add(pick(t, 0, time.Second, time.Minute, 20*time.Minute))
		e := t.event(s.Version+1, now, plan, s.PlanHash)
		s = rollout.Apply(s, &e)
	}
	return s, now.Add(pick(t, 0, 10*time.Second, time.Minute, time.Hour))
}

// seen reads what a leader, or somebody else, sees.
func (t *tape) seen(s *rollout.State, now time.Time) rollout.Seen {
	shares := []flags.Share{0, 1, 10, 25, 30, 50, 75, 100}
	seen := rollout.Seen{
		Guard: t.yes(), Journal: !t.yes(), Lease: !t.yes(), Clock: !t.yes(), Blind: t.next(8) == 1,
		Bake: pick(t, 0, time.Minute, time.Hour), BakeFrom: s.Settled,
	}
	if t.next(8) == 1 {
		seen.BadFrom = now.Add(-pick(t, time.Second, time.Hour))
	}
	if t.next(8) == 1 {
		seen.Outside = []rollout.Wait{{Kind: rollout.WaitFreeze}}
	}
	if t.next(4) == 1 {
		seen.Report = &rollout.Report{Hash: "h"}
	}
	for i := range s.Lanes {
		f := rollout.Flag{Setting: flags.Setting{Share: s.Lanes[i].Confirmed, Revision: s.Lanes[i].Revision}, Failed: t.next(4) == 1}
		f.Stamp = flags.Stamp{Rollout: s.Name, Epoch: s.Epoch, Seq: s.Lanes[i].Seq, Share: f.Share}
		switch t.next(5) {
		case 1:
			f.Share, f.Revision = pick(t, shares...), pick(t, "1", "2", "3")
		case 2:
			f.Share, f.Revision = pick(t, shares...), pick(t, "1", "2", "3")
			f.Stamp = flags.Stamp{Rollout: s.Name, Epoch: int64(t.next(3)), Seq: int64(t.next(6)), Share: f.Share}
			f.Replaced = pick(t, "", "1", "2")
		case 3:
			f = rollout.Flag{Err: "down", Failed: t.yes()}
		case 4:
			f.Before = now.Add(-time.Second)
		}
		o := rollout.Observation{Live: 100, Inventory: 100, Share: pick(t, f.Share, 0, 100), Cohort: t.next(3) * 10, On: 10, Stray: t.next(2), Converged: !t.yes(), Replaced: t.next(2) * 20}
		if t.yes() {
			o.Since = now.Add(-time.Hour)
		}
		seen.Flags, seen.Tasks = append(seen.Flags, f), append(seen.Tasks, o)
	}
	for i := range s.Plan.Gates {
		v := gates.Verdict{Gate: s.Plan.Gates[i].Name, Result: gates.Pass, Recovered: !t.yes()}
		switch t.next(8) {
		case 1:
			v.Result, v.Breach = gates.Fail, true
		case 2:
			v.Result, v.Cause = gates.Inconclusive, pick(t, gates.NoData, gates.NotStarted)
		}
		seen.Verdicts = append(seen.Verdicts, v)
	}
	return seen
}

func text(t *testing.T, v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// brief is the text of a state without its plan, which is long.
func brief(t *testing.T, s rollout.State) string {
	s.Plan = nil
	return text(t, s)
}

// FuzzFold folds whatever comes: it never panics, counts every event, and leaves
// the state before as it was.
func FuzzFold(f *testing.F) {
	p := newPlay(nil)
	for line := range strings.SplitSeq("climb to reads 10%\nflag reads 5%\nlook", "\n") {
		p.tell(line)
	}
	story, err := json.Marshal(p.events)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(story)
	f.Add([]byte(`[{"seq":1,"kind":"planned","plan":{"lanes":null}},{"seq":2,"kind":"raised","lane":""},{"seq":3,"kind":"late","targets":[{}]}]`))
	f.Add([]byte(`[{"seq":1,"kind":"raised","lane":"reads"},{"seq":2,"kind":"lowered"},{"seq":3,"kind":"planned"}]`))
	f.Add([]byte("no JSON, but a program of events"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []rollout.Event
		if json.Unmarshal(data, &events) != nil {
			program := tape(data)
			plan := ladderPlan()
			s, now := program.state(plan, 0)
			for len(program) > 0 && len(events) < 60 {
				now = now.Add(time.Minute)
				events = append(events, program.event(s.Version+uint64(len(events))+1, now, plan, s.PlanHash))
			}
			fold(t, s, events)
			return
		}
		fold(t, rollout.State{}, events)
	})
}

func fold(t *testing.T, s rollout.State, events []rollout.Event) {
	start, told := s, text(t, events)
	for i := range events {
		before := brief(t, s)
		after := rollout.Apply(s, &events[i])
		if now := brief(t, s); now != before {
			t.Fatalf("%+v changed the state before it:\n%s\n%s", events[i], before, now)
		}
		if after.Version != events[i].Seq {
			t.Fatalf("version %d after event %d", after.Version, events[i].Seq)
		}
		s = after
	}
	if now := text(t, events); now != told {
		t.Fatalf("the events were changed:\n%s\n%s", told, now)
	}
	again := start
	for i := range events {
		again = rollout.Apply(again, &events[i])
	}
	if !reflect.DeepEqual(again, s) {
		t.Fatal("folded anew, it is another state")
	}
}

// FuzzDecide decides on whatever state and sight: it never panics, and what it
// decides keeps the laws that need no history.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{9, 0, 1, 2, 3, 5, 0, 0, 2, 1, 1, 0, 0, 0, 8})
	f.Add([]byte("a program of events, and then what is seen of it: flags, tasks, verdicts"))
	f.Fuzz(func(t *testing.T, data []byte) {
		program := tape(data)
		s, now := program.state(ladderPlan(), program.next(24))
		seen := program.seen(&s, now)
		for range 8 {
			before, sight := brief(t, s), text(t, seen)
			step := rollout.Decide(&s, &seen, now)
			if again := rollout.Decide(&s, &seen, now); !reflect.DeepEqual(step, again) {
				t.Fatalf("the same state and sight, and another answer:\n%+v\n%+v", step, again)
			}
			if brief(t, s) != before || text(t, seen) != sight {
				t.Fatal("deciding changed what it was given")
			}
			lawful(t, &s, &seen, step)
			if step.Event == nil {
				return
			}
			s = rollout.Apply(s, step.Event)
		}
	})
}

// lawful holds a step against what must hold of any.
func lawful(t *testing.T, s *rollout.State, seen *rollout.Seen, step rollout.Step) {
	mayRaise := seen.Lease && seen.Clock && seen.Journal && !seen.Guard && len(s.Holds) == 0
	if step.Event != nil {
		e := step.Event
		switch {
		case step.Write != nil:
			t.Fatal("an event and a write at once")
		case e.Seq != s.Version+1:
			t.Fatalf("event %d after version %d", e.Seq, s.Version)
		case e.Kind == rollout.Raised && (!mayRaise || e.To <= e.From):
			t.Fatalf("a raise is recorded: %+v in %+v", e, seen)
		case !seen.Journal && !e.Lowers(s.Phase):
			t.Fatalf("without the journal: %s", e.Kind)
		}
	}
	if step.Write == nil {
		return
	}
	c, flag := step.Write.Change, seen.Flags[step.Write.Lane]
	after, err := c.Apply(flag.Setting)
	switch {
	case c.Kind == flags.Raise && (!mayRaise || s.Pending == nil || c.Share != s.Pending.To || c.Revision != s.Pending.Revision):
		t.Fatalf("a raise is written: %+v of %+v", c, s.Pending)
	case c.Kind != flags.Raise && after.Share > flag.Share && flag.Err == "":
		t.Fatalf("a %s to %v of a flag at %v", c.Kind, c.Share, flag.Share)
	case c.Kind == flags.Lower && c.Share > 0 && !seen.Lease:
		t.Fatalf("lowered to %v without the lease", c.Share)
	case c.Kind == flags.Lower && c.Share > 0 && c.Revision != flag.Revision:
		t.Fatalf("lowered to %v whatever its revision", c.Share)
	case c.Kind == flags.Lower && c.Share == 0 && err != nil:
		t.Fatalf("a lowering to 0%% is refused: %v", err)
	}
}
