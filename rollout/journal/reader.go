package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Place returns the place that a reader has kept; 0 for one that has kept none.
func (j *Journal) Place(ctx context.Context, reader string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	var place int64
	err := j.db.QueryRowContext(ctx, `SELECT place FROM readers WHERE name = ?`, reader).Scan(&place)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("reading the place of reader %s: %w", reader, err)
	}
	return place, nil
}

// Keep keeps the place up to which a reader has dealt with the events. Keeping
// one that lies before the place kept changes nothing: two of a reader can only
// go forward. A place that no event has yet is refused, for its event would
// never be read.
func (j *Journal) Keep(ctx context.Context, reader string, place int64) error {
	err := checkName("reader", reader)
	if err == nil {
		err = j.write(ctx, takeTurn, func(ctx context.Context, tx *sql.Tx, now head) error {
			if place > now.place {
				return fmt.Errorf("the newest place is %d", now.place)
			}
			return keep(ctx, tx, reader, place)
		})
	}
	if err != nil {
		return fmt.Errorf("keeping place %d of reader %s: %w", place, reader, err)
	}
	return nil
}

func keep(ctx context.Context, tx *sql.Tx, reader string, place int64) error {
	var kept int64
	switch err := tx.QueryRowContext(ctx, `SELECT place FROM readers WHERE name = ?`, reader).Scan(&kept); {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, `INSERT INTO readers (name, place) VALUES (?, ?)`, reader, place)
		return err
	case err != nil || place <= kept:
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE readers SET place = ? WHERE name = ?`, place, reader)
	return err
}

// Lead returns a new epoch, higher than any before: whoever holds the highest is
// the leader that may raise.
func (j *Journal) Lead(ctx context.Context) (int64, error) {
	var epoch int64
	err := j.write(ctx, takeEpoch, func(_ context.Context, _ *sql.Tx, now head) error {
		epoch = now.epoch
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("taking a new epoch: %w", err)
	}
	return epoch, nil
}
