package rollout_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// played returns the world after a story.
func played(t *testing.T, story string) *play {
	t.Helper()
	p := newPlay(t)
	for line := range strings.SplitSeq(strings.TrimSpace(story), "\n") {
		p.tell(strings.TrimSpace(line))
	}
	return p
}

// leads returns what a leader sees in a bake cycle.
func (p *play) leads(s *rollout.State) rollout.Seen {
	seen := p.see(s)
	seen.Journal, seen.Lease = true, true
	return seen
}

// approved is a rollout that has all it needs to go from 10 % to 50 %.
const approved = `
	climb to reads 10%
	pass 10m
	look
	approve ben
	approve cat
`

// TestARaiseNeedsEachOfItsConditions takes away one condition at a time, before a
// raise is recorded and again before it is written.
func TestARaiseNeedsEachOfItsConditions(t *testing.T) {
	type spoil func(s *rollout.State, seen *rollout.Seen, now *time.Time)
	verdict := func(gate int, v gates.Verdict) spoil {
		return func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) {
			v.Gate = seen.Verdicts[gate].Gate
			seen.Verdicts[gate] = v
		}
	}
	approvals := func(change func(a *rollout.Approval)) spoil {
		return func(s *rollout.State, _ *rollout.Seen, _ *time.Time) {
			given := &s.Approvals
			if s.Pending != nil {
				pending := *s.Pending
				s.Pending = &pending
				given = &s.Pending.Approvals
			}
			*given = slices.Clone(*given)
			change(&(*given)[0])
		}
	}
	tests := []struct {
		name  string
		spoil spoil
	}{
		{"the lease is not proven", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Lease = false }},
		{"the clock is in doubt", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Clock = false }},
		{"the journal is away", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Journal = false }},
		{"it is a guard cycle", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Guard = true }},
		{"all sources are blind", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Blind = true }},
		{"all sources are blind, and that is held already", func(s *rollout.State, seen *rollout.Seen, _ *time.Time) {
			s.Holds, seen.Blind = []rollout.Hold{{Kind: rollout.HoldData}}, true
		}},
		{"a freeze", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) {
			seen.Outside = []rollout.Wait{{Kind: rollout.WaitFreeze}}
		}},
		{"a gate fails, short of a breach", verdict(0, gates.Verdict{Result: gates.Fail})},
		{"a gate of kind hold fails, short of a breach", verdict(3, gates.Verdict{Result: gates.Fail})},
		{"a gate has no data", verdict(2, gates.Verdict{Result: gates.Inconclusive, Cause: gates.NoData})},
		{"a gate is stale", verdict(0, gates.Verdict{Result: gates.Inconclusive, Cause: gates.Stale})},
		{"a gate has not started, past the first stage", verdict(3, gates.Verdict{Result: gates.Inconclusive, Cause: gates.NotStarted})},
		{"a gate has no verdict at all", verdict(1, gates.Verdict{Result: gates.Fail})},
		{"tasks do not follow", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Tasks[0].Converged = false }},
		{"tasks of the other lane do not follow", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Tasks[1].Converged = false }},
		{"no task hashes below the share", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Tasks[0].Cohort = 0 }},
		{"the flag cannot be read", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) {
			seen.Flags[0] = rollout.Flag{Err: "timeout"}
		}},
		{"the other flag cannot be read", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) {
			seen.Flags[1] = rollout.Flag{Err: "timeout"}
		}},
		{"the other flag cannot be read, and the journal is away", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) {
			seen.Flags[1], seen.Journal, seen.Lease = rollout.Flag{Err: "timeout"}, false, false
		}},
		{"the other flag cannot be read and is held for, and the lease is not proven", func(s *rollout.State, seen *rollout.Seen, _ *time.Time) {
			s.Holds = []rollout.Hold{{Kind: rollout.HoldFlagUnknown}}
			seen.Flags[1], seen.Lease = rollout.Flag{Err: "timeout"}, false
		}},
		{"the flag is higher than confirmed", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Flags[0].Share = 11 }},
		{"the flag is lower than confirmed", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Flags[0].Share = 9 }},
		{"the other flag is higher than confirmed", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Flags[1].Share = 1 }},
		{"another hand has written the flag", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Flags[0].Revision = "other" }},
		{"another hand has written the other flag", func(_ *rollout.State, seen *rollout.Seen, _ *time.Time) { seen.Flags[1].Revision = "other" }},
		{"the leader's stamp is not on the flag", func(s *rollout.State, _ *rollout.Seen, _ *time.Time) { s.Epoch++ }},
		{"a hold", func(s *rollout.State, _ *rollout.Seen, _ *time.Time) {
			s.Holds = []rollout.Hold{{Kind: rollout.HoldPerson}}
		}},
		{"the approvals have expired", func(_ *rollout.State, _ *rollout.Seen, now *time.Time) { *now = now.Add(rollout.ApprovalLife) }},
		{"an approval is of the same person", approvals(func(a *rollout.Approval) { a.By = "cat" })},
		{"an approval is of another plan", approvals(func(a *rollout.Approval) { a.Plan = "other" })},
		{"an approval is of another share", approvals(func(a *rollout.Approval) { a.To = 100 })},
		{"an approval is from another share", approvals(func(a *rollout.Approval) { a.From = 1 })},
		{"an approval is of another lane", approvals(func(a *rollout.Approval) { a.Lane = "writes" })},
	}
	p := played(t, approved)
	waits, all := p.journal, p.leads(&p.journal)
	step := rollout.Decide(&waits, &all, p.now)
	if step.Event == nil || step.Event.Kind != rollout.Raised {
		t.Fatalf("with all conditions: %+v", step)
	}
	if step.Event.Evidence == "" || step.Event.Evidence != waits.Evidence {
		t.Errorf("the raise is bound to %q, the approvals to %q", step.Event.Evidence, waits.Evidence)
	}
	recorded := rollout.Apply(waits, step.Event)
	if step = rollout.Decide(&recorded, &all, p.now); step.Write == nil || step.Write.Change.Kind != flags.Raise {
		t.Fatalf("recorded, with all conditions: %+v", step)
	}
	for _, tt := range tests {
		for name, s := range map[string]rollout.State{"before it is recorded": waits, "before it is written": recorded} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				seen, now := p.leads(&p.journal), p.now
				tt.spoil(&s, &seen, &now)
				for range 10 { // whatever else it decides: nothing rises
					step := rollout.Decide(&s, &seen, now)
					switch {
					case step.Event != nil && step.Event.Kind == rollout.Raised:
						t.Fatalf("a raise is recorded: %s", told(step.Event))
					case step.Write != nil && step.Write.Change.Kind == flags.Raise:
						t.Fatalf("a raise is written: %+v", step.Write.Change)
					case step.Event == nil:
						return
					}
					s = rollout.Apply(s, step.Event)
				}
			})
		}
	}
}

