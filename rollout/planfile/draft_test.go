package planfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestADraftOfNothingIsAnExampleThatIsValid(t *testing.T) {
	text, err := Draft(&rollout.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("draft.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled(t).check(text); err != nil {
		t.Errorf("the schema refuses it: %v", err)
	}
	if p.Name != "orders-db" || len(p.Lanes) != 2 || len(p.Gates) != 2 {
		t.Errorf("it is %+v", p)
	}
	const examples = "# These are examples, to be replaced: rollout, owner, database, source, target, services.\n"
	if !strings.Contains(string(text), examples) {
		t.Errorf("it does not say what to change:\n%s", text)
	}
}

func TestWhatADraftHasInCommentsIsValid(t *testing.T) {
	text, err := Draft(&rollout.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	whole = strings.Replace(whole, "\ndatabase: {", "\n# was: {", 1)
	for _, comment := range []string{"# reason: ", "# database: {", "# hourly-burst: "} {
		whole = strings.Replace(whole, comment, strings.TrimPrefix(comment, "# "), 1)
	}
	before, gate, found := strings.Cut(whole, "  # - name: borrow-wait")
	if !found {
		t.Fatalf("there is no gate of CloudWatch:\n%s", whole)
	}
	gate = "  - name: borrow-wait" + strings.ReplaceAll(gate, "\n  #   ", "\n    ")
	p, err := Parse("draft.yaml", []byte(before+gate))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Gates) != 3 || len(p.Windows) != 2 || p.Reason == "" || p.Database.Account == "" {
		t.Errorf("something is still a comment: %+v", p)
	}
}

func TestADraftHasWhatIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawPlan(t)
		known := &rollout.Plan{Name: drawn.Name[:min(len(drawn.Name), 20)], Owner: drawn.Owner, Database: drawn.Database, Source: drawn.Source, Target: drawn.Target}
		known.Name = strings.Trim(known.Name, "-")
		known.Database = rollout.Database{Name: drawn.Database.Name, Engine: drawn.Database.Engine}
		known.Source.Settings, known.Target.Settings = nil, nil
		for _, s := range drawn.Services {
			known.Services = append(known.Services, rollout.Service{Name: s.Name, Tasks: s.Tasks, PoolMax: s.PoolMax})
		}
		text, err := Draft(known)
		if err != nil {
			t.Fatalf("%v", err)
		}
		p, err := Parse("draft.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		got := &rollout.Plan{Name: p.Name, Owner: p.Owner, Database: p.Database, Source: p.Source, Target: p.Target, Services: p.Services}
		if diff := cmp.Diff(known, got); diff != "" {
			t.Fatalf("(-known +drafted):\n%s\n%s", diff, text)
		}
		if strings.Contains(string(text), "to be replaced") {
			t.Fatalf("what is known is called an example:\n%s", text)
		}
	})
}

func TestADraftSkipsStagesThatWouldHoldNobody(t *testing.T) {
	for tasks, want := range map[int][]flags.Share{
		1: {50, 75, 100}, 12: {25, 50, 75, 100}, 40: {10, 25, 50, 75, 100}, 300: {1, 10, 25, 50, 75, 100},
	} {
		var got []flags.Share
		for _, stage := range draftStages(tasks) {
			got = append(got, stage.Share)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d tasks (-want +got):\n%s", tasks, diff)
		}
	}
}

func TestADraftOfNonsenseIsRefused(t *testing.T) {
	for field, known := range map[string]*rollout.Plan{
		"rollout":          {Name: "a}, owner: {b"},
		"database.name":    {Database: rollout.Database{Name: "a b", Engine: "mysql"}},
		"source.host":      {Source: rollout.Endpoint{Host: "x, port: 1", Port: 3306}},
		"target.kind":      {Target: rollout.Endpoint{Host: "x", Port: 3306, Kind: "mysql"}},
		"services[0].name": {Services: []rollout.Service{{Name: "ö", Tasks: 1, PoolMax: 1}}},
	} {
		_, err := Draft(known)
		var invalid rollout.Invalid
		if !errors.As(err, &invalid) || !strings.HasPrefix(invalid[0].Field, field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
