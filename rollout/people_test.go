package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// amendedBy is a plan's amendment as somebody asks for it now.
func (p *play) amendedBy(t *testing.T, who string, change func(*rollout.Plan)) rollout.Event {
	t.Helper()
	next := *p.journal.Plan
	next.Lanes = slices.Clone(next.Lanes)
	for i := range next.Lanes {
		next.Lanes[i].Stages = slices.Clone(next.Lanes[i].Stages)
	}
	change(&next)
	e, err := rollout.Amend(&p.journal, &next, &rollout.Command{Verb: rollout.Amending, By: who, Reason: "smaller steps"}, nil, p.now)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAYesToAStepIsNoneToAnAmendment(t *testing.T) {
	p := played(t, "climb to reads 10%\npass 10m\nlook\nhold ann")
	p.record(p.amendedBy(t, "ann", func(q *rollout.Plan) { q.Lanes[0].Stages[1].Approvals = 0 }))
	step := []rollout.LaneShare{{Lane: "reads", Share: 50}}
	for _, verb := range []rollout.Verb{rollout.Approve, rollout.Reject} {
		_, err := rollout.Obey(&p.journal, &rollout.Command{Verb: verb, By: "ben", Reason: "fine", To: step}, p.now)
		if err == nil || !strings.Contains(err.Error(), "an amendment by ann does") {
			t.Errorf("%s of a step, while an amendment waits: %v", verb, err)
		}
	}
}

func TestAStepIsNotDividedToAskFewerPeople(t *testing.T) {
	stage := func(approvals int, manual bool) rollout.Stage {
		return rollout.Stage{Share: 49, Bake: 20 * time.Minute, MinTasks: 1, Approvals: approvals, Manual: manual}
	}
	for name, test := range map[string]struct {
		at     int // before which stage
		stage  rollout.Stage
		loosen bool
	}{
		"nobody is asked any more": {1, stage(0, false), true},
		"one is asked, not two":    {1, stage(1, false), true},
		"as many are asked":        {1, stage(2, false), false},
	} {
		p := played(t, "climb to reads 10%\nhold ann")
		e := p.amendedBy(t, "ann", func(q *rollout.Plan) { q.Lanes[0].Stages = slices.Insert(q.Lanes[0].Stages, test.at, test.stage) })
		if (e.Kind == rollout.Proposed) != test.loosen {
			t.Errorf("%s: it is %s", name, e.Kind)
		}
	}
}

// broken is what break-glass writes, to a lane that is at 0 % already, too.
func (p *play) broken() {
	for l := range p.store {
		s := p.store[l]
		next, err := flags.Change{Kind: flags.Lower, Rollout: s.Stamp.Rollout, Epoch: s.Stamp.Epoch, Seq: s.Stamp.Seq, By: "break-glass ann@host: all is bad"}.Apply(s)
		if err != nil {
			p.t.Fatal(err)
		}
		p.put(l, next)
	}
}

func TestWhatBreakGlassWroteAtZeroIsNotRaisedAgain(t *testing.T) {
	for name, story := range map[string]string{
		"ready":               "plan ann\nstart ann\nfreeze on\nlook\npass 1m\nlook",
		"a raise is recorded": "plan ann\nstart ann\nfreeze on\nlook\npass 1m\nlook\nfreeze off\nlose the write\ncrash after the record\nlook",
	} {
		p := played(t, story)
		p.broken()
		p.tell("freeze off")
		for range 10 {
			p.tell("look")
			p.tell("pass 1m")
		}
		if p.store[0].Share > 0 || !slices.ContainsFunc(p.journal.Holds, func(h rollout.Hold) bool { return h.Kind == rollout.HoldDrift }) {
			t.Errorf("%s: after break-glass it is %s at %v", name, p.journal.Phase, p.store[0].Share)
		}
	}
}

func TestATakeoverOfTwoLanesBakesBoth(t *testing.T) {
	p := newPlay(t)
	p.plan.Lanes[0].Stages[2].Bake = 2 * time.Minute // reads at 100 %
	p.plan.Lanes[1].Stages[0].Bake = 5 * time.Hour   // writes at 10 %
	p.plan.Lanes[1].Stages[1].Approvals = 0
	p.made("ann", nil)
	for _, line := range []string{"flag reads 100%", "flag writes 10%", "tasks follow", "pass 5m", "adopt ann reads:100 writes:10", "look", "resume ann"} {
		p.tell(line)
	}
	for range 40 {
		p.tell("pass 1m")
		p.tell("look")
	}
	if p.store[1].Share != 10 {
		t.Errorf("after 40 of 300 minutes at 10%% writes are at %v", p.store[1].Share)
	}
}

func TestAnAskForReleaseIsVoidAfterADay(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s := rollout.State{Name: rollout.HouseName}
	obey := func(verb rollout.Verb, who string) rollout.Kind {
		t.Helper()
		e, err := rollout.ObeyHouse(&s, &rollout.HouseCommand{Verb: verb, By: who}, now)
		if err != nil {
			t.Fatal(err)
		}
		s = rollout.Apply(s, &e)
		return e.Kind
	}
	obey(rollout.HoldForAll, "ann")
	obey(rollout.ReleaseAll, "ann")
	now = now.Add(rollout.ApprovalLife + time.Minute)
	if kind := obey(rollout.ReleaseAll, "ben"); kind != rollout.ReleaseDue {
		t.Errorf("with what ann asked a day ago, ben has %s", kind)
	}
	if kind := obey(rollout.ReleaseAll, "ann"); kind != rollout.ReleasedAll {
		t.Errorf("with what ben asked now, ann has %s", kind)
	}
}

func TestNoFreezeOrDisturbanceIsCutShortByALaterOne(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s := rollout.State{Name: rollout.HouseName}
	obey := func(c rollout.HouseCommand) {
		t.Helper()
		c.Database = "orders"
		e, err := rollout.ObeyHouse(&s, &c, now)
		if err != nil {
			t.Fatal(err)
		}
		s = rollout.Apply(s, &e)
	}
	kinds := func(at time.Time) (found []rollout.WaitKind) {
		for _, w := range s.House.Against("orders", at) {
			found = append(found, w.Kind)
		}
		return slices.Compact(found)
	}
	day := 24 * time.Hour
	obey(rollout.HouseCommand{Verb: rollout.Freezing, By: "ann", Until: now.Add(2 * day)})
	obey(rollout.HouseCommand{Verb: rollout.Freezing, By: "ben", From: now.Add(10 * day), Until: now.Add(11 * day)})
	obey(rollout.HouseCommand{Verb: rollout.Freezing, By: "ben", Until: now.Add(time.Minute)})
	obey(rollout.HouseCommand{Verb: rollout.Disturb, By: "ci", What: "deploy", Until: now.Add(2 * time.Hour)})
	obey(rollout.HouseCommand{Verb: rollout.Disturb, By: "ci", What: "deploy", Until: now.Add(time.Minute)})
	if got := kinds(now.Add(time.Hour)); !slices.Equal(got, []rollout.WaitKind{rollout.WaitFreeze, rollout.WaitQuiet}) {
		t.Errorf("an hour later it waits for %v", got)
	}
	if got := kinds(now.Add(5 * day)); len(got) > 0 {
		t.Errorf("five days later it waits for %v", got)
	}
	if got := kinds(now.Add(10*day + time.Hour)); !slices.Equal(got, []rollout.WaitKind{rollout.WaitFreeze}) {
		t.Errorf("ten days later it waits for %v", got)
	}
	now = now.Add(10*day + time.Hour)
	obey(rollout.HouseCommand{Verb: rollout.Thaw, By: "ann"})
	if got := kinds(now); len(got) > 0 {
		t.Errorf("thawed, it waits for %v", got)
	}
}

func TestADatabaseIsNotDisturbedWithoutEnd(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	s := rollout.State{Name: rollout.HouseName}
	disturb := func(what string) error {
		c := rollout.HouseCommand{Verb: rollout.Disturb, By: "ci", Database: "orders", What: what, Until: now.Add(time.Hour)}
		e, err := rollout.ObeyHouse(&s, &c, now)
		if err == nil {
			s = rollout.Apply(s, &e)
		}
		return err
	}
	for n := range 50 {
		if err := disturb(fmt.Sprint("deploy ", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := disturb("deploy 50"); err == nil || !strings.Contains(err.Error(), "50 things disturb it already") {
		t.Errorf("one more: %v", err)
	}
	if err := disturb("deploy 7"); err != nil {
		t.Errorf("one of them again: %v", err)
	}
}
