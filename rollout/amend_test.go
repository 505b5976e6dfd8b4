package rollout_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// edits are changes of a story's plan, by the word that a story has for them.
var edits = map[string]func(*rollout.Plan){
	"owner":          func(p *rollout.Plan) { p.Owner = "team-b" },
	"database":       func(p *rollout.Plan) { p.Database.Name = "users" },
	"flag-key":       func(p *rollout.Plan) { p.Lanes[0].Flag.Name = "another" },
	"longer-bake":    func(p *rollout.Plan) { readsStage(p, 10).Bake = time.Hour },
	"shorter-bake":   func(p *rollout.Plan) { readsStage(p, 50).Bake = time.Minute },
	"three-approve":  func(p *rollout.Plan) { readsStage(p, 50).Approvals = 3 },
	"nobody-approve": func(p *rollout.Plan) { readsStage(p, 50).Approvals = 0 },
	"stage-5%":       func(p *rollout.Plan) { addStage(p, 5) },
	"stage-25%":      func(p *rollout.Plan) { addStage(p, 25) },
	"no-stage-50%": func(p *rollout.Plan) {
		p.Lanes[0].Stages = slices.DeleteFunc(p.Lanes[0].Stages, func(s rollout.Stage) bool { return s.Share == 50 })
	},
	"no-benefit":     func(p *rollout.Plan) { p.Gates = p.Gates[:3] },
	"no-headroom":    func(p *rollout.Plan) { p.Gates = slices.Delete(p.Gates, 2, 3) },
	"headroom-holds": func(p *rollout.Plan) { p.Gates[2].OnBreach = gates.OnBreachHold },
	"soak-for-1h":    func(p *rollout.Plan) { p.Soak.For = time.Hour },
}

func readsStage(p *rollout.Plan, share flags.Share) *rollout.Stage {
	i := slices.IndexFunc(p.Lanes[0].Stages, func(s rollout.Stage) bool { return s.Share == share })
	return &p.Lanes[0].Stages[i]
}

// addStage divides a step; what is asked of people for it is asked for both parts.
func addStage(p *rollout.Plan, share flags.Share) {
	i := slices.IndexFunc(p.Lanes[0].Stages, func(s rollout.Stage) bool { return s.Share > share })
	whole := p.Lanes[0].Stages[i]
	p.Lanes[0].Stages = slices.Insert(p.Lanes[0].Stages, i, rollout.Stage{
		Share: share, Bake: 20 * time.Minute, MinTasks: 1, Approvals: whole.Approvals, Manual: whole.Manual,
	})
}

// edited is a plan of its own with some changes.
func edited(p *rollout.Plan, changes ...string) *rollout.Plan {
	next := *p
	next.Lanes, next.Gates = slices.Clone(p.Lanes), slices.Clone(p.Gates)
	for i := range next.Lanes {
		next.Lanes[i].Stages = slices.Clone(next.Lanes[i].Stages)
	}
	for _, change := range changes {
		edits[change](&next)
	}
	return &next
}

// amend plays an amendment such as "amend ann longer-bake because it is new".
func (p *play) amend(words []string, why string) bool {
	if words[0] != "amend" {
		return false
	}
	for _, change := range words[2:] {
		if edits[change] == nil {
			p.t.Fatalf("an amendment of %q", change)
		}
	}
	p.catchUp(&p.leader)
	s := &p.leader.state
	next := edited(s.Plan, words[2:]...)
	for _, d := range s.Changes(next) {
		p.say("(%s: %s)", d.Sense, d)
	}
	c := rollout.Command{Verb: rollout.Amending, By: words[1], Surface: "cli", Reason: why}
	e, err := rollout.Amend(s, next, &c, rollout.Breached(p.see(s).Verdicts), p.now)
	var refusal rollout.Refusal
	switch {
	case errors.As(err, &refusal):
		p.say("refused: %s", refusal)
	case err != nil:
		p.t.Fatal(err)
	default:
		p.keep(&p.leader, &e, true)
	}
	return true
}

