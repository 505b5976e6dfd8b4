package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// stored is what the journal holds beside the events, as it was at one moment.
type stored struct {
	headless bool             // the head row is gone
	place    int64            // of the newest event, as the head row has it
	tail     sql.Null[string] // what the head row remembers of it
	newest   int64            // place of the newest event
	rows     map[string]row
	claims   map[rollout.Claim]string
}

// row is a rollout's row as it is stored.
type row struct {
	version int64
	state   string
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
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(place), 0) FROM events`).Scan(&s.newest); err != nil {
		return nil, fmt.Errorf("reading the newest place: %w", err)
	}
	err = tx.QueryRowContext(ctx, `SELECT place, tail FROM journal WHERE id = 1`).Scan(&s.place, &s.tail)
	if errors.Is(err, sql.ErrNoRows) {
		s.headless, s.place, err = true, s.newest, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the head row: %w", err)
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
		var name string
		var r row
		if err := found.Scan(&name, &r.version, &r.state); err != nil {
			return err
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

// records returns the events after a place, up to another, as they are stored. It
// holds no transaction open: what is stored does not change, and what is added
// lies behind the last.
func (j *Journal) records(ctx context.Context, after, last int64) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for after < last {
			page, err := j.page(ctx, after, last)
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			after = page[len(page)-1].Place
		}
	}
}

// page returns the next records, as far as one read goes.
func (j *Journal) page(ctx context.Context, after, last int64) ([]audit.Record, error) {
	const size = 200
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	const query = `SELECT place, rollout, seq, kind, at, request, body, hash FROM events WHERE place > ? AND place <= ? ORDER BY place LIMIT ?`
	found, err := j.db.QueryContext(ctx, query, after, last, size)
	if err != nil {
		return nil, fmt.Errorf("reading the events after place %d: %w", after, err)
	}
	defer found.Close()
	page := make([]audit.Record, 0, size)
	for found.Next() {
		var r audit.Record
		if err := found.Scan(&r.Place, &r.Rollout, &r.Seq, &r.Kind, &r.At, &r.Request, &r.Body, &r.Hash); err != nil {
			return nil, fmt.Errorf("reading the event after place %d: %w", after, err)
		}
		page = append(page, r)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("reading the events after place %d: %w", after, err)
	}
	return page, nil
}
