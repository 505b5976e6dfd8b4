package rollout_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// stage is the highest stage of a lane at or below a share, else its first.
func (w *world) stage(lane int, share flags.Share) rollout.Stage {
	stages := w.plan.Lanes[lane].Stages
	at := stages[0]
	for _, stage := range stages {
		if stage.Share <= share {
			at = stage
		}
	}
	return at
}

// agreement is a command by which people agree, or do not.
func (w *world) agreement(who string, roll int) rollout.Command {
	c := rollout.Command{By: who, Reason: "a reason"}
	offer := w.journal.Offer
	switch {
	case roll%2 == 0:
		c.Verb = rollout.Reject
	case offer == nil:
		c.Verb, c.Person = rollout.HandOver, []string{"ann", "ben", "cat"}[roll/2%3]
	default:
		c.Verb = rollout.Accept
		if roll/2%4 > 0 {
			c.By = offer.To
		}
	}
	return c
}

// amend lets a person ask for another plan; now and then it is held for that first.
func (w *world) amend(who string, roll int) string {
	if roll%2 == 0 {
		_ = w.command(rollout.Command{Verb: rollout.HoldIt, By: who})
	}
	if !w.journalUp {
		return "amend: no answer"
	}
	w.comeBack(&w.me)
	next, loosens := w.anotherPlan(roll / 2)
	c := rollout.Command{Verb: rollout.Amending, By: who, Reason: "a reason"}
	e, err := rollout.Amend(&w.journal, next, &c, nil, w.now)
	if err != nil {
		return "amend refused"
	}
	if loosens && e.Kind != rollout.Proposed {
		w.violate("I14 %s alone has loosened the plan: %v", who, rollout.Diff(w.plan, next))
	}
	w.record(e)
	w.me.state = w.journal
	return string(e.Kind)
}

// anotherPlan changes one thing of the plan, and says whether that loosens it.
func (w *world) anotherPlan(roll int) (next *rollout.Plan, loosens bool) {
	plan := *w.plan
	plan.Lanes = slices.Clone(plan.Lanes)
	lane := &plan.Lanes[roll%2]
	lane.Stages = slices.Clone(lane.Stages)
	i := roll / 2 % len(lane.Stages)
	stage, by := &lane.Stages[i], 1
	if loosens = roll/24%2 == 0; loosens {
		by = -1
	}
	switch roll / 48 % 5 {
	case 0:
		stage.Bake = min(4*period, max(period, stage.Bake+time.Duration(by)*period))
	case 1:
		stage.Approvals = min(3, max(0, stage.Approvals+by))
	case 2:
		stage.Manual = !loosens
	case 3:
		plan.Soak.For = min(4*period, max(0, plan.Soak.For+time.Duration(by)*period))
	default:
		if loosens && stage.Share < flags.All {
			lane.Stages = slices.Delete(lane.Stages, i, i+1)
		} else if share := stage.Share - 2; !loosens && share > 0 && len(lane.Stages) < 8 && w.stage(roll%2, share).Share < share {
			lane.Stages = slices.Insert(lane.Stages, i, rollout.Stage{Share: share, Bake: period, MinTasks: 1})
			loosens = share <= w.journal.Lanes[roll%2].Intended
		}
	}
	return &plan, loosens
}

// agreed holds what people agree on against what it may do.
func (w *world) agreed(before *rollout.State, e *rollout.Event) {
	s := &w.journal
	switch e.Kind {
	case rollout.TakenOver:
		w.needPerson, w.onRecord = true, true
	case rollout.HandedOver:
		if before.Offer == nil || before.Offer.To != e.By || s.Owner != e.By {
			w.violate("%s took over what was offered to %+v", e.By, before.Offer)
		}
	case rollout.Proposed:
		if s.Plan != before.Plan || s.PlanHash != before.PlanHash {
			w.violate("I14 what was only proposed is the plan")
		}
	default:
		w.plan = s.Plan
		w.checkAmended(before, e)
	}
}

func (w *world) checkAmended(before *rollout.State, e *rollout.Event) {
	s := &w.journal
	if p := before.Proposal; len(e.Loosens) > 0 && (p == nil || p.By == e.By || p.Plan != e.Plan) {
		w.violate("I14 %s alone has loosened the plan: %v", e.By, e.Loosens)
	}
	if before.Phase != rollout.Held || s.Phase != rollout.Held || len(s.Holds) != len(before.Holds) {
		w.violate("I14 amended in %s, and then it is %s with %v", before.Phase, s.Phase, s.Holds)
	}
	if len(s.Approvals) > 0 || s.Go || !s.Settled.IsZero() {
		w.violate("I14 what was given or proven for the former plan is left")
	}
	for i := range s.Lanes {
		if s.Lanes[i].Intended != before.Lanes[i].Intended || s.Lanes[i].Confirmed != before.Lanes[i].Confirmed {
			w.violate("I14 an amendment moved lane %d", i)
		}
	}
}

// takenOver are worlds in which another hand had raised the flags before.
func takenOver() []*world {
	var worlds []*world
	for _, at := range [][2]flags.Share{{25, 0}, {30, 0}, {100, 0}, {100, 12}, {100, 100}} {
		w := emptyWorld()
		targets := make([]rollout.LaneShare, len(at))
		for l, share := range at {
			w.outside(l, share)
			targets[l] = rollout.LaneShare{Lane: w.plan.Lanes[l].Name, Share: share}
		}
		w.pass(period)
		_ = w.command(rollout.Command{Verb: rollout.Adopt, By: "operator", To: targets})
		w.cycle(false, false)
		worlds = append(worlds, w)
	}
	return worlds
}

// TestHistoriesHavePeopleInThem holds that random histories do what they are
// there for: a rule that is never reached is not tested.
func TestHistoriesHavePeopleInThem(t *testing.T) {
	rungs := append(climb(t), takenOver()...)
	seen := map[rollout.Kind]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		w := rungs[random.IntN(len(rungs))].clone()
		w.dice = random.IntN
		for range 40 {
			if name := w.happen(random.Uint32()); w.broken != "" {
				t.Fatalf("%s\nafter %s\n%s", w.broken, name, w.tail())
			}
		}
		for _, e := range w.events {
			seen[e.Kind]++
		}
	}
	for _, kind := range []rollout.Kind{rollout.TakenOver, rollout.Amended, rollout.Proposed, rollout.Rejected, rollout.Offered, rollout.HandedOver} {
		if seen[kind] < 3 {
			t.Errorf("%d times %s in 400 histories", seen[kind], kind)
		}
	}
}
