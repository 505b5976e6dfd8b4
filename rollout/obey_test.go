package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// phases are stories that end in each phase, and in its variants that people can tell apart.
func phases(t *testing.T) map[string]rollout.State {
	t.Helper()
	stories := map[string]string{
		"draft":           "plan ann",
		"preflight":       "plan ann\nstart ann",
		"ready":           "climb to ready",
		"advancing":       "climb to ready\npass 1m\nlook",
		"baking":          "climb to reads 10%",
		"waiting":         "climb to reads 10%\npass 10m\nlook",
		"waiting, go":     "climb to reads 50%\npass 30m\nlook",
		"held":            "climb to reads 10%\nhold ann because of lunch",
		"held, by itself": "climb to reads 10%\nstore away\nlook",
		"held, for all":   "climb to reads 10%\nhold-all ann",
		"held at 0":       "climb to ready\nhold ann",
		"held, by drift":  "climb to ready\nflag reads 5%\nlook",
		"held, in flight": approved + "delay the write\nlook\nhold ann",
		"rolling_back":    "climb to reads 10%\nrollback ann",
		"rolled_back":     "climb to reads 10%\nrollback ann\nlook\npass 1m\nlook",
		"stuck":           "climb to reads 10%\ntasks stay\nrollback ann\nlook\npass 11m\nlook",
		"soaking":         "climb to soaking",
		"soaked":          "climb to soaking\npass 2h\nlook",
		"completed":       "climb to soaking\npass 2h\nlook\napprove ben\ncomplete ann",
		"withdrawn":       "plan ann\nwithdraw ann",
	}
	states := make(map[string]rollout.State, len(stories))
	for name, story := range stories {
		states[name] = played(t, story).journal
		if phase, _, _ := strings.Cut(name, ","); string(states[name].Phase) != strings.TrimSuffix(strings.Replace(phase, "soaked", "soaking", 1), " at 0") {
			t.Fatalf("the story of %s ends in %s", name, states[name].Phase)
		}
	}
	return states
}

