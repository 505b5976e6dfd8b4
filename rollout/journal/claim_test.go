package journal_test

import (
	"errors"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func requests() []promise {
	return []promise{
		{"a request that is repeated is answered with its first event and acts once", repeatedRequest},
		{"a request id counts for its rollout alone, and its letters' case matters", requestsApart},
	}
}

func claims() []promise {
	return []promise{
		{"one database has one rollout at a time", oneDatabase},
		{"a flag key belongs to its first rollout for ever", flagForEver},
		{"a failed preflight gives the database back and keeps the flags", failedPreflight},
		{"a plan whose flag is taken cannot be put under a rollout that was started", amendedClaims},
	}
}

func repeatedRequest(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	command := noted("once")
	command.Request = "r-1"
	after, first, err := j.Append(t.Context(), s, command)
	if err != nil {
		t.Fatal(err)
	}
	after = add(t, j, after, noted("later"))
	for _, before := range []rollout.State{s, after} {
		var again rollout.Duplicate
		if _, _, err := j.Append(t.Context(), before, command); !errors.As(err, &again) {
			t.Fatalf("got %v, want a duplicate", err)
		}
		same(t, first, again.Event)
	}
	if n := len(all(t, j)); n != 3 {
		t.Errorf("%d events; want 3", n)
	}
	mustHold(t, j)
}

func requestsApart(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	orders := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	pay := add(t, j, rollout.State{}, planned(plan("pay", "db2")))
	lower, upper := noted("lower"), noted("upper")
	lower.Request, upper.Request = "r", "R"
	add(t, j, orders, lower, upper, noted("none"), noted("none"))
	add(t, j, pay, lower)
	mustHold(t, j)
}

// refusedFor fails unless an append is refused for what another rollout has.
func refusedFor(t *testing.T, j *journal.Journal, s rollout.State, e rollout.Event, want rollout.Locked) {
	t.Helper()
	var locked rollout.Locked
	if _, _, err := j.Append(t.Context(), s, e); !errors.As(err, &locked) {
		t.Fatalf("got %v, want locked", err)
	}
	same(t, want, locked)
}

func oneDatabase(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	first := add(t, j, rollout.State{}, planned(plan("first", "db")), event(rollout.Started))
	second := add(t, j, rollout.State{}, planned(plan("second", "db")))
	add(t, j, rollout.State{}, planned(plan("third", "DB")), event(rollout.Started))

	taken := rollout.Locked{Claim: rollout.Claim{Kind: rollout.ClaimDatabase, Name: "db"}, Holder: "first"}
	refusedFor(t, j, second, event(rollout.Started), taken)
	if s, err := j.State(t.Context(), "second"); err != nil || s.Version != 1 {
		t.Errorf("version %d, error %v after a refusal; want 1", s.Version, err)
	}
	add(t, j, first, event(rollout.GivenUp))
	add(t, j, second, event(rollout.Started), checked(rollout.CheckPass))
	mustHold(t, j)
}

func flagForEver(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	add(t, j, rollout.State{}, planned(plan("first", "db")), event(rollout.Started), event(rollout.GivenUp))
	thief := plan("second", "db2")
	thief.Lanes[0].Flag = plan("first", "db").Lanes[0].Flag
	second := add(t, j, rollout.State{}, planned(thief))
	refusedFor(t, j, second, event(rollout.Started), rollout.Locked{
		Claim: rollout.Claim{Kind: rollout.ClaimFlag, Name: "default/first-reads"}, Holder: "first",
	})
	add(t, j, second, planned(plan("second", "db2")), event(rollout.Started))
	mustHold(t, j)
}

func failedPreflight(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	first := add(t, j, rollout.State{}, planned(plan("first", "db")), event(rollout.Started), checked(rollout.CheckFail))
	second := add(t, j, rollout.State{}, planned(plan("second", "db")), event(rollout.Started))
	refusedFor(t, j, first, event(rollout.Started), rollout.Locked{
		Claim: rollout.Claim{Kind: rollout.ClaimDatabase, Name: "db"}, Holder: "second",
	})
	add(t, j, second, event(rollout.GivenUp))
	add(t, j, first, event(rollout.Started))
	mustHold(t, j)
}

func amendedClaims(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	add(t, j, rollout.State{}, planned(plan("first", "db")), event(rollout.Started))
	second := add(t, j, rollout.State{}, planned(plan("second", "db2")), event(rollout.Started), checked(rollout.CheckFail))
	thief := plan("second", "db2")
	thief.Lanes[0].Flag = plan("first", "db").Lanes[0].Flag
	refusedFor(t, j, second, planned(thief), rollout.Locked{
		Claim: rollout.Claim{Kind: rollout.ClaimFlag, Name: "default/first-reads"}, Holder: "first",
	})
	// With a flag of nobody it may; the one that it leaves stays its own.
	fresh := plan("second", "db2")
	fresh.Lanes[0].Flag.Name = "fresh"
	add(t, j, second, planned(fresh), event(rollout.Started), event(rollout.GivenUp))
	heir := plan("third", "db3")
	heir.Lanes[0].Flag = plan("second", "db2").Lanes[0].Flag
	third := add(t, j, rollout.State{}, planned(heir))
	refusedFor(t, j, third, event(rollout.Started), rollout.Locked{
		Claim: rollout.Claim{Kind: rollout.ClaimFlag, Name: "default/second-reads"}, Holder: "second",
	})
	mustHold(t, j)
}
