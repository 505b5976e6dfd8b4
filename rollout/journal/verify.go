package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Broken says where the journal is no longer what was written.
type Broken struct {
	Place   int64  // the first that is wrong; where a row is, that of its rollout's last event
	Rollout string // empty if it cannot be known
	Why     string
}

func (b Broken) Error() string {
	if b.Rollout == "" {
		return fmt.Sprintf("the journal is broken at place %d: %s", b.Place, b.Why)
	}
	return fmt.Sprintf("the journal is broken at place %d, rollout %s: %s", b.Place, b.Rollout, b.Why)
}

func missing(place int64) error { return Broken{Place: place, Why: "the event is missing"} }

// Verify walks the whole chain, folds all events and holds the folds against the
// rows and the claims, while others go on appending. The first difference is
// returned as [Broken]. Each of its reads has a limit; how many there are depends
// on the journal, so the whole ends with ctx alone.
func (j *Journal) Verify(ctx context.Context) error {
	if err := j.verify(ctx); err != nil {
		return fmt.Errorf("verifying the journal: %w", err)
	}
	return nil
}

func (j *Journal) verify(ctx context.Context) error {
	stored, err := j.snapshot(ctx)
	if err != nil {
		return err
	}
	w := walk{
		states: make(map[string]rollout.State),
		places: make(map[string]int64),
		claims: make(map[rollout.Claim]string),
	}
	for w.at.place < stored.place {
		entries, err := j.entries(ctx, w.at.place, stored.place)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return missing(w.at.place + 1)
		}
		for i := range entries {
			if err := w.step(&entries[i]); err != nil {
				return err
			}
		}
	}
	return w.compare(stored)
}

// walk is how far Verify has come, and what the events up to there make.
type walk struct {
	at     link
	states map[string]rollout.State
	places map[string]int64 // of each rollout's last event
	claims map[rollout.Claim]string
}

// step takes the next event.
func (w *walk) step(n *entry) error {
	broken := func(format string, args ...any) error {
		return Broken{Place: n.place, Rollout: n.rollout, Why: fmt.Sprintf(format, args...)}
	}
	if n.place != w.at.place+1 {
		return missing(w.at.place + 1)
	}
	if !bytes.Equal(n.hash, w.at.cover(n.body)) {
		return broken("the hash is not that of the event and the hash before")
	}
	e, err := decode(n.body)
	if err != nil {
		return broken("the event cannot be read: %v", err)
	}
	if factsOf(&e) != n.facts {
		return broken("the columns do not say what the event says")
	}
	before := w.states[n.rollout]
	if n.seq != before.Version+1 {
		return broken("event %d follows event %d", n.seq, before.Version)
	}
	after := rollout.Apply(before, &e)
	w.at, w.states[n.rollout], w.places[n.rollout] = link{n.place, n.hash}, after, n.place
	w.claim(n.rollout, before.Claims(), after.Claims())
	return nil
}

// claim does to the claims what an append does.
func (w *walk) claim(name string, before, after []rollout.Claim) {
	for _, claim := range before {
		if claim.Kind != rollout.ClaimFlag && !slices.Contains(after, claim) {
			delete(w.claims, claim)
		}
	}
	for _, claim := range after {
		w.claims[claim] = name
	}
}

// compare holds what the events make against the rows; of the rollouts that
// differ it names the one whose last event comes first.
func (w *walk) compare(stored *stored) error {
	var wrong []Broken
	for _, name := range union(w.states, stored.rows) {
		why, err := differs(w.states, stored.rows, name)
		if err != nil {
			return err
		}
		if why != "" {
			wrong = append(wrong, Broken{Place: w.places[name], Rollout: name, Why: why})
		}
	}
	for _, claim := range union(w.claims, stored.claims) {
		if want, got := w.claims[claim], stored.claims[claim]; want != got {
			why := fmt.Sprintf("%s %s is claimed by %q instead of %q", claim.Kind, claim.Name, got, want)
			name := cmp.Or(want, got)
			wrong = append(wrong, Broken{Place: w.places[name], Rollout: name, Why: why})
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return slices.MinFunc(wrong, func(a, b Broken) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Rollout, b.Rollout), cmp.Compare(a.Why, b.Why))
	})
}

func union[K comparable, A, B any](a map[K]A, b map[K]B) []K {
	keys := slices.Collect(maps.Keys(a))
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// differs says how a row differs from the fold; it is empty if it does not.
func differs(folds map[string]rollout.State, rows map[string]row, name string) (string, error) {
	fold, folded := folds[name]
	row, stored := rows[name]
	switch {
	case !stored:
		return "its row is missing", nil
	case !folded:
		return "it has a row, and no events", nil
	case row.version != fold.Version:
		return fmt.Sprintf("its row is of version %d, its events make version %d", row.version, fold.Version), nil
	}
	// As JSON, so that it does not matter what JSON cannot keep apart.
	a, errA := json.Marshal(fold)
	b, errB := json.Marshal(row.state)
	if err := errors.Join(errA, errB); err != nil {
		return "", fmt.Errorf("encoding the state of rollout %s: %w", name, err)
	}
	if !bytes.Equal(a, b) {
		return "its row is not what its events make", nil
	}
	return "", nil
}
