package journal_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func exporting() []promise {
	return []promise{
		{"an export verifies with nothing else at hand, and goes on after a checkpoint", exportVerifies},
		{"an export is of one moment, while others append", exportOfOneMoment},
		{"what is damaged is exported as it is, and found there", exportOfDamage},
		{"an export that cannot be read or written ends with the error", exportFails},
		{"a journal of an older program goes on, and its old events are held", olderJournal},
	}
}

// exported returns an export, and what it verifies to.
func exported(t testing.TB, j *journal.Journal, after int64, checkpoints ...audit.Checkpoint) (string, audit.Result) {
	t.Helper()
	var text bytes.Buffer
	if err := j.Export(t.Context(), &text, after); err != nil {
		t.Fatal(err)
	}
	result, err := audit.VerifyExport(bytes.NewReader(text.Bytes()), checkpoints...)
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), result
}

func exportVerifies(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	if _, result := exported(t, j, 0); result.Damage != nil || result.Places != 0 {
		t.Errorf("an empty journal: %+v", result)
	}
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	for range 204 {
		s = add(t, j, s, noted("on & on <é>"))
	}
	whole, err := j.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, result := exported(t, j, 0, whole.Checkpoint)
	if diff := cmp.Diff(whole, result); diff != "" || result.Places != 205 {
		t.Errorf("%d places; verified -, exported and verified +:\n%s", result.Places, diff)
	}
	if n := strings.Count(text, "\n"); n != 207 {
		t.Errorf("%d lines; want a header, 205 events and a checkpoint", n)
	}
	add(t, j, s, noted("later"))
	for _, after := range []int64{1, 100, 205, 206} {
		var kept []audit.Checkpoint
		if after <= 205 {
			kept = append(kept, whole.Checkpoint)
		}
		if _, result = exported(t, j, after, kept...); result.Damage != nil || result.Places != 206-after || result.Checkpoint.Place != 206 {
			t.Errorf("after %d: %+v", after, result)
		}
	}
}

func exportOfOneMoment(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	for range 250 { // more than one read
		s = add(t, j, s, noted("on and on"))
	}
	var text bytes.Buffer
	appending := writer(func(p []byte) (int, error) {
		if bytes.Count(p, []byte("\n")) > 0 && text.Len() < 2000 {
			s = add(t, j, s, noted("meanwhile"))
		}
		return text.Write(p)
	})
	if err := j.Export(t.Context(), appending, 0); err != nil {
		t.Fatal(err)
	}
	result, err := audit.VerifyExport(&text)
	if err != nil || result.Damage != nil || result.Places != 251 || s.Version <= 251 {
		t.Errorf("%+v, error %v, version %d; want the 251 events that were there", result, err, s.Version)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func exportOfDamage(t *testing.T, e *engine) {
	for query, want := range map[string]audit.Damage{
		`UPDATE events SET body = REPLACE(body, 'calm', 'wild') WHERE place = 2`: {Kind: audit.Edited, Place: 2, Rollout: "orders"},
		`UPDATE events SET seq = 9 WHERE place = 2`:                              {Kind: audit.Edited, Place: 2, Rollout: "orders"},
		`DELETE FROM events WHERE place = 2`:                                     {Kind: audit.Missing, Place: 2},
		`DELETE FROM events WHERE place = 3`:                                     {Kind: audit.Cut, Place: 3},
		`UPDATE journal SET tail = REPLACE(tail, '3:', '2:')`:                    {Kind: audit.Rewritten, Place: 2},
	} {
		source := e.source(t)
		j := open(t, source)
		add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("calm"), noted("calm"))
		execute(t, raw(t, source), query)
		_, result := exported(t, j, 0)
		if diff := cmp.Diff(&want, result.Damage, cmpopts.IgnoreFields(audit.Damage{}, "Why")); diff != "" {
			t.Errorf("%s: %v: want -, got +:\n%s", query, result.Damage, diff)
		}
	}
}

func exportFails(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("a"), noted("b"))
	for _, after := range []int64{-1, 4} {
		if err := j.Export(t.Context(), io.Discard, after); err == nil || !strings.Contains(err.Error(), "from 0 to 3") {
			t.Errorf("after %d: error %v", after, err)
		}
	}
	full := errors.New("no room")
	if err := j.Export(t.Context(), writer(func([]byte) (int, error) { return 0, full }), 0); !errors.Is(err, full) {
		t.Errorf("error %v; want no room", err)
	}
	execute(t, raw(t, source), `DELETE FROM events WHERE place = 2`)
	if err := j.Export(t.Context(), io.Discard, 2); err == nil || !strings.Contains(err.Error(), "from the beginning") {
		t.Errorf("error %v; want that place 2 is missing", err)
	}
	execute(t, raw(t, source), `DELETE FROM journal`)
	if err := j.Export(t.Context(), io.Discard, 0); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("error %v; want that there is no head row", err)
	}
}

// An older program knows of no tail: neither its schema nor its appends have one.
func olderJournal(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("old"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, source)
	execute(t, db, `ALTER TABLE journal DROP COLUMN tail`)
	execute(t, db, `DELETE FROM goose_db_version WHERE version_id = 2`)

	j = open(t, source)
	mustHold(t, j)
	s = add(t, j, s, noted("new"))
	mustHold(t, j)

	// One that is still running appends to the new schema.
	var tail string
	if err := db.QueryRowContext(t.Context(), `SELECT tail FROM journal`).Scan(&tail); err != nil {
		t.Fatal(err)
	}
	s = add(t, j, s, noted("by an older program"))
	execute(t, db, `UPDATE journal SET tail = ?`, tail)
	mustHold(t, j)
	execute(t, db, `UPDATE journal SET tail = ?`, strings.Replace(tail, "3:", "2:", 1))
	mustFind(t, j, &audit.Damage{Kind: audit.Rewritten, Place: 2})
	execute(t, db, `UPDATE journal SET tail = ?`, tail)
	add(t, j, s, noted("newest"))
	mustHold(t, j)
}
