package rollout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// TestNext says which step comes next, and that Decide takes none where there is none.
func TestNext(t *testing.T) {
	tests := []struct {
		name          string
		reads, writes flags.Share
		baked         [2]bool
		lane          int // -1 for none
		to            flags.Share
		first         bool
	}{
		{"the first of all", 0, 0, [2]bool{}, reads, 10, true},
		{"from stage to stage", 10, 0, [2]bool{}, reads, 50, false},
		{"from between two stages", 11, 0, [2]bool{}, reads, 50, false},
		{"from below the first", 9, 0, [2]bool{}, reads, 10, false},
		{"reads at 100% have not baked", 100, 0, [2]bool{}, -1, 0, false},
		{"reads at 100% have baked", 100, 0, [2]bool{true}, writes, 10, true},
		{"writes go on", 100, 49, [2]bool{true}, writes, 50, false},
		{"reads were lowered under their writes", 60, 50, [2]bool{}, reads, 100, false},
		{"reads have baked once, and were lowered", 60, 50, [2]bool{true}, reads, 100, false},
		{"writes at 100% have not baked", 100, 100, [2]bool{true}, -1, 0, false},
		{"all have baked", 100, 100, [2]bool{true, true}, -1, 0, false},
	}
	p := played(t, "climb to reads 10%\npass 10m\nlook\npass 1m")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := p.journal
			s.Lanes = slices.Clone(s.Lanes)
			for l, share := range []flags.Share{tt.reads, tt.writes} {
				s.Lanes[l].Intended, s.Lanes[l].Confirmed, s.Lanes[l].Baked = share, share, tt.baked[l]
			}
			next, ok := s.Next()
			want := rollout.Next{Lane: tt.lane, From: s.Lanes[max(0, tt.lane)].Intended, First: tt.first}
			if tt.lane < 0 {
				want = rollout.Next{}
			}
			got := next
			got.Stage = rollout.Stage{}
			if diff := cmp.Diff(want, got); diff != "" || ok != (tt.lane >= 0) || next.Stage.Share != tt.to {
				t.Errorf("to %v, %v (-want +got):\n%s", next.Stage.Share, ok, diff)
			}
			seen := p.leads(&s)
			for l := range seen.Flags {
				seen.Flags[l].Share = s.Lanes[l].Confirmed
			}
			step := rollout.Decide(&s, &seen, p.now)
			soaks := step.Event != nil && step.Event.Kind == rollout.SoakBegan
			if all := tt.baked == [2]bool{true, true}; soaks != all {
				t.Errorf("the soak begins: %v", soaks)
			}
		})
	}
}

// TestALateEventNeverRaises folds late events of any share upon reads 50 %, writes 10 %.
func TestALateEventNeverRaises(t *testing.T) {
	tests := []struct {
		name          string
		stamp         int64 // beyond what is confirmed
		base          bool  // the journal has stood still
		share         flags.Share
		reads, writes flags.Share
		lowers        bool
	}{
		{"newer, lower", 1, false, 20, 20, 10, true},
		{"newer, to 0", 1, false, 0, 0, 0, true},
		{"newer, below the writes", 1, false, 5, 5, 5, true},
		{"newer, higher", 1, false, 80, 50, 10, true},
		{"as new, lower", 0, false, 20, 50, 10, false},
		{"older, lower", -1, false, 20, 50, 10, false},
		{"older, of a journal that stood still", -1, true, 20, 20, 10, true},
		{"older, higher, of a journal that stood still", -1, true, 80, 50, 10, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := played(t, "climb to writes 10%\nflag reads 50%\nlook\nresume ann\nlook\npass 2m\nlook").journal
			e := rollout.Event{Kind: rollout.Late, Seq: s.Version + 1, Base: s.Version - 1, At: s.Since, Hold: &rollout.Hold{Kind: rollout.HoldGate}}
			e.Targets = []rollout.LaneShare{{Lane: "reads", Share: tt.share, Revision: "late", Stamp: s.Lanes[reads].Seq + tt.stamp}}
			if tt.base {
				e.Base = s.Version
			}
			after := rollout.Apply(s, &e)
			if tt.lowers != (after.Phase == rollout.RollingBack) {
				t.Fatalf("then it is %s", after.Phase)
			}
			if !tt.lowers {
				after.Version = s.Version
				if diff := cmp.Diff(s, after); diff != "" {
					t.Errorf("history changes nothing, but:\n%s", diff)
				}
				return
			}
			got := []flags.Share{after.Lanes[reads].Target, after.Lanes[writes].Target}
			if diff := cmp.Diff([]flags.Share{tt.reads, tt.writes}, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			for l := range s.Lanes {
				if after.Lanes[l].Confirmed > s.Lanes[l].Confirmed || after.Lanes[l].Intended > s.Lanes[l].Intended {
					t.Errorf("lane %s is raised: %+v", s.Lanes[l].Name, after.Lanes[l])
				}
			}
		})
	}
}

