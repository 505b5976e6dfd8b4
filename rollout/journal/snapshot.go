package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// stored is what the journal holds beside the events, as it was at one moment.
type stored struct {
	place  int64 // of the newest event
	rows   map[string]row
	claims map[rollout.Claim]string
}

// row is a rollout's row; the version is that of the column.
type row struct {
	version uint64
	state   rollout.State
}

// snapshot reads the rows in one transaction, so that they belong together.
func (j *Journal) snapshot(ctx context.Context) (*stored, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	tx, err := j.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("beginning to read: %w", err)
	}
	defer tx.Rollback() // it has only read

	s := &stored{rows: make(map[string]row), claims: make(map[rollout.Claim]string)}
	var newest int64
	const ends = `SELECT place, (SELECT COALESCE(MAX(place), 0) FROM events) FROM journal WHERE id = 1`
	if err := tx.QueryRowContext(ctx, ends).Scan(&s.place, &newest); err != nil {
		return nil, fmt.Errorf("reading the newest place: %w", err)
	}
	if newest > s.place {
		return nil, Broken{Place: s.place + 1, Why: "the event lies beyond the end of the journal"}
	}
	if err := s.readRows(ctx, tx); err != nil {
		return nil, fmt.Errorf("reading the rollouts: %w", err)
	}
	if err := s.readClaims(ctx, tx); err != nil {
		return nil, fmt.Errorf("reading the claims: %w", err)
	}
	return s, nil
}

func (s *stored) readRows(ctx context.Context, tx *sql.Tx) error {
	found, err := tx.QueryContext(ctx, `SELECT name, version, state FROM rollouts`)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var name, text string
		var r row
		if err := found.Scan(&name, &r.version, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &r.state); err != nil {
			return Broken{Rollout: name, Why: fmt.Sprintf("its row cannot be read: %v", err)}
		}
		s.rows[name] = r
	}
	return found.Err()
}

func (s *stored) readClaims(ctx context.Context, tx *sql.Tx) error {
	found, err := tx.QueryContext(ctx, `SELECT kind, name, holder FROM claims`)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var claim rollout.Claim
		var holder string
		if err := found.Scan(&claim.Kind, &claim.Name, &holder); err != nil {
			return err
		}
		s.claims[claim] = holder
	}
	return found.Err()
}

// entries returns the rows of the next events, as far as one read goes.
func (j *Journal) entries(ctx context.Context, after, last int64) ([]entry, error) {
	const page = 200
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	const query = `SELECT place, rollout, seq, kind, at, request, body, hash FROM events WHERE place > ? AND place <= ? ORDER BY place LIMIT ?`
	found, err := j.db.QueryContext(ctx, query, after, last, page)
	if err != nil {
		return nil, fmt.Errorf("reading the events after place %d: %w", after, err)
	}
	defer found.Close()
	var entries []entry
	for found.Next() {
		var n entry
		if err := found.Scan(&n.place, &n.rollout, &n.seq, &n.kind, &n.at, &n.request, &n.body, &n.hash); err != nil {
			return nil, fmt.Errorf("reading the event after place %d: %w", after, err)
		}
		entries = append(entries, n)
	}
	return entries, found.Err()
}