// TestObey holds each verb against each phase: where it is obeyed, and what a
// refusal tells elsewhere.
func TestObey(t *testing.T) {
	const always = "always"
	tests := []struct {
		verb     rollout.Verb
		kind     rollout.Kind
		obeyed   []string
		refusals map[string]string // by phase; "" is everywhere else
	}{
		{rollout.Start, rollout.Started, []string{"draft"}, map[string]string{
			"rolled_back": "retry makes a new attempt", "": "started already: it is",
		}},
		{rollout.Retry, rollout.Retried, []string{"rolled_back"}, map[string]string{
			"": "only a rollout that is rolled back can be retried",
		}},
		{rollout.Advance, rollout.Advanced, []string{"waiting, go"}, map[string]string{
			"draft": "start it first", "preflight": "the preflight has to pass first",
			"ready":     "needs no go; it goes on by itself once this is there: status names what it waits for",
			"waiting":   "needs no go; it goes on by itself once this is there: approval reads: 0 of 2 approvals for 50%",
			"advancing": "its tasks have to follow the flags first", "baking": "its bake has to end first",
			"held": "hold person by ann: of lunch", "held, by itself": "hold flag_unknown by controller", "held, for all": "hold hold_all by ann",
			"held at 0": "hold person by ann", "held, in flight": "hold person by ann", "held, by drift": "raised by dana",
			"rolling_back": "hold person by ann", "stuck": "hold person by ann", "rolled_back": "retry makes a new attempt",
			"soaking": "its soak has to end first", "soaked": "status names what it waits for",
			"completed": "it is over", "withdrawn": "it is over",
		}},
		{rollout.Approve, rollout.Approved, []string{"waiting", "soaked"}, map[string]string{
			"ready": "the step of reads to 10% needs no approval", "waiting, go": "the step of reads to 100% needs no approval; go reads",
			"baking": "nothing to approve: orders is baking at reads 10%, writes 0%; its bake has to end first",
			"held":   "nothing to approve: orders is held at reads 10%, writes 0%; hold person by ann: of lunch",
			"":       "there is nothing to approve: orders is",
		}},
		{rollout.HoldIt, rollout.HeldOn, []string{"preflight", "ready", "advancing", "baking", "waiting", "waiting, go", "held, by itself", "held, by drift", "held, for all", "soaking", "soaked"}, map[string]string{
			"held": "held already: hold person by ann: of lunch", "held at 0": "held already", "held, in flight": "held already",
			"rolling_back": "a hold would keep shares up, and nothing rises until it is proven", "stuck": "a hold would keep shares up",
			"": "there is nothing to hold: orders is",
		}},
		{rollout.HoldForAll, rollout.HeldOn, []string{
			"preflight", "ready", "advancing", "baking", "waiting", "waiting, go", "held", "held, by itself", "held, by drift", "held at 0", "held, in flight", "soaking", "soaked",
		}, map[string]string{
			"held, for all": "held already: hold hold_all by ann",
			"rolling_back":  "a hold would keep shares up", "stuck": "a hold would keep shares up", "": "there is nothing to hold: orders is",
		}},
		{rollout.Resume, rollout.Resumed, []string{"held", "held, by drift", "held at 0"}, map[string]string{
			"held, by itself": "goes on by itself once the cause is gone: hold flag_unknown by controller",
			"held, for all":   "held by hold-all; only release-all ends that",
			"held, in flight": "the raise of reads to 50% is being taken back; resume again in a few seconds",
			"":                "is not held: it is",
		}},
		{rollout.ReleaseAll, rollout.Released, []string{"held, for all"}, map[string]string{"": "orders is not held by hold-all"}},
		{rollout.Rollback, rollout.Lowered, []string{
			"ready", "advancing", "baking", "waiting", "waiting, go", "held", "held, by itself", "held, by drift", "held, for all", "held at 0", "held, in flight",
			"rolling_back", "stuck", "soaking", "soaked",
		}, map[string]string{
			"completed": "the way back is a rollout of its own", "withdrawn": "the way back is a rollout of its own", "": "no task uses the target",
		}},
		{rollout.Withdraw, rollout.GivenUp, []string{"draft", "preflight", "ready", "held at 0", "rolled_back"}, map[string]string{
			"completed": "is completed already", "withdrawn": "is withdrawn already",
			"held, by drift": "is held by drift: another hand wrote a flag; roll it back first", "": "roll it back first, then withdraw it at 0%",
		}},
		{rollout.Complete, rollout.Done, nil, map[string]string{
			"soaking": "the soak is not over: its soak has to end first", "soaked": "an approver must approve the completion first",
			"": "only a rollout that is soaking can be completed; orders is",
		}},
		{rollout.Acknowledge, rollout.Acknowledged, []string{"stuck"}, map[string]string{"": "there is nothing to acknowledge: orders is"}},
		{rollout.Note, rollout.Noted, []string{always}, nil},
	}
	states := phases(t)
	for _, tt := range tests {
		for name, s := range states {
			t.Run(string(tt.verb)+" in "+name, func(t *testing.T) {
				c := rollout.Command{Verb: tt.verb, By: "eve", Surface: "cli", Request: "r1"}
				if tt.verb == rollout.Note {
					c.Reason = "seen"
				}
				e, err := rollout.Obey(&s, &c, s.Since.Add(time.Minute))
				if slices.Contains(tt.obeyed, name) || slices.Contains(tt.obeyed, always) {
					if err != nil || e.Kind != tt.kind || e.By != "eve" || e.Surface != "cli" || e.Request != "r1" || e.Seq != s.Version+1 {
						t.Errorf("not obeyed as it should be: %+v, %v", e, err)
					}
					return
				}
				said, ok := tt.refusals[name]
				if !ok {
					said = tt.refusals[""]
				}
				if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(fmt.Sprint(err), said) || said == "" {
					t.Errorf("refused with %q, which should say %q", err, said)
				}
			})
		}
	}
}

func TestObeyKnowsItsVerbs(t *testing.T) {
	s := played(t, "plan ann").journal
	_, err := rollout.Obey(&s, &rollout.Command{Verb: "pause", By: "eve"}, s.Since)
	const want = `there is no command "pause"; there are accept, acknowledge, adopt, advance, approve, complete, handover, hold, hold-all, note, reject, release-all, resume, retry, rollback, start, withdraw`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err = rollout.Obey(&s, &rollout.Command{Verb: rollout.Note, By: "eve"}, s.Since); err == nil || err.Error() != "a note needs a text" {
		t.Errorf("a note without a text: %v", err)
	}
}