func TestARenewedApprovalCounts(t *testing.T) {
	p := played(t, `
		climb to reads 10%
		pass 10m
		look
		approve ben
		pass 24h
		approve ben
		approve cat
		look`)
	if p.journal.Lanes[reads].Confirmed != 50 {
		t.Errorf("ben approved again after his first approval had expired, and still: %s\n%s", p.journal.Phase, p.out.String())
	}
}

func TestReadsThatRiseAgainBakeByTheirOwnStage(t *testing.T) {
	p := played(t, `
		climb to writes 10%
		flag reads 60%
		look
		resume ann
		pass 2m
		look
		pass 29m
		look`)
	if p.journal.Phase != rollout.Baking {
		t.Errorf("the reads' stage asks for 30m, the writes' for 10m: after 29m it is %s", p.journal.Phase)
	}
}

func TestADeployBeginsABakeAnewOnce(t *testing.T) {
	p := played(t, `
		climb to reads 10%
		pass 5m
		tasks replaced 11
		look`)
	rebaked := 0
	for i := range p.events {
		if p.events[i].Kind == rollout.Rebaked {
			rebaked++
		}
	}
	if rebaked != 1 || p.journal.Phase != rollout.Baking {
		t.Errorf("begun anew %d times, and then %s", rebaked, p.journal.Phase)
	}
}

