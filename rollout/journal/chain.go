package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// link is a place in the chain: its hash covers all that came before. Zero is
// the beginning.
type link struct {
	place int64
	hash  []byte
}

// facts are what the columns repeat of an event, to be searched for.
type facts struct {
	place   int64
	rollout string
	seq     uint64
	kind    string
	at      int64 // milliseconds
	request sql.Null[string]
}

// entry is a row of events. The body is the event, as JSON, and never changes.
type entry struct {
	facts
	body string
	hash []byte
}

// linkAt returns the link at a place.
func linkAt(ctx context.Context, tx *sql.Tx, place int64) (link, error) {
	l := link{place: place}
	if place == 0 {
		return l, nil
	}
	err := tx.QueryRowContext(ctx, `SELECT hash FROM events WHERE place = ?`, place).Scan(&l.hash)
	if errors.Is(err, sql.ErrNoRows) {
		return l, missing(place)
	}
	if err != nil {
		return l, fmt.Errorf("reading the hash at place %d: %w", place, err)
	}
	return l, nil
}

// next makes the entry that follows.
func (l link) next(e rollout.Event) (entry, error) {
	e.Place = l.place + 1
	body, err := json.Marshal(e)
	if err != nil {
		return entry{}, fmt.Errorf("encoding the event: %w", err)
	}
	return entry{facts: factsOf(&e), body: string(body), hash: l.cover(string(body))}, nil
}

// cover returns the hash of an event that follows.
func (l link) cover(body string) []byte {
	sum := sha256.New()
	sum.Write(l.hash)
	sum.Write([]byte(body))
	return sum.Sum(nil)
}

func factsOf(e *rollout.Event) facts {
	return facts{
		place:   e.Place,
		rollout: e.Rollout,
		seq:     e.Seq,
		kind:    string(e.Kind),
		at:      e.At.UnixMilli(),
		request: sql.Null[string]{V: e.Request, Valid: e.Request != ""},
	}
}

func (n *entry) insert(ctx context.Context, tx *sql.Tx) error {
	const query = `INSERT INTO events (place, rollout, seq, kind, at, request, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	_, err := tx.ExecContext(ctx, query, n.place, n.rollout, n.seq, n.kind, n.at, n.request, n.body, n.hash)
	if err != nil {
		return fmt.Errorf("inserting the event: %w", err)
	}
	return nil
}

// decode reads an event. What a newer program has added to it is passed over.
func decode(body string) (rollout.Event, error) {
	var e rollout.Event
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return e, fmt.Errorf("decoding an event: %w", err)
	}
	return e, nil
}