func TestACommandForAnotherRevisionIsAConflict(t *testing.T) {
	s := played(t, "climb to reads 10%").journal
	for name, tt := range map[string]struct {
		expect   uint64
		conflict bool
	}{
		"any will do":        {0, false},
		"the present one":    {s.Version, false},
		"one that is past":   {s.Version - 1, true},
		"one that is to be":  {s.Version + 1, true},
		"the first of them ": {1, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := rollout.Command{Verb: rollout.HoldIt, By: "eve", Expect: tt.expect}
			_, err := rollout.Obey(&s, &c, s.Since)
			if errors.Is(err, rollout.ErrConflict) != tt.conflict || (err != nil) != tt.conflict {
				t.Errorf("expecting %d at %d: %v", tt.expect, s.Version, err)
			}
			if tt.conflict && !strings.Contains(err.Error(), fmt.Sprintf("you looked at revision %d, now it is %d: baking at reads 10%%, writes 0%%", tt.expect, s.Version)) {
				t.Errorf("the conflict does not say where it is now: %v", err)
			}
		})
	}
}

// TestRollbackTargets says where a rollback takes the lanes from reads 100 %, writes 50 %.
func TestRollbackTargets(t *testing.T) {
	baking := played(t, "climb to writes 50%")
	lowering := played(t, "climb to writes 50%\nrollback ann writes:10")
	raising := played(t, "climb to writes 10%\npass 10m\nlook\napprove ben\napprove cat\ndelay the write\nlook")
	at := func(lane string, share flags.Share) rollout.LaneShare {
		return rollout.LaneShare{Lane: lane, Share: share}
	}
	tests := []struct {
		name   string
		from   *play
		to     []rollout.LaneShare
		reads  flags.Share
		writes flags.Share
		says   string // of a refusal
	}{
		{"all lanes to 0", baking, nil, 0, 0, ""},
		{"writes to 0, reads stay", baking, []rollout.LaneShare{at("writes", 0)}, 100, 0, ""},
		{"writes to a lower share", baking, []rollout.LaneShare{at("writes", 10)}, 100, 10, ""},
		{"writes between two stages", baking, []rollout.LaneShare{at("writes", 33)}, 100, 33, ""},
		{"writes where they are", baking, []rollout.LaneShare{at("writes", 50)}, 100, 50, ""},
		{"reads above the writes", baking, []rollout.LaneShare{at("reads", 60)}, 60, 50, ""},
		{"reads below the writes take them along", baking, []rollout.LaneShare{at("reads", 25)}, 25, 25, ""},
		{"reads to 0 take the writes along", baking, []rollout.LaneShare{at("reads", 0)}, 0, 0, ""},
		{"both, writes above reads", baking, []rollout.LaneShare{at("reads", 10), at("writes", 40)}, 10, 10, ""},
		{"both, in the other order", baking, []rollout.LaneShare{at("writes", 5), at("reads", 10)}, 10, 5, ""},
		{"on the way down, further", lowering, []rollout.LaneShare{at("reads", 50)}, 50, 10, ""},
		{"on the way down, not up again", lowering, []rollout.LaneShare{at("writes", 10)}, 100, 10, ""},
		{"with a raise on its way, which counts for nothing", raising, []rollout.LaneShare{at("reads", 70)}, 70, 10, ""},
		{"with a raise on its way, to where that would have gone", raising, []rollout.LaneShare{at("writes", 50)}, 100, 10, ""},
		{"a raise", baking, []rollout.LaneShare{at("writes", 51)}, 0, 0, "lane writes is at 50%; a rollback only lowers, it does not go to 51%"},
		{"a raise on the way down", lowering, []rollout.LaneShare{at("writes", 50)}, 0, 0, "lane writes is at 10%; a rollback only lowers"},
		{"a lane that is not there", baking, []rollout.LaneShare{at("write", 0)}, 0, 0, `there is no lane "write"; there are reads, writes`},
		{"one good, one bad", baking, []rollout.LaneShare{at("writes", 0), at("x", 0)}, 0, 0, `there is no lane "x"`},
		{"below 0", baking, []rollout.LaneShare{at("writes", -1)}, 0, 0, "share -1 of lane writes: must be from 0% to 100%"},
		{"above 100", baking, []rollout.LaneShare{at("writes", 101)}, 0, 0, "share 101 of lane writes: must be from 0% to 100%"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.from.journal
			e, err := rollout.Obey(&s, &rollout.Command{Verb: rollout.Rollback, By: "eve", To: tt.to}, tt.from.now)
			if tt.says != "" {
				if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("refused with %q, which should say %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			after := rollout.Apply(s, &e)
			got := []rollout.LaneShare{at("reads", after.Lanes[reads].Target), at("writes", after.Lanes[writes].Target)}
			if diff := cmp.Diff([]rollout.LaneShare{at("reads", tt.reads), at("writes", tt.writes)}, got); diff != "" || after.Phase != rollout.RollingBack {
				t.Errorf("%s (-want +got):\n%s", after.Phase, diff)
			}
			if last := after.Holds[len(after.Holds)-1]; last.Kind != rollout.HoldPerson {
				t.Errorf("what stays is the hold %+v", last)
			}
		})
	}
}

// TestApprovalsAreBound says what an approval is bound to, and how it ends.
func TestApprovalsAreBound(t *testing.T) {
	p := played(t, "climb to reads 10%\npass 10m\nlook")
	s := p.journal
	e, err := rollout.Obey(&s, &rollout.Command{Verb: rollout.Approve, By: "ben"}, p.now)
	want := &rollout.Approval{
		Lane: "reads", From: 10, To: 50, Plan: s.PlanHash, Evidence: s.Evidence, By: "ben", At: p.now, Expires: p.now.Add(24 * time.Hour),
	}
	if diff := cmp.Diff(want, e.Approval); diff != "" || err != nil || s.Evidence == "" {
		t.Fatalf("(-want +got):\n%s %v, evidence %q", diff, err, s.Evidence)
	}
	s = rollout.Apply(s, &e)
	for name, tt := range map[string]struct {
		by    string
		after time.Duration
		says  string
	}{
		"the same person again":               {"ben", time.Hour, "ben has approved this step already; one person counts once"},
		"the same person, a moment before":    {"ben", 24*time.Hour - 1, "one person counts once"},
		"the same person, once it is expired": {"ben", 24 * time.Hour, ""},
		"another person":                      {"cat", time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rollout.Obey(&s, &rollout.Command{Verb: rollout.Approve, By: tt.by}, p.now.Add(tt.after))
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, story := range map[string]string{
		"a hold":                         "hold ann",
		"a lowering":                     "rollback ann reads:5",
		"a change of share":              "flag reads 9%\nlook",
		"a gate that leaves pass":        "gate benefit bad\nlook",
		"a gate without data":            "gate headroom silent\nlook",
		"drift":                          "flag reads 11%\nlook",
		"the step that it was given for": "approve cat\nlook",
		"the record of that step":        "approve cat\ncrash after the record\nlook",
	} {
		t.Run("it ends with "+name, func(t *testing.T) {
			if p := played(t, "climb to reads 10%\npass 10m\nlook\napprove ben\n"+story); len(p.journal.Approvals) > 0 {
				t.Errorf("still given: %+v", p.journal.Approvals)
			}
		})
	}
}

func TestCompletionNeedsAnApprovalThatIsAlive(t *testing.T) {
	p := played(t, "climb to soaking\npass 2h\nlook\napprove ben")
	for name, after := range map[string]time.Duration{"at once": 0, "a moment before it expires": 24*time.Hour - 1} {
		if _, err := rollout.Obey(&p.journal, &rollout.Command{Verb: rollout.Complete, By: "ann"}, p.now.Add(after)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := rollout.Obey(&p.journal, &rollout.Command{Verb: rollout.Complete, By: "ann"}, p.now.Add(24*time.Hour))
	if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), "an approver must approve the completion first") {
		t.Errorf("once it is expired: %v", err)
	}
}

func TestAPersonEndsOnlyWhatAPersonMayEnd(t *testing.T) {
	kinds := []rollout.HoldKind{
		rollout.HoldPerson, rollout.HoldDrift, rollout.HoldGate, rollout.HoldData, rollout.HoldNotConverged, rollout.HoldFlagUnknown, rollout.HoldAll,
	}
	s := played(t, "climb to reads 10%\nhold ann").journal
	s.Holds = nil
	for _, kind := range kinds {
		s.Holds = append(s.Holds, rollout.Hold{Kind: kind, Owner: "x", Why: "y"})
	}
	resume, err := rollout.Obey(&s, &rollout.Command{Verb: rollout.Resume, By: "eve"}, s.Since)
	if diff := cmp.Diff(kinds[:3], resume.Holds); diff != "" || err != nil {
		t.Errorf("resume (-want +got):\n%s %v", diff, err)
	}
	release, err := rollout.Obey(&s, &rollout.Command{Verb: rollout.ReleaseAll, By: "eve"}, s.Since)
	if diff := cmp.Diff(kinds[6:], release.Holds); diff != "" || err != nil {
		t.Errorf("release-all (-want +got):\n%s %v", diff, err)
	}
	if after := rollout.Apply(rollout.Apply(s, &resume), &release); after.Phase != rollout.Held || len(after.Holds) != 3 {
		t.Errorf("then it is %s with %+v", after.Phase, after.Holds)
	}
}
