package planfile

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestAnyValidPlanIsReadBackAsItWasWritten(t *testing.T) {
	schema := compiled(t)
	rapid.Check(t, func(t *rapid.T) {
		plan := drawPlan(t)
		if err := plan.Validate(); err != nil {
			t.Fatalf("drew an invalid plan: %v", err)
		}
		text, err := Format(plan)
		if err != nil {
			t.Fatal(err)
		}
		readBack(t, plan, text)
		if err := schema.check(text); err != nil {
			t.Fatalf("the schema refuses it: %v\n%s", err, text)
		}
	})
}

// failer is what the tests of package testing and of rapid have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func readBack(t failer, plan *rollout.Plan, text []byte) {
	t.Helper()
	again, err := Parse("again.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Fatalf("it was read back differently (-written +read):\n%s\n%s", diff, text)
	}
	if plan.Hash() != again.Hash() {
		t.Fatalf("the hash changed, and with it every approval\n%s", text)
	}
}

func TestWritingAPlanTwiceGivesTheSameText(t *testing.T) {
	plan, err := Parse("every-field.yaml", []byte(everyField(t)))
	if err != nil {
		t.Fatal(err)
	}
	first, err := Format(plan)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Format(again)
	if err != nil || !slices.Equal(first, second) {
		t.Errorf("got (%v)\n%s\nafter\n%s", err, second, first)
	}
}
