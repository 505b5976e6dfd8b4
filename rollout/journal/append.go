package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// Append stores the next event of a rollout and returns the state after it and
// the event as it was stored, with its rollout, place and seq. The state before
// must be the newest: else it is [rollout.ErrConflict], and nothing is stored.
// The first event of a rollout, on a state that is zero, must be planned; that of
// [rollout.HouseName], on a state that has only this name, may be any.
//
// A claim that another rollout has makes it [rollout.Locked], a request id that
// the rollout has seen [rollout.Duplicate]. Any other error, a lost answer among
// them, leaves open whether the event was stored: read the state again.
func (j *Journal) Append(ctx context.Context, before rollout.State, e rollout.Event) (rollout.State, rollout.Event, error) {
	var after rollout.State
	var stored rollout.Event
	err := complete(&before, &e)
	if err == nil {
		err = j.write(ctx, takePlace, func(ctx context.Context, tx *sql.Tx, now head) (err error) {
			after, stored, err = add(ctx, tx, &now, &before, e)
			return err
		})
	}
	if err != nil {
		return before, rollout.Event{}, fmt.Errorf("appending %s to rollout %s: %w", e.Kind, e.Rollout, err)
	}
	return after, stored, nil
}

// complete fills in what the state before says of an event, and refuses what
// could not be stored on either database.
func complete(before *rollout.State, e *rollout.Event) error {
	e.Rollout, e.Seq, e.At = before.Name, before.Version+1, e.At.UTC()
	if before.Version == 0 && before.Name != rollout.HouseName {
		if e.Kind != rollout.Planned || e.Plan == nil {
			return fmt.Errorf("kind %q: the first event must be %q, with a plan", e.Kind, rollout.Planned)
		}
		e.Rollout = e.Plan.Name
	}
	if e.Plan != nil && e.Rollout == rollout.HouseName {
		return fmt.Errorf("plan of rollout %q: what is about all rollouts has no plan", e.Rollout)
	}
	if e.Plan != nil && e.Plan.Name != e.Rollout {
		return fmt.Errorf("plan of rollout %q: must be that of rollout %q", e.Plan.Name, e.Rollout)
	}
	errs := []error{checkName("rollout", e.Rollout), checkName("kind", string(e.Kind))}
	if e.Request != "" {
		errs = append(errs, checkName("request", e.Request))
	}
	return errors.Join(errs...)
}

// add is Append inside its transaction, which has taken the place.
func add(ctx context.Context, tx *sql.Tx, now *head, before *rollout.State, e rollout.Event) (after rollout.State, stored rollout.Event, err error) {
	if err := refuseDuplicate(ctx, tx, &e); err != nil {
		return after, stored, err
	}
	last, err := now.last()
	if err != nil {
		return after, stored, err
	}
	next, err := last.Next(e)
	if err != nil {
		return after, stored, err
	}
	// What is folded is what will be read back.
	if stored, err = audit.Decode(next.Body); err != nil {
		return after, stored, err
	}
	after = rollout.Apply(*before, &stored)
	if err := putState(ctx, tx, stored.Rollout, &after); err != nil {
		return after, stored, err
	}
	if err := insert(ctx, tx, &next); err != nil {
		return after, stored, err
	}
	return after, stored, changeClaims(ctx, tx, stored.Rollout, before.Claims(), after.Claims())
}

func refuseDuplicate(ctx context.Context, tx *sql.Tx, e *rollout.Event) error {
	if e.Request == "" {
		return nil
	}
	const query = `SELECT body FROM events WHERE rollout = ? AND request = ?`
	var body string
	switch err := tx.QueryRowContext(ctx, query, e.Rollout, e.Request).Scan(&body); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("looking for request %s: %w", e.Request, err)
	}
	first, err := audit.Decode(body)
	if err != nil {
		return err
	}
	return rollout.Duplicate{Event: first}
}

// putState stores the folded row, if the row is still the one before it.
func putState(ctx context.Context, tx *sql.Tx, name string, s *rollout.State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	if s.Version == 1 {
		return insertState(ctx, tx, name, string(text))
	}
	const query = `UPDATE rollouts SET version = ?, state = ? WHERE name = ? AND version = ?`
	result, err := tx.ExecContext(ctx, query, s.Version, string(text), name, s.Version-1)
	if err != nil {
		return fmt.Errorf("updating the state: %w", err)
	}
	updated, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("updating the state: %w", err)
	}
	if updated == 0 {
		return rollout.ErrConflict
	}
	return nil
}

func insertState(ctx context.Context, tx *sql.Tx, name, text string) error {
	var there int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM rollouts WHERE name = ?`, name).Scan(&there); err != nil {
		return fmt.Errorf("looking for the rollout: %w", err)
	}
	if there > 0 {
		return rollout.ErrConflict
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO rollouts (name, version, state) VALUES (?, 1, ?)`, name, text); err != nil {
		return fmt.Errorf("inserting the state: %w", err)
	}
	return nil
}