func TestAHoldNamesTheTasksThatDoNotFollow(t *testing.T) {
	p := played(t, approved+"tasks stay\nlook\npass 6m")
	seen := p.leads(&p.journal)
	seen.Tasks[0].Lagging = []string{"task-7", "task-9"}
	step := rollout.Decide(&p.journal, &seen, p.now)
	if step.Event == nil || step.Event.Hold == nil || !strings.Contains(step.Event.Hold.Why, "reads: task-7, task-9") {
		t.Errorf("the hold does not name them: %+v", step.Event)
	}
}

// TestEvidenceIsBoundToWhatWasSeen holds the evidence of a bake against what it is of.
func TestEvidenceIsBoundToWhatWasSeen(t *testing.T) {
	p := played(t, "climb to reads 10%\npass 10m")
	seen := p.leads(&p.journal)
	first := rollout.Decide(&p.journal, &seen, p.now).Event
	seen.Verdicts[0].Value++
	second := rollout.Decide(&p.journal, &seen, p.now).Event
	if first.Evidence == "" || first.Evidence == second.Evidence {
		t.Errorf("other values, and the evidence is %q and %q", first.Evidence, second.Evidence)
	}
	seen.Verdicts[0].Value = math.NaN()
	third := rollout.Decide(&p.journal, &seen, p.now).Event
	for _, e := range []*rollout.Event{first, third} {
		if text, err := json.Marshal(e); err != nil || len(e.Verdicts) != len(p.plan.Gates) {
			t.Errorf("the event does not carry its verdicts: %s, %v", text, err)
		}
	}
	soaked := played(t, "climb to soaking\npass 2h\nlook")
	if last := soaked.events[len(soaked.events)-1]; last.Evidence == "" || last.Evidence != soaked.journal.Evidence || len(last.Verdicts) != len(p.plan.Gates) {
		t.Errorf("the soak ends on no evidence: %+v", last)
	}
	if !math.IsNaN(seen.Verdicts[0].Value) {
		t.Error("what was seen is changed")
	}
}

// TestAShareAbove0IsTheHighestOfFour takes away all but one of what is intended,
// confirmed, published and observed: a breach lowers whichever is left.
func TestAShareAbove0IsTheHighestOfFour(t *testing.T) {
	tests := map[string]func(lane *rollout.Lane, flag *rollout.Flag, tasks *rollout.Observation){
		"intended":  func(lane *rollout.Lane, _ *rollout.Flag, _ *rollout.Observation) { lane.Intended = 1 },
		"confirmed": func(lane *rollout.Lane, _ *rollout.Flag, _ *rollout.Observation) { lane.Confirmed = 1 },
		"published": func(_ *rollout.Lane, flag *rollout.Flag, _ *rollout.Observation) { flag.Share = 1 },
		"observed":  func(_ *rollout.Lane, _ *rollout.Flag, tasks *rollout.Observation) { tasks.Share = 1 },
	}
	p := played(t, "climb to ready\nhold ann\npass 1m\ngate failed-writes breach")
	for name, put := range tests {
		t.Run(name, func(t *testing.T) {
			s, seen := p.journal, p.leads(&p.journal)
			s.Lanes = slices.Clone(s.Lanes)
			if step := rollout.Decide(&s, &seen, p.now); step.Event != nil {
				t.Fatalf("with all of them at 0%%: %s", told(step.Event))
			}
			put(&s.Lanes[writes], &seen.Flags[writes], &seen.Tasks[writes])
			step := rollout.Decide(&s, &seen, p.now)
			if step.Event == nil || step.Event.Kind != rollout.Lowered || !slices.Equal(step.Event.Gates, []string{"failed-writes"}) {
				t.Errorf("not lowered: %+v", step)
			}
		})
	}
}

