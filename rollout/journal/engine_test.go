package journal_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/journal/mariadbtest"
)

// engine is a database that the contract must hold on.
type engine struct {
	name   string
	server *mariadbtest.Server // nil for SQLite
	made   int
}

// promise is one sentence of the contract.
type promise struct {
	text string
	keep func(t *testing.T, e *engine)
}

// TestJournal holds both databases to one contract.
func TestJournal(t *testing.T) {
	var contract []promise
	for _, part := range [][]promise{
		appends(), races(), requests(), claims(), names(), readers(), finding(), house(), verifying(), exporting(), opening(), properties(),
	} {
		contract = append(contract, part...)
	}
	t.Run("sqlite", func(t *testing.T) {
		keepAll(t, &engine{name: "sqlite"}, contract)
	})
	t.Run("mariadb", func(t *testing.T) {
		e := &engine{name: "mariadb", server: mariadbtest.Start(t)}
		keepAll(t, e, slices.Concat(contract, schemas(), outages()))
	})
}

func keepAll(t *testing.T, e *engine, contract []promise) {
	for _, p := range contract {
		t.Run(p.text, func(t *testing.T) { p.keep(t, e) })
	}
}

// source returns the source of an empty database.
func (e *engine) source(t testing.TB) string {
	t.Helper()
	e.made++
	if e.server == nil {
		return "sqlite:" + filepath.Join(t.TempDir(), "journal.db")
	}
	return "mysql:" + e.server.DSN(fmt.Sprintf("journal%d", e.made))
}

// raw opens the database of a source behind the journal's back.
func raw(t testing.TB, source string) *sql.DB {
	t.Helper()
	driver, dsn, _ := strings.Cut(source, ":")
	if driver == "mysql" {
		config, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.ParseTime = true
		config.Params = map[string]string{"foreign_key_checks": "0"} // whoever tampers can do this, too
		dsn = config.FormatDSN()
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func open(t testing.TB, source string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), source, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// at is when everything happens.
var at = time.Date(2026, 11, 30, 9, 0, 0, 123456789, time.UTC)

// plan returns the plan of a rollout on a database, with flags of its own.
func plan(name, database string) *rollout.Plan {
	return &rollout.Plan{
		Name: name, Owner: "team", Kind: rollout.SameData,
		Database: rollout.Database{Name: database},
		Lanes: []rollout.LanePlan{{
			Name: "reads", Class: rollout.Reads, Services: []string{"checkout"},
			Flag:   flags.Key{Namespace: "default", Name: name + "-reads"},
			Stages: []rollout.Stage{{Share: 10, Bake: time.Minute}, {Share: 100, Bake: time.Hour}},
		}},
	}
}

func event(kind rollout.Kind) rollout.Event {
	return rollout.Event{Kind: kind, At: at, By: "ann", Surface: "cli"}
}

func planned(p *rollout.Plan) rollout.Event {
	e := event(rollout.Planned)
	e.Plan = p
	return e
}

func noted(why string) rollout.Event {
	e := event(rollout.Noted)
	e.Why = why
	return e
}

func checked(result string) rollout.Event {
	e := event(rollout.Checked)
	e.Report = &rollout.Report{Checks: []rollout.Check{{Name: "flags", Result: result}}}
	return e
}

func held() rollout.Event {
	e := event(rollout.HeldOn)
	e.Hold = &rollout.Hold{Kind: rollout.HoldPerson, Owner: "ann", Why: "lunch", At: at}
	return e
}

// add appends events, one after the other, and returns the state after them.
func add(t testing.TB, j *journal.Journal, s rollout.State, events ...rollout.Event) rollout.State {
	t.Helper()
	for _, e := range events {
		var err error
		if s, _, err = j.Append(t.Context(), s, e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// mustHold fails if the journal is not what its events make.
func mustHold(t testing.TB, j *journal.Journal) {
	t.Helper()
	result, err := j.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.Damage != nil {
		t.Error(result.Damage)
	}
	for i, e := range all(t, j) {
		if e.Place != int64(i)+1 {
			t.Fatalf("event %d has place %d", i+1, e.Place)
		}
	}
	states, err := j.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range states {
		events, err := j.Events(t.Context(), row.Name, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		same(t, rollout.Fold(events), row)
	}
}

// all returns every event of a journal.
func all(t testing.TB, j *journal.Journal) []rollout.Event {
	t.Helper()
	var events []rollout.Event
	for {
		more, err := j.Since(t.Context(), int64(len(events)), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(more) == 0 {
			return events
		}
		events = append(events, more...)
	}
}

// reporter is a test, or a check of rapid.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

func same(t reporter, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
