package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// most is how many events are read at once: a limit that is not between 1 and
// this means this.
const most = 1000

// State returns a rollout as its events made it, or [rollout.ErrNotFound]. Under
// [rollout.HouseName] there is always a state, at first without a version.
func (j *Journal) State(ctx context.Context, name string) (rollout.State, error) {
	states, err := j.states(ctx, `SELECT state FROM rollouts WHERE name = ?`, name)
	if err == nil && len(states) == 0 && name == rollout.HouseName {
		return rollout.State{Name: name}, nil
	}
	if err == nil && len(states) == 0 {
		err = rollout.ErrNotFound
	}
	if err != nil {
		return rollout.State{}, fmt.Errorf("reading rollout %s: %w", name, err)
	}
	return states[0], nil
}

// States returns all rollouts in the order of their names; [rollout.HouseName]
// is none.
func (j *Journal) States(ctx context.Context) ([]rollout.State, error) {
	states, err := j.states(ctx, `SELECT state FROM rollouts WHERE name <> ? ORDER BY name`, rollout.HouseName)
	if err != nil {
		return nil, fmt.Errorf("reading all rollouts: %w", err)
	}
	return states, nil
}

// Active returns the rollouts that hold a database, or are to be sealed: all that a controller has
// something to do for, however many have ended.
func (j *Journal) Active(ctx context.Context) ([]rollout.State, error) {
	const query = `SELECT state FROM rollouts WHERE name IN (SELECT holder FROM claims WHERE kind IN (?, ?)) ORDER BY name`
	states, err := j.states(ctx, query, string(rollout.ClaimDatabase), string(rollout.ClaimSeal))
	if err != nil {
		return nil, fmt.Errorf("reading the active rollouts: %w", err)
	}
	return states, nil
}

func (j *Journal) states(ctx context.Context, query string, args ...any) ([]rollout.State, error) {
	texts, err := j.texts(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	states := make([]rollout.State, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &states[i]); err != nil {
			return nil, fmt.Errorf("decoding a state: %w", err)
		}
	}
	return states, nil
}

// Events returns the events of a rollout that follow a seq, in order, at most
// limit of them and never more than 1000.
func (j *Journal) Events(ctx context.Context, name string, afterSeq uint64, limit int) ([]rollout.Event, error) {
	const query = `SELECT body FROM events WHERE rollout = ? AND seq > ? ORDER BY seq LIMIT ?`
	events, err := j.events(ctx, query, name, afterSeq, bounded(limit))
	if err != nil {
		return nil, fmt.Errorf("reading the events of rollout %s after %d: %w", name, afterSeq, err)
	}
	return events, nil
}

// Since returns the events of all rollouts that follow a place, in order, at
// most limit of them and never more than 1000. None that is committed later will
// ever stand before one that was returned.
func (j *Journal) Since(ctx context.Context, place int64, limit int) ([]rollout.Event, error) {
	const query = `SELECT body FROM events WHERE place > ? ORDER BY place LIMIT ?`
	events, err := j.events(ctx, query, place, bounded(limit))
	if err != nil {
		return nil, fmt.Errorf("reading the events since place %d: %w", place, err)
	}
	return events, nil
}

func bounded(limit int) int {
	if limit < 1 || limit > most {
		return most
	}
	return limit
}

func (j *Journal) events(ctx context.Context, query string, args ...any) ([]rollout.Event, error) {
	bodies, err := j.texts(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	events := make([]rollout.Event, len(bodies))
	for i, body := range bodies {
		if events[i], err = audit.Decode(body); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// texts returns a query's single column.
func (j *Journal) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	rows, err := j.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}
