package journal_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

func appends() []promise {
	return []promise{
		{"a row is what its events make, and comes back as it was returned", rowIsFold},
		{"an event comes back with its rollout, seq, place and time, to the nanosecond", eventComesBack},
		{"an append on an old state is a conflict and leaves nothing behind", staleIsConflict},
		{"places have no gaps after conflicts and after transactions that were given up", noGaps},
		{"a rollout begins with its plan, once, and keeps its name", beginsWithPlan},
		{"a plan of 64 KB and any text come back as they were", bigAndUnicode},
		{"an event of a kind that nobody knows yet counts, and changes nothing", unknownKind},
		{"an append that cannot have its turn ends with its context, and the next one succeeds", lockedOut},
	}
}

func rowIsFold(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	s := add(
		t, j, rollout.State{},
		planned(plan("orders", "db")), event(rollout.Started), checked(rollout.CheckPass),
		held(), noted("a remark"), event(rollout.GivenUp),
	)
	if s.Version != 6 || s.Phase != rollout.Withdrawn {
		t.Errorf("version %d, phase %s; want 6, withdrawn", s.Version, s.Phase)
	}
	got, err := j.State(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	same(t, s, got)
	mustHold(t, j)
}

func eventComesBack(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	add(t, j, rollout.State{}, planned(plan("other", "db2")))
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	elsewhere := noted("from elsewhere")
	elsewhere.At = at.In(time.FixedZone("JST", 9*60*60))
	_, stored, err := j.Append(t.Context(), s, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if stored.Rollout != "orders" || stored.Seq != 2 || stored.Place != 3 {
		t.Errorf("rollout %s, seq %d, place %d; want orders, 2, 3", stored.Rollout, stored.Seq, stored.Place)
	}
	if !stored.At.Equal(at) || stored.At.Location() != time.UTC {
		t.Errorf("at %v; want %v in UTC", stored.At, at)
	}
	events, err := j.Events(t.Context(), "orders", 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, []rollout.Event{stored}, events)
}

func staleIsConflict(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	old := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	add(t, j, old, noted("first"))
	if _, _, err := j.Append(t.Context(), old, noted("second")); !errors.Is(err, rollout.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	ahead := old
	ahead.Version = 7
	if _, _, err := j.Append(t.Context(), ahead, noted("third")); !errors.Is(err, rollout.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	if n := len(all(t, j)); n != 2 {
		t.Errorf("%d events; want 2", n)
	}
	mustHold(t, j)
}

func noGaps(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))

	unencodable := noted("not a number")
	unencodable.Verdicts = []gates.Verdict{{Value: math.NaN()}}
	if _, _, err := j.Append(t.Context(), s, unencodable); err == nil {
		t.Error("an event that JSON cannot hold was stored")
	}
	if _, _, err := j.Append(t.Context(), rollout.State{}, planned(plan("orders", "db"))); !errors.Is(err, rollout.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := j.Append(cancelled, s, noted("too late")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want cancelled", err)
	}
	_, stored, err := j.Append(t.Context(), s, noted("next"))
	if err != nil {
		t.Fatal(err)
	}
	if stored.Place != 2 {
		t.Errorf("place %d; want 2", stored.Place)
	}
	mustHold(t, j)
}

func beginsWithPlan(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	for _, first := range []rollout.Event{noted("no plan"), event(rollout.Planned)} {
		if _, _, err := j.Append(t.Context(), rollout.State{}, first); err == nil {
			t.Errorf("%s without a plan began a rollout", first.Kind)
		}
	}
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	if _, _, err := j.Append(t.Context(), rollout.State{}, planned(plan("orders", "db"))); !errors.Is(err, rollout.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	if _, _, err := j.Append(t.Context(), s, planned(plan("payments", "db"))); err == nil {
		t.Error("a rollout took the plan of another")
	}
	if s = add(t, j, s, planned(plan("orders", "db2"))); s.PlanVersion != 2 {
		t.Errorf("plan version %d; want 2", s.PlanVersion)
	}
	mustHold(t, j)
}

func bigAndUnicode(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	text := "naïve ☃ 日本語 🚦 \u2028 \x00 \\ \" ' % _ -- ;\n\t" + strings.Repeat("🚦", 64<<10/4)
	big := plan("orders", "db")
	big.Reason = text
	s := add(t, j, rollout.State{}, planned(big), noted(text))
	got, err := j.State(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	same(t, s, got)
	if events := all(t, j); events[0].Plan.Reason != text || events[1].Why != text {
		t.Error("the text of an event came back changed")
	}
	mustHold(t, j)
}

func unknownKind(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	before := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	after := add(t, j, before, event("teleported"))
	before.Version = 2
	same(t, before, after)
	if events := all(t, j); events[1].Kind != "teleported" {
		t.Errorf("kind %s came back", events[1].Kind)
	}
	add(t, j, after, noted("life goes on"))
	mustHold(t, j)
}

func lockedOut(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))

	other, err := raw(t, source).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := other.ExecContext(t.Context(), `UPDATE journal SET epoch = 9`); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := j.Append(short, s, noted("waits")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that its time is up", err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	add(t, j, s, noted("goes on"))
	mustHold(t, j)
}