// TestPointsCountFrom says from when on a gate's points count: of a lane that
// settled at 12:03 after a raise confirmed at 12:02.
func TestPointsCountFrom(t *testing.T) {
	tests := []struct {
		name                 string
		story                string
		zero, previous, hold string // "" if none count
	}{
		{"ready: a while of history, before the first share", "climb to ready", "11:51", "11:51", "11:51"},
		{"advancing: a zero gate from the raise's write on", "climb to ready\npass 1m\nlook\npass 10s", "12:01", "", ""},
		{"baking: others from settle on", "climb to reads 10%", "12:01", "12:03", "12:03"},
		{"held, without a change of share", "climb to reads 10%\npass 5m\nhold ann", "12:01", "12:03", "12:03"},
		{"a hold whose cause is gone: a zero gate as before", "climb to reads 10%\npass 5m\nsources away\nlook\nsources back\nlook", "12:01", "12:08", "12:08"},
		{"resumed: all anew", "climb to reads 10%\npass 5m\nhold ann\nresume ann", "12:07", "", ""},
		{"a raise is recorded and not confirmed: as before", approved + "crash after the record\nlook", "12:01", "12:03", "12:03"},
		{"on the way down: what came after the turn", "climb to reads 10%\npass 5m\nrollback ann\npass 1m", "12:08", "12:08", "12:08"},
		{"adopted: all anew, and others once it must have settled", "climb to reads 10%\npass 5m\nflag reads 5%\nlook", "12:07", "12:13", "12:13"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := played(t, tt.story)
			var got []string
			for _, g := range []int{0, 2, 3} {
				from, counts := p.journal.JudgeFrom(&p.plan.Gates[g])
				got = append(got, map[bool]string{true: from.Format("15:04")}[counts])
			}
			if diff := cmp.Diff([]string{tt.zero, tt.previous, tt.hold}, got); diff != "" {
				t.Errorf("zero, previous, hold (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHoldAllOutlivesANewPlan(t *testing.T) {
	p := played(t, `
		climb to reads 10%
		hold-all ann
		rollback ann
		look
		pass 1m
		look
		preflight fail
		retry ann
		look
		plan ann
		preflight pass
		start ann
		look
		pass 1m
		look`)
	if p.journal.Phase != rollout.Held {
		t.Errorf("hold-all was never released, and it is %s", p.journal.Phase)
	}
}

func TestAnEarlierEpochDoesNotLead(t *testing.T) {
	s := played(t, "plan ann\nlead\nlead").journal
	for _, tt := range []struct{ epoch, leads int64 }{{2, 3}, {3, 3}, {5, 5}} {
		after := rollout.Apply(s, &rollout.Event{Kind: rollout.Led, Seq: s.Version + 1, Epoch: tt.epoch})
		if after.Epoch != tt.leads {
			t.Errorf("after %d, epoch %d leads", tt.epoch, after.Epoch)
		}
	}
}

func TestANewAttemptTakesNothingOver(t *testing.T) {
	s := played(t, approved).journal
	s.Phase, s.Soaked, s.Go, s.Previous, s.Causes, s.Restored = rollout.RolledBack, true, true, 1, []string{"headroom"}, s.Since
	s.Pending = &rollout.Raise{Lane: "reads", To: 50}
	s.Holds = []rollout.Hold{{Kind: rollout.HoldAll}}
	s.Lanes = []rollout.Lane{
		{Name: "reads", Intended: 50, Confirmed: 10, Target: 10, Revision: "7", Seq: 3, Baked: true, Fence: "6", Returned: 50, Restoring: true},
		{Name: "writes", Seq: 4},
	}
	want := rollout.State{
		Name: s.Name, Version: s.Version + 1, Phase: rollout.Preflight, Since: s.Since.Add(period), Why: "once more",
		Plan: s.Plan, PlanVersion: s.PlanVersion, PlanHash: s.PlanHash, Planner: s.Planner, Attempt: s.Attempt + 1, Epoch: s.Epoch,
		Lanes: []rollout.Lane{{Name: "reads", Seq: 3, Fence: "6"}, {Name: "writes", Seq: 4}},
		Holds: s.Holds, Changed: s.Changed, LastRaised: -1, Restored: s.Restored,
	}
	got := rollout.Apply(s, &rollout.Event{Kind: rollout.Retried, Seq: s.Version + 1, At: s.Since.Add(period), Why: "once more"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPlanIsStoredInADraftOnly(t *testing.T) {
	other := storyPlan()
	other.Owner = "team-users"
	for name, tt := range map[string]struct {
		story  string
		plan   *rollout.Plan
		stored bool
	}{
		"a draft":                   {"plan ann", other, true},
		"a draft, and no plan":      {"plan ann", nil, false},
		"after a failed preflight":  {"plan ann\npreflight fail\nstart ann\nlook", other, true},
		"started":                   {"plan ann\nstart ann", other, false},
		"rolled back":               {"climb to reads 10%\nrollback ann\nlook\npass 1m\nlook", other, false},
		"withdrawn":                 {"plan ann\nwithdraw ann", other, false},
		"with a share on its flags": {"climb to reads 10%", other, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := played(t, tt.story).journal
			after := rollout.Apply(s, &rollout.Event{Kind: rollout.Planned, Seq: s.Version + 1, At: s.Since.Add(period), Plan: tt.plan, By: "eve"})
			if tt.stored {
				if after.Plan != other || after.PlanHash != other.Hash() || after.PlanVersion != s.PlanVersion+1 || after.Planner != "eve" || after.Attempt != s.Attempt {
					t.Errorf("not stored: %+v", after)
				}
				return
			}
			after.Version = s.Version
			if diff := cmp.Diff(s, after); diff != "" {
				t.Errorf("it changed:\n%s", diff)
			}
		})
	}
}

func TestWhatIsToBeProvenAnewHasNoEvidence(t *testing.T) {
	for name, tt := range map[string]struct {
		story string
		kind  rollout.Kind
	}{
		"a resume":                 {approved + "hold ann", rollout.Resumed},
		"a lowering":               {approved, rollout.Lowered},
		"an adoption":              {approved, rollout.Adopted},
		"a raise taken back":       {approved + "delay the write\nlook", rollout.TakenBack},
		"a raise taken back, held": {approved + "delay the write\nlook\nhold ann", rollout.TakenBack},
	} {
		t.Run(name, func(t *testing.T) {
			s := played(t, tt.story).journal
			e := rollout.Event{Kind: tt.kind, Seq: s.Version + 1, At: s.Since, Lane: "reads", To: 5, Holds: []rollout.HoldKind{rollout.HoldPerson}}
			if after := rollout.Apply(s, &e); s.Evidence == "" || s.Settled.IsZero() || after.Evidence != "" || !after.Settled.IsZero() || after.Approvals != nil {
				t.Errorf("evidence %q, settled %v, approvals %v", after.Evidence, after.Settled, after.Approvals)
			}
		})
	}
	s := played(t, "climb to reads 10%").journal
	if s = rollout.Apply(s, &rollout.Event{Kind: rollout.Rebaked, Seq: s.Version + 1, At: s.Since}); !s.Settled.IsZero() || s.Phase != rollout.Advancing {
		t.Errorf("rebaked: %s, settled %v", s.Phase, s.Settled)
	}
}

func TestAPhaseBeginsOnce(t *testing.T) {
	p := played(t, "climb to reads 10%\nhold ann\npass 5m")
	since := p.journal.Since
	if p.tell("hold-all ben"); !p.journal.Since.Equal(since) {
		t.Errorf("held since %v, and with a second hold since %v", since, p.journal.Since)
	}
}

func TestAPreflightLeavesItsReportAndWhereFlagsAre(t *testing.T) {
	s := played(t, "plan ann\nstart ann").journal
	s.Lanes = []rollout.Lane{{Name: "reads", Seq: 3}, {Name: "writes", Seq: 3}}
	at := []rollout.LaneShare{{Lane: "reads", Revision: "8", Stamp: 9}, {Lane: "writes", Revision: "2", Stamp: 1}, {Lane: "none"}}
	for result, phase := range map[string]rollout.Phase{rollout.CheckFail: rollout.Draft, rollout.CheckWarn: rollout.Ready} {
		report := &rollout.Report{Checks: []rollout.Check{{Name: "flags", Result: result}}, Hash: "h"}
		after := rollout.Apply(s, &rollout.Event{Kind: rollout.Checked, Seq: s.Version + 1, At: s.Since, Report: report, Evidence: "h", Targets: at})
		if after.Phase != phase || after.Report != report {
			t.Errorf("after %s it is %s, with the report %+v", result, after.Phase, after.Report)
		}
		if want := []rollout.Lane{{Name: "reads", Seq: 9, Revision: "8"}, {Name: "writes", Seq: 3, Revision: "2"}}; phase == rollout.Ready && !cmp.Equal(want, after.Lanes) {
			t.Errorf("flags (-want +got):\n%s", cmp.Diff(want, after.Lanes))
		}
	}
}

func TestNothingHappensBeforeThereIsAPlan(t *testing.T) {
	for _, kind := range eventKinds {
		after := rollout.Apply(rollout.State{}, &rollout.Event{Kind: kind, Seq: 7, Lane: "reads", To: 5})
		if diff := cmp.Diff(rollout.State{Version: 7}, after); diff != "" {
			t.Errorf("%s makes of nothing:\n%s", kind, diff)
		}
	}
}

func TestReadingBackOnTheWayDown(t *testing.T) {
	s := played(t, "climb to reads 50%\nrollback ann reads:20").journal
	later := s.Changed.Add(5 * period)
	for name, tt := range map[string]struct{ read, want flags.Share }{"at its target": {20, 20}, "below it": {5, 5}} {
		after := rollout.Apply(s, &rollout.Event{Kind: rollout.Confirmed, Seq: s.Version + 1, At: later, Lane: "reads", To: tt.read, Revision: "r", Stamp: 99})
		want := rollout.Lane{Name: "reads", Intended: tt.want, Confirmed: tt.want, Target: tt.want, Revision: "r", Seq: 99}
		if diff := cmp.Diff(want, after.Lanes[reads]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !after.Changed.Equal(s.Changed) || after.Phase != rollout.RollingBack {
			t.Errorf("%s: %s, and its time begins anew at %v", name, after.Phase, after.Changed)
		}
	}
}

func TestARaiseTakenBackIsRemembered(t *testing.T) {
	s := played(t, approved+"delay the write\nlook").journal
	e := rollout.Event{Kind: rollout.TakenBack, Seq: s.Version + 1, At: s.Since, Lane: "reads", Revision: "r", Stamp: 99}
	want := rollout.Lane{Name: "reads", Intended: 10, Confirmed: 10, Revision: "r", Seq: 99, Returned: 50}
	if after := rollout.Apply(s, &e); !cmp.Equal(want, after.Lanes[reads]) || after.Pending != nil || after.Phase != rollout.Advancing {
		t.Errorf("%s, pending %v (-want +got):\n%s", after.Phase, after.Pending, cmp.Diff(want, after.Lanes[reads]))
	}
}

func TestAHoldHoldsWhereSomethingGoesOn(t *testing.T) {
	held := []rollout.Phase{rollout.Ready, rollout.Advancing, rollout.Baking, rollout.Waiting, rollout.Held, rollout.Soaking}
	for name, s := range phases(t) {
		e := rollout.Event{Kind: rollout.HeldOn, Seq: s.Version + 1, At: s.Since, Hold: &rollout.Hold{Kind: rollout.HoldData}}
		want := s.Phase
		if slices.Contains(held, s.Phase) {
			want = rollout.Held
		}
		if after := rollout.Apply(s, &e); after.Phase != want {
			t.Errorf("%s becomes %s", name, after.Phase)
		}
	}
	if s := played(t, "climb to ready\nhold ann\nresume ann").journal; s.Evidence != "preflight" {
		t.Errorf("held and resumed at 0%%, a first approval would be bound to %q", s.Evidence)
	}
}

func TestALateEventBringsNothingBack(t *testing.T) {
	over := []rollout.Phase{rollout.Draft, rollout.Preflight, rollout.RolledBack, rollout.Completed, rollout.Withdrawn}
	for name, s := range phases(t) {
		e := rollout.Event{Kind: rollout.Late, Seq: s.Version + 1, Base: s.Version, At: s.Since, Hold: &rollout.Hold{Kind: rollout.HoldGate}}
		e.Targets = []rollout.LaneShare{{Lane: "reads", Stamp: 99}, {Lane: "no such lane", Stamp: 99}}
		after := rollout.Apply(s, &e)
		if !slices.Contains(over, s.Phase) {
			if !after.Phase.Lowering() {
				t.Errorf("%s becomes %s", name, after.Phase)
			}
			continue
		}
		after.Version = s.Version
		if diff := cmp.Diff(s, after); diff != "" {
			t.Errorf("%s changes:\n%s", name, diff)
		}
	}
}