func TestAnAmendmentIsRefusedWhereItHasNoPlace(t *testing.T) {
	want := map[string]string{
		"draft": "is a draft; store its plan anew instead", "completed": "its plan stays as it is", "withdrawn": "its plan stays as it is",
		"rolled_back": "retry it and hold it first", "": "a plan is amended while it is held; orders is",
	}
	for name, s := range phases(t) {
		c := rollout.Command{Verb: rollout.Amending, By: "ann", Reason: "why"}
		e, err := rollout.Amend(&s, edited(s.Plan, "longer-bake"), &c, nil, s.Since)
		if s.Phase == rollout.Held {
			if err != nil || e.Kind != rollout.Amended {
				t.Errorf("%s: %v, %v", name, e.Kind, err)
			}
			continue
		}
		text, ok := want[name]
		if !ok {
			text = want[""]
		}
		if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v; want %q", name, err, text)
		}
	}
}

func TestEachFixedFieldIsRefusedByItsName(t *testing.T) {
	rows := map[string]func(*rollout.Plan){
		"rollout":                     func(p *rollout.Plan) { p.Name = "users" },
		"kind":                        func(p *rollout.Plan) { p.Kind = rollout.MovingData },
		"database.name":               func(p *rollout.Plan) { p.Database.Name = "users" },
		"database.engine":             func(p *rollout.Plan) { p.Database.Engine = "mysql" },
		"database.max_connections":    func(p *rollout.Plan) { p.Database.MaxConnections = 7 },
		"database.region":             func(p *rollout.Plan) { p.Database.Region = "eu-west-1" },
		"database.account":            func(p *rollout.Plan) { p.Database.Account = "123456789012" },
		"source.host":                 func(p *rollout.Plan) { p.Source.Host = "h" },
		"source.port":                 func(p *rollout.Plan) { p.Source.Port = 1 },
		"source.kind":                 func(p *rollout.Plan) { p.Source.Kind = "cluster" },
		"target.host":                 func(p *rollout.Plan) { p.Target.Host = "h" },
		"target.port":                 func(p *rollout.Plan) { p.Target.Port = 1 },
		"target.kind":                 func(p *rollout.Plan) { p.Target.Kind = "cluster" },
		"lanes":                       func(p *rollout.Plan) { slices.Reverse(p.Lanes) },
		"lanes[writes]":               func(p *rollout.Plan) { p.Lanes = p.Lanes[:1] },
		"lanes[r2]":                   func(p *rollout.Plan) { p.Lanes[0].Name = "r2" },
		"lanes[reads].class":          func(p *rollout.Plan) { p.Lanes[0].Class = rollout.Writes },
		"lanes[reads].services":       func(p *rollout.Plan) { p.Lanes[0].Services = []string{"cart"} },
		"lanes[reads].flag.key":       func(p *rollout.Plan) { p.Lanes[0].Flag.Name = "k" },
		"lanes[reads].flag.namespace": func(p *rollout.Plan) { p.Lanes[0].Flag.Namespace = "n" },
	}
	s := phases(t)["held"]
	for field, edit := range rows {
		next := edited(s.Plan, "longer-bake")
		edit(next)
		c := rollout.Command{Verb: rollout.Amending, By: "ann", Reason: "why"}
		_, err := rollout.Amend(&s, next, &c, nil, s.Since)
		if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), field+" ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAnAmendmentOfAnOlderRevisionIsAConflict(t *testing.T) {
	s := phases(t)["held"]
	c := rollout.Command{Verb: rollout.Amending, By: "ann", Expect: s.Version - 1}
	if _, err := rollout.Amend(&s, edited(s.Plan, "owner"), &c, nil, s.Since); !errors.Is(err, rollout.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestAGateInBreachIsNotLoosened(t *testing.T) {
	s := phases(t)["held"]
	reason := rollout.Command{Verb: rollout.Amending, By: "ann", Reason: "why"}
	rows := []struct {
		edit     string
		breached []string
		refused  bool
	}{
		{"no-headroom", []string{"headroom"}, true},
		{"headroom-holds", []string{"benefit", "headroom"}, true},
		{"headroom-holds", []string{"benefit"}, false},
		{"shorter-bake", []string{"headroom"}, false},
		{"longer-bake", []string{"headroom"}, false},
	}
	for _, row := range rows {
		_, err := rollout.Amend(&s, edited(s.Plan, row.edit), &reason, row.breached, s.Since)
		if refused := errors.As(err, new(rollout.Refusal)); refused != row.refused || err != nil && !strings.Contains(err.Error(), "gate headroom is in breach") {
			t.Errorf("%s while %v are in breach: %v", row.edit, row.breached, err)
		}
	}
}

func TestWhatHasRecoveredIsInBreachNoLonger(t *testing.T) {
	verdicts := []gates.Verdict{{Gate: "a", Breach: true}, {Gate: "b", Breach: true, Recovered: true}, {Gate: "c", Recovered: true}, {Gate: "d"}}
	if got := rollout.Breached(verdicts); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %v", got)
	}
}

// TestAnAmendmentMovesNothing amends whatever state comes, in random ways.
func TestAnAmendmentMovesNothing(t *testing.T) {
	amended, proposed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		program := tape(rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "program"))
		s, now := program.state(storyPlan(), program.next(40))
		if rapid.Bool().Draw(t, "held") {
			s = rollout.Apply(s, &rollout.Event{Seq: s.Version + 1, Kind: rollout.HeldOn, At: now, Hold: &rollout.Hold{Kind: rollout.HoldPerson}})
		}
		next := edited(s.Plan, rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"longer-bake", "three-approve", "owner", "soak-for-1h", "no-headroom", "database"}), 1, 3, rapid.ID[string]).Draw(t, "edits")...)
		c := rollout.Command{Verb: rollout.Amending, By: "ann", Reason: rapid.SampledFrom([]string{"", "why"}).Draw(t, "reason")}
		e, err := rollout.Amend(&s, next, &c, nil, now)
		if err != nil {
			return
		}
		after := rollout.Apply(s, &e)
		nothingMoved(t, &s, &after)
		if len(e.Loosens) == 0 {
			amended++
			anew(t, &after, next)
			return
		}
		proposed++
		if after.Plan != s.Plan || after.PlanHash != s.PlanHash || after.PlanVersion != s.PlanVersion {
			t.Fatalf("one person alone has loosened the plan: %v", e.Loosens)
		}
		if _, err := rollout.Obey(&after, &rollout.Command{Verb: rollout.Approve, By: "ann", Expect: after.Version}, now); err == nil {
			t.Fatal("who has proposed it may approve it, too")
		}
		yes, err := rollout.Obey(&after, &rollout.Command{Verb: rollout.Approve, By: "ben", Expect: after.Version}, now)
		if err != nil {
			t.Fatalf("a second person may not approve it: %v", err)
		}
		agreed := rollout.Apply(after, &yes)
		nothingMoved(t, &s, &agreed)
		anew(t, &agreed, next)
		no, err := rollout.Obey(&after, &rollout.Command{Verb: rollout.Reject, By: "ann", Reason: "a slip", Expect: after.Version}, now)
		if dropped := rollout.Apply(after, &no); err != nil || dropped.Proposal != nil || dropped.Plan != s.Plan {
			t.Fatalf("a rejected proposal leaves something behind: %v", err)
		}
	})
	if amended == 0 || proposed == 0 {
		t.Errorf("%d plans were amended, %d amendments proposed: nothing was shown", amended, proposed)
	}
}

// nothingMoved holds that no share, nor anything that makes one rise, has changed.
func nothingMoved(t *rapid.T, before, after *rollout.State) {
	t.Helper()
	if !reflect.DeepEqual(before.Holds, after.Holds) || after.Phase != rollout.Held || !reflect.DeepEqual(before.Pending, after.Pending) {
		t.Fatalf("it is %s with %v and %v, and was held with %v and %v", after.Phase, after.Holds, after.Pending, before.Holds, before.Pending)
	}
	for i := range before.Lanes {
		a, b := before.Lanes[i], after.Lanes[i]
		if a.Baked, b.Baked = false, false; a != b {
			t.Fatalf("a lane was %+v and is %+v", a, b)
		}
	}
}

// anew holds that a plan is the present one, and everything has to be shown again.
func anew(t *rapid.T, s *rollout.State, p *rollout.Plan) {
	t.Helper()
	if s.Plan != p || s.PlanHash != p.Hash() || s.Proposal != nil {
		t.Fatal("the plan is another one")
	}
	if len(s.Approvals) > 0 || s.Go || !s.Settled.IsZero() || s.Soaked || s.Evidence != "" {
		t.Fatalf("something given or proven for the former plan is left: %+v", s)
	}
}
