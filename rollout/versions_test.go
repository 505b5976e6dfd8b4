package rollout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestTheVersionsOfAPlanAreThoseThatTheStateCounts(t *testing.T) {
	p := played(t, "plan ann\nplan ben\nstart ann\nclimb to reads 10%\nhold ann\namend ann longer-bake because it is new\n"+
		"amend ann no-headroom because a slip\nreject ben because not that one\namend ann no-benefit because it is the wrong one\napprove ben\namend ann owner")
	events := slices.DeleteFunc(slices.Clone(p.events), func(e rollout.Event) bool { return !slices.Contains(rollout.VersionKinds(), e.Kind) })
	type row struct {
		Version  int
		By, Why  string
		Loosened int
		Proposer string
	}
	var got []row
	versions := rollout.Versions(events)
	for _, v := range versions {
		got = append(got, row{v.Version, v.By, v.Why, len(v.Loosens), v.Proposer})
	}
	want := []row{
		{1, "ann", "", 0, ""}, {2, "ben", "", 0, ""}, {3, "ann", "it is new", 0, ""}, {4, "ben", "it is the wrong one", 1, "ann"}, {5, "ann", "", 0, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	last := versions[len(versions)-1]
	if s := p.journal; last.Version != s.PlanVersion || last.Hash != s.PlanHash || last.Seq != s.Version {
		t.Errorf("the last is %d of event %d, the state has %d and %d", last.Version, last.Seq, s.PlanVersion, s.Version)
	}
}
