package journal_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func verifying() []promise {
	return []promise{
		{"a journal of many pages is whole, and so is an empty one", wholeJournal},
		{"whatever is changed behind the journal's back is found, at its place", tampering},
		{"random damage by SQL is named, place and kind", randomDamage},
		{"an append onto a chain whose end is not what it was is refused", brokenEnd},
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
		want        *audit.Damage
	}{
		{
			"an event's text", `UPDATE events SET body = REPLACE(body, 'calm', 'wild') WHERE place = 2`,
			&audit.Damage{Kind: audit.Edited, Place: 2, Rollout: "orders"},
		},
		{
			"an event's hash", `UPDATE events SET hash = (SELECT h FROM (SELECT hash AS h FROM events WHERE place = 1) x) WHERE place = 4`,
			&audit.Damage{Kind: audit.Edited, Place: 4, Rollout: "orders"},
		},
		{"an event's kind", `UPDATE events SET kind = 'approved' WHERE place = 2`, &audit.Damage{Kind: audit.Edited, Place: 2, Rollout: "orders"}},
		{"an event's time", `UPDATE events SET at = at + 1 WHERE place = 5`, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "pay"}},
		{"an event's request", `UPDATE events SET request = NULL WHERE place = 5`, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "pay"}},
		{"a request that is no text", `UPDATE events SET request = '' WHERE place = 4`, &audit.Damage{Kind: audit.Edited, Place: 4, Rollout: "orders"}},
		{"an event's seq", `UPDATE events SET seq = -9 WHERE place = 4`, &audit.Damage{Kind: audit.Edited, Place: 4, Rollout: "orders"}},
		{"an event's place", `UPDATE events SET place = 99 WHERE place = 4`, &audit.Damage{Kind: audit.Reordered, Place: 4, Rollout: "orders"}},
		{"an event removed from the middle", `DELETE FROM events WHERE place = 3`, &audit.Damage{Kind: audit.Missing, Place: 3}},
		{"the first event removed", `DELETE FROM events WHERE place = 1`, &audit.Damage{Kind: audit.Missing, Place: 1}},
		{"the last event removed", `DELETE FROM events WHERE place = 5`, &audit.Damage{Kind: audit.Cut, Place: 5}},
		{"all events removed", `DELETE FROM events`, &audit.Damage{Kind: audit.Cut, Place: 1}},
		{"an event hidden beyond the end", `UPDATE journal SET place = 4`, &audit.Damage{Kind: audit.Extra, Place: 5, Rollout: "pay"}},
		{"the head row removed", `DELETE FROM journal`, &audit.Damage{Kind: audit.Head, Place: 5}},
		{"the tail", `UPDATE journal SET tail = REPLACE(tail, '5:', '4:')`, &audit.Damage{Kind: audit.Rewritten, Place: 4}},
		{"the tail, to one that is to come", `UPDATE journal SET tail = REPLACE(tail, '5:', '6:')`, &audit.Damage{Kind: audit.Cut, Place: 6}},
		{"the tail, to nonsense", `UPDATE journal SET tail = 'calm'`, &audit.Damage{Kind: audit.Head, Place: 5}},
		{"the tail, to that of an older program", `UPDATE journal SET tail = NULL`, nil},
		{
			"a row's state", `UPDATE rollouts SET state = REPLACE(state, '"db2"', '"db9"') WHERE name = 'pay'`,
			&audit.Damage{Kind: audit.Row, Place: 5, Rollout: "pay"},
		},
		{
			"a row's state made unreadable", `UPDATE rollouts SET state = '{"version":"x"}' WHERE name = 'pay'`,
			&audit.Damage{Kind: audit.Row, Place: 5, Rollout: "pay"},
		},
		{"a row's version", `UPDATE rollouts SET version = 2 WHERE name = 'orders'`, &audit.Damage{Kind: audit.Row, Place: 4, Rollout: "orders"}},
		{"a row removed", `DELETE FROM rollouts WHERE name = 'orders'`, &audit.Damage{Kind: audit.Row, Place: 4, Rollout: "orders"}},
		{"two rows", `UPDATE rollouts SET version = 9`, &audit.Damage{Kind: audit.Row, Place: 4, Rollout: "orders"}},
		{
			"a row of nothing", `INSERT INTO rollouts (name, version, state) VALUES ('ghost', 1, '{}')`,
			&audit.Damage{Kind: audit.Row, Rollout: "ghost"},
		},
		{
			"a row of events that are not there", `INSERT INTO rollouts (name, version, state) VALUES ('ghost', 1, '{"version":1}')`,
			&audit.Damage{Kind: audit.Cut, Place: 6, Rollout: "ghost"},
		},
		{
			"a claim given away", `UPDATE claims SET holder = 'orders' WHERE kind = 'database'`,
			&audit.Damage{Kind: audit.Claim, Place: 5, Rollout: "pay"},
		},
		{"a claim removed", `DELETE FROM claims WHERE kind = 'flag'`, &audit.Damage{Kind: audit.Claim, Place: 5, Rollout: "pay"}},
		{
			"a claim of nothing", `INSERT INTO claims (kind, name, holder) VALUES ('flag', 'default/x', 'orders')`,
			&audit.Damage{Kind: audit.Claim, Place: 4, Rollout: "orders"},
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

			execute(t, raw(t, source), tampered.query)
			mustFind(t, j, tampered.want)
		})
	}
}

// execute runs a statement behind the journal's back.
func execute(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// mustFind verifies, and fails if another damage than this is found.
func mustFind(t testing.TB, j *journal.Journal, want *audit.Damage, checkpoints ...audit.Checkpoint) {
	t.Helper()
	result, err := j.Verify(t.Context(), checkpoints...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, result.Damage, cmpopts.IgnoreFields(audit.Damage{}, "Why")); diff != "" {
		t.Errorf("%v: want -, got +:\n%s", result.Damage, diff)
	}
	if result.Damage != nil && result.Damage.Why == "" {
		t.Errorf("%v does not say why", result.Damage)
	}
}

// Appending would cover up what was done to the last event.
func brokenEnd(t *testing.T, e *engine) {
	for _, tt := range []struct {
		query string
		want  audit.Damage
	}{
		{`DELETE FROM events WHERE place = 2`, audit.Damage{Kind: audit.Cut, Place: 2}},
		{`UPDATE journal SET place = 1`, audit.Damage{Kind: audit.Cut, Place: 2}},
		{`UPDATE events SET hash = (SELECT h FROM (SELECT hash AS h FROM events WHERE place = 1) x) WHERE place = 2`, audit.Damage{Kind: audit.Rewritten, Place: 2}},
	} {
		source := e.source(t)
		j := open(t, source)
		s := add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("the end"))
		execute(t, raw(t, source), tt.query)
		_, _, err := j.Append(t.Context(), s, noted("more"))
		got, _ := errors.AsType[audit.Damage](err)
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(audit.Damage{}, "Why")); diff != "" {
			t.Errorf("%v: want -, got +:\n%s", err, diff)
		}
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
	execute(t, db, `UPDATE events SET body = ?, hash = ? WHERE place = 2`, body, hash[:])
	execute(t, db, `UPDATE journal SET tail = ?`, fmt.Sprintf("2:%x", hash))

	mustHold(t, j)
	if events := all(t, j); events[1].Why != "old" {
		t.Errorf("read %+v", events[1])
	}
	add(t, j, s, noted("new"))
	mustHold(t, j)
}
