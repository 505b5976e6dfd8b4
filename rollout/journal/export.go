package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// Export writes the events after a place, as they are stored at this moment, so
// that they can be verified anywhere; see [audit.WriteExport]. It holds little of
// them at once. Damage is exported as it is: whoever verifies will find it. Each
// of its reads has a limit; the whole ends with ctx alone, or with w.
func (j *Journal) Export(ctx context.Context, w io.Writer, after int64) error {
	header, err := j.exportHeader(ctx, after)
	if err == nil {
		_, err = audit.WriteExport(w, header, j.records(ctx, after, header.Last))
	}
	if err != nil {
		return fmt.Errorf("exporting the journal after place %d: %w", after, err)
	}
	return nil
}

// exportHeader reads where the journal ends now, and the checkpoint to begin at.
func (j *Journal) exportHeader(ctx context.Context, after int64) (audit.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	var h audit.Header
	var tail sql.Null[string]
	if err := j.db.QueryRowContext(ctx, `SELECT place, tail FROM journal WHERE id = 1`).Scan(&h.Last, &tail); err != nil {
		return h, fmt.Errorf("reading the head row: %w", err)
	}
	if remembered, err := audit.ParseCheckpoint(tail.V); tail.Valid && err == nil {
		h.Tail = &remembered
	}
	if after < 0 || after > h.Last {
		return h, fmt.Errorf("the place must be from 0 to %d, the newest", h.Last)
	}
	if after == 0 {
		return h, nil
	}
	begin := audit.Record{Place: after}
	err := j.db.QueryRowContext(ctx, `SELECT at, hash FROM events WHERE place = ?`, after).Scan(&begin.At, &begin.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return h, audit.Damage{Kind: audit.Missing, Place: after, Why: "there is no event to begin after; export from the beginning"}
	}
	if err != nil {
		return h, fmt.Errorf("reading the event at place %d: %w", after, err)
	}
	h.After = begin.Checkpoint()
	return h, nil
}