// TestOnlyOurOwnStampConfirms finds the share of a recorded raise on the flag,
// under stamps that are not of its write.
func TestOnlyOurOwnStampConfirms(t *testing.T) {
	p := played(t, approved+"crash after the record\nlook\nlook")
	i := slices.IndexFunc(p.events, func(e rollout.Event) bool { return e.Kind == rollout.Confirmed && e.To == 50 })
	s := rollout.Fold(p.events[:i])
	tests := map[string]struct {
		change    func(f *rollout.Flag)
		confirmed bool
	}{
		"ours":                               {func(*rollout.Flag) {}, true},
		"another rollout's":                  {func(f *rollout.Flag) { f.Stamp.Rollout = "users" }, false},
		"none":                               {func(f *rollout.Flag) { f.Stamp = flags.Stamp{Epoch: f.Stamp.Epoch} }, false},
		"ours, of another share":             {func(f *rollout.Flag) { f.Stamp.Share = 10 }, false},
		"ours, of an earlier write":          {func(f *rollout.Flag) { f.Stamp.Seq = s.Lanes[reads].Seq }, false},
		"ours, at the revision of the raise": {func(f *rollout.Flag) { f.Revision = s.Pending.Revision }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			seen := p.leads(&s)
			tt.change(&seen.Flags[reads])
			step := rollout.Decide(&s, &seen, p.now)
			if got := step.Event != nil && step.Event.Kind == rollout.Confirmed; got != tt.confirmed {
				t.Errorf("confirmed: %v: %+v", got, step)
			}
		})
	}
}

func TestAPreviousGateOfALaneWithoutAShareLowersNothing(t *testing.T) {
	p := played(t, "climb to reads 50%\ngate headroom breach")
	headroom := &p.plan.Gates[2]
	headroom.Scope, headroom.Lanes = gates.ScopeLane, []string{"writes"}
	seen := p.leads(&p.journal)
	if step := rollout.Decide(&p.journal, &seen, p.now); step.Event != nil {
		t.Errorf("writes are at 0%%, and still: %s", told(step.Event))
	}
	for _, lanes := range [][]string{{"writes", "reads"}, nil} { // none named means all
		headroom.Lanes = lanes
		if step := rollout.Decide(&p.journal, &seen, p.now); step.Event == nil || step.Event.Kind != rollout.Lowered {
			t.Errorf("reads are at 50%%, and nothing is lowered: %+v", step)
		}
	}
}

func TestAFewTasksOfManyMayStray(t *testing.T) {
	p := played(t, "climb to reads 10%")
	for _, tt := range []struct {
		live, stray int
		drift       bool
	}{{199, 0, false}, {199, 1, true}, {200, 2, false}, {200, 3, true}, {1000, 10, false}, {1000, 11, true}} {
		seen := p.leads(&p.journal)
		seen.Tasks[reads].Live, seen.Tasks[reads].Stray = tt.live, tt.stray
		step := rollout.Decide(&p.journal, &seen, p.now)
		if got := step.Event != nil && step.Event.Hold != nil && step.Event.Hold.Kind == rollout.HoldDrift; got != tt.drift {
			t.Errorf("%d of %d tasks: drift %v", tt.stray, tt.live, got)
		}
	}
}

func TestAPreflightIsTheFirstEvidence(t *testing.T) {
	p := played(t, "plan ann\nstart ann\nflag reads 5%\ngate borrow-wait breach")
	seen := p.leads(&p.journal)
	seen.Report = nil
	if step := rollout.Decide(&p.journal, &seen, p.now); step.Event != nil || step.Write != nil || len(step.Waits) != 1 {
		t.Errorf("it has not reported, and still: %+v", step)
	}
	if p = played(t, "climb to ready"); p.journal.Evidence != "preflight" {
		t.Errorf("a first approval would be bound to %q", p.journal.Evidence)
	}
}

func TestWritesDoNotRiseBeforeTheirReadsWhateverThePlanSays(t *testing.T) {
	p := newPlay(t)
	slices.Reverse(p.plan.Lanes)
	for _, line := range []string{"climb to ready", "pass 1m", "look", "pass 1m", "look"} {
		p.tell(line)
	}
	if p.journal.Phase != rollout.Ready || !strings.Contains(p.out.String(), "waits for lock reads: reads come before writes") {
		t.Errorf("%s\n%s", p.journal.Phase, p.out.String())
	}
}
