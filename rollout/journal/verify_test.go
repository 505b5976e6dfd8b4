package journal_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func verifying() []promise {
	return []promise{
		{"a journal of many pages is whole, and so is an empty one", wholeJournal},
		{"whatever is changed behind the journal's back is found, at its place", tampering},
		{"an append onto a chain whose end is gone is refused", brokenEnd},
		{"fields that a newer program has added are covered by the chain and passed over", newerFields},
	}
}

func wholeJournal(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	mustHold(t, j)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	for range 210 {
		s = add(t, j, s, noted("on and on"))
	}
	mustHold(t, j)
}

// A tampered journal has orders at places 1, 2 and 4 and pay at 3 and 5.
func tampering(t *testing.T, e *engine) {
	for _, tampered := range []struct {
		what, query string
		want        journal.Broken
	}{
		{
			"an event's text", `UPDATE events SET body = REPLACE(body, 'calm', 'wild') WHERE place = 2`,
			journal.Broken{Place: 2, Rollout: "orders"},
		},
		{
			"an event's hash", `UPDATE events SET hash = (SELECT h FROM (SELECT hash AS h FROM events WHERE place = 1) x) WHERE place = 4`,
			journal.Broken{Place: 4, Rollout: "orders"},
		},
		{"an event's kind", `UPDATE events SET kind = 'approved' WHERE place = 2`, journal.Broken{Place: 2, Rollout: "orders"}},
		{"an event's time", `UPDATE events SET at = at + 1 WHERE place = 5`, journal.Broken{Place: 5, Rollout: "pay"}},
		{"an event's request", `UPDATE events SET request = NULL WHERE place = 5`, journal.Broken{Place: 5, Rollout: "pay"}},
		{"an event's seq", `UPDATE events SET seq = 9 WHERE place = 4`, journal.Broken{Place: 4, Rollout: "orders"}},
		{"an event removed from the middle", `DELETE FROM events WHERE place = 3`, journal.Broken{Place: 3}},
		{"the first event removed", `DELETE FROM events WHERE place = 1`, journal.Broken{Place: 1}},
		{"the last event removed", `DELETE FROM events WHERE place = 5`, journal.Broken{Place: 5}},
		{"all events removed", `DELETE FROM events`, journal.Broken{Place: 1}},
		{"an event hidden beyond the end", `UPDATE journal SET place = 4`, journal.Broken{Place: 5}},
		{
			"a row's state", `UPDATE rollouts SET state = REPLACE(state, '"db2"', '"db9"') WHERE name = 'pay'`,
			journal.Broken{Place: 5, Rollout: "pay"},
		},
		{"a row's state made unreadable", `UPDATE rollouts SET state = '{"version":"x"}' WHERE name = 'pay'`, journal.Broken{Rollout: "pay"}},
		{"a row's version", `UPDATE rollouts SET version = 2 WHERE name = 'orders'`, journal.Broken{Place: 4, Rollout: "orders"}},
		{"a row removed", `DELETE FROM rollouts WHERE name = 'orders'`, journal.Broken{Place: 4, Rollout: "orders"}},
		{"two rows", `UPDATE rollouts SET version = 9`, journal.Broken{Place: 4, Rollout: "orders"}},
		{"a row of nothing", `INSERT INTO rollouts (name, version, state) VALUES ('ghost', 1, '{}')`, journal.Broken{Rollout: "ghost"}},
		{"a claim given away", `UPDATE claims SET holder = 'orders' WHERE kind = 'database'`, journal.Broken{Place: 5, Rollout: "pay"}},
		{"a claim removed", `DELETE FROM claims WHERE kind = 'flag'`, journal.Broken{Place: 5, Rollout: "pay"}},
		{
			"a claim of nothing", `INSERT INTO claims (kind, name, holder) VALUES ('flag', 'default/x', 'orders')`,
			journal.Broken{Place: 4, Rollout: "orders"},
		},
	} {
		t.Run(tampered.what, func(t *testing.T) {
			source := e.source(t)
			j := open(t, source)
			orders := add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("calm"))
			pay := add(t, j, rollout.State{}, planned(plan("pay", "db2")))
			add(t, j, orders, noted("calm"))
			started := event(rollout.Started)
			started.Request = "r-1"
			add(t, j, pay, started)
			mustHold(t, j)

			if _, err := raw(t, source).ExecContext(t.Context(), tampered.query); err != nil {
				t.Fatal(err)
			}
			var got journal.Broken
			if err := j.Verify(t.Context()); !errors.As(err, &got) {
				t.Fatalf("got %v, want broken", err)
			}
			if diff := cmp.Diff(tampered.want, got, cmpopts.IgnoreFields(got, "Why")); diff != "" || got.Why == "" {
				t.Errorf("%v: want -, got +:\n%s", got, diff)
			}
		})
	}
}

func brokenEnd(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("the end"))
	if _, err := raw(t, source).ExecContext(t.Context(), `DELETE FROM events WHERE place = 2`); err != nil {
		t.Fatal(err)
	}
	var broken journal.Broken
	if _, _, err := j.Append(t.Context(), s, noted("more")); !errors.As(err, &broken) || broken.Place != 2 {
		t.Errorf("got %v, want broken at place 2", err)
	}
}

func newerFields(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("old"))

	// As a newer program would have written it. This is what the hash is made of.
	db := raw(t, source)
	var before []byte
	var body string
	if err := db.QueryRowContext(t.Context(), `SELECT hash FROM events WHERE place = 1`).Scan(&before); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), `SELECT body FROM events WHERE place = 2`).Scan(&body); err != nil {
		t.Fatal(err)
	}
	body = strings.Replace(body, "{", `{"warp":{"factor":9},`, 1)
	hash := sha256.Sum256(append(before, body...))
	if _, err := db.ExecContext(t.Context(), `UPDATE events SET body = ?, hash = ? WHERE place = 2`, body, hash[:]); err != nil {
		t.Fatal(err)
	}

	mustHold(t, j)
	if events := all(t, j); events[1].Why != "old" {
		t.Errorf("read %+v", events[1])
	}
	add(t, j, s, noted("new"))
	mustHold(t, j)
}
