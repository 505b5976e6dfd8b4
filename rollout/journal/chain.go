package journal

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// last returns the checkpoint of the event before the place that was taken. A
// chain whose end is not what it was is not gone on with: that would cover up
// the traces.
func (h *head) last() (audit.Checkpoint, error) {
	last := audit.Checkpoint{Version: audit.Version, Place: h.place - 1, Hash: h.before}
	damaged := func(kind audit.Kind, place int64, why string) error {
		return audit.Damage{Kind: kind, Place: place, Why: why}
	}
	if last.Place > 0 && last.Hash == nil {
		return last, damaged(audit.Cut, last.Place, "the head row knows of this place, and there is no event")
	}
	// One that is older was left by a program that does not know of it; one that
	// cannot be read is for Verify to tell.
	tail, err := audit.ParseCheckpoint(h.tail.V)
	switch {
	case !h.tail.Valid || err != nil:
		return last, nil
	case tail.Place > last.Place:
		return last, damaged(audit.Cut, last.Place+1, fmt.Sprintf("the head row remembers the hash of place %d", tail.Place))
	case tail.Place == last.Place && !bytes.Equal(tail.Hash, last.Hash):
		return last, damaged(audit.Rewritten, last.Place, "the head row remembers another hash for this place")
	}
	return last, nil
}

// insert stores the record of the place that was taken, and has the head row
// remember it.
func insert(ctx context.Context, tx *sql.Tx, r *audit.Record) error {
	const query = `INSERT INTO events (place, rollout, seq, kind, at, request, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	_, err := tx.ExecContext(ctx, query, r.Place, r.Rollout, r.Seq, r.Kind, r.At, r.Request, r.Body, []byte(r.Hash))
	if err != nil {
		return fmt.Errorf("inserting the event: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE journal SET tail = ? WHERE id = 1`, r.Checkpoint().String()); err != nil {
		return fmt.Errorf("remembering the event in the head row: %w", err)
	}
	return nil
}
