package journal_test

import (
	"database/sql"
	"encoding/json"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/rollout/journal/mariadbtest"
)

// BenchmarkAppend shows what an event costs, on disk when it returns.
func BenchmarkAppend(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchmarkAppend(b, &engine{name: "sqlite"})
	})
	b.Run("mariadb", func(b *testing.B) {
		benchmarkAppend(b, &engine{name: "mariadb", server: mariadbtest.Start(b)})
	})
}

func benchmarkAppend(b *testing.B, e *engine) {
	j := open(b, e.source(b))
	s := add(b, j, rollout.State{}, planned(plan("orders", "db")), event(rollout.Started))
	for b.Loop() {
		s = add(b, j, s, noted("on and on"))
	}
}

// BenchmarkVerify shows what it costs to hold 10,000 events to their chain, head
// row, folds and claims.
func BenchmarkVerify(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchmarkVerify(b, &engine{name: "sqlite"})
	})
	b.Run("mariadb", func(b *testing.B) {
		benchmarkVerify(b, &engine{name: "mariadb", server: mariadbtest.Start(b)})
	})
}

func benchmarkVerify(b *testing.B, e *engine) {
	const events = 10_000
	source := e.source(b)
	j := open(b, source)
	s := add(b, j, rollout.State{}, planned(plan("orders", "db")), event(rollout.Started))
	fill(b, raw(b, source), s, events)
	for b.Loop() {
		result, err := j.Verify(b.Context())
		if err != nil || result.Places != events {
			b.Fatal(result, err)
		}
	}
}

// fill makes a journal long, in one transaction.
func fill(b *testing.B, db *sql.DB, s rollout.State, events int64) {
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback()
	var last audit.Checkpoint
	if err := tx.QueryRowContext(b.Context(), `SELECT place, hash FROM events ORDER BY place DESC LIMIT 1`).Scan(&last.Place, &last.Hash); err != nil {
		b.Fatal(err)
	}
	for last.Place < events {
		e := noted("on and on")
		e.Rollout, e.Seq = "orders", s.Version+1
		r, err := last.Next(e)
		if err != nil {
			b.Fatal(err)
		}
		s, last = rollout.Apply(s, &e), r.Checkpoint()
		const query = `INSERT INTO events (place, rollout, seq, kind, at, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`
		if _, err := tx.ExecContext(b.Context(), query, r.Place, r.Rollout, r.Seq, r.Kind, r.At, r.Body, []byte(r.Hash)); err != nil {
			b.Fatal(err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		b.Fatal(err)
	}
	for query, args := range map[string][]any{
		`UPDATE rollouts SET version = ?, state = ?`: {s.Version, string(text)},
		`UPDATE journal SET place = ?, tail = ?`:     {last.Place, last.String()},
	} {
		if _, err := tx.ExecContext(b.Context(), query, args...); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
