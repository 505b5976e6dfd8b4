package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// Verify walks the whole chain, holds it to the head row and to checkpoints that
// were kept elsewhere, folds all events and holds the folds against the rows and
// the claims, while others go on appending. The first damage is in the result; an
// error leaves open whether there is any. Each of its reads has a limit; how many
// there are depends on the journal, so the whole ends with ctx alone.
func (j *Journal) Verify(ctx context.Context, checkpoints ...audit.Checkpoint) (audit.Result, error) {
	result, err := j.verify(ctx, checkpoints)
	if err != nil {
		return result, fmt.Errorf("verifying the journal: %w", err)
	}
	return result, nil
}

func (j *Journal) verify(ctx context.Context, checkpoints []audit.Checkpoint) (audit.Result, error) {
	stored, err := j.snapshot(ctx)
	if err != nil {
		return audit.Result{}, err
	}
	f := folds{
		states: make(map[string]rollout.State),
		places: make(map[string]int64),
		claims: make(map[rollout.Claim]string),
	}
	chain := audit.Chain{Last: stored.place, Checkpoints: checkpoints, Good: f.apply}
	tail, unreadable := audit.ParseCheckpoint(stored.tail.V)
	if stored.tail.Valid && unreadable == nil {
		chain.Tail = &tail
	}
	result, err := audit.Verify(j.records(ctx, 0, stored.newest), chain)
	switch {
	case err != nil || result.Damage != nil:
		return result, err
	case stored.headless:
		result.Damage = &audit.Damage{Kind: audit.Head, Place: stored.newest, Why: "the row that knows where the journal ends is gone"}
	case stored.tail.Valid && unreadable != nil:
		result.Damage = &audit.Damage{Kind: audit.Head, Place: stored.place, Why: "what the head row remembers of the last event was changed: " + unreadable.Error()}
	default:
		result.Damage, err = f.compare(stored, result.Checkpoint.Place)
	}
	return result, err
}

// folds are what the events make, up to where Verify has come.
type folds struct {
	states map[string]rollout.State
	places map[string]int64 // of each rollout's last event
	claims map[rollout.Claim]string
}

// apply takes the next event, and does to the claims what an append does.
func (f *folds) apply(e *rollout.Event) {
	before := f.states[e.Rollout]
	after := rollout.Apply(before, e)
	f.states[e.Rollout], f.places[e.Rollout] = after, e.Place
	claimed := after.Claims()
	for _, claim := range before.Claims() {
		if claim.Kind != rollout.ClaimFlag && !slices.Contains(claimed, claim) {
			delete(f.claims, claim)
		}
	}
	for _, claim := range claimed {
		f.claims[claim] = e.Rollout
	}
}

// compare holds what the events make against the rows and the claims. Rows that
// have folded events which are not there come first: much else may come of those.
// Of the rollouts that differ it names the one whose last event comes first.
func (f *folds) compare(stored *stored, last int64) (*audit.Damage, error) {
	var wrong []audit.Damage
	var cut []string
	for _, name := range union(f.states, stored.rows) {
		ahead, why, err := f.differs(stored.rows, name)
		if err != nil {
			return nil, err
		}
		switch {
		case ahead:
			cut = append(cut, name)
		case why != "":
			wrong = append(wrong, audit.Damage{Kind: audit.Row, Place: f.places[name], Rollout: name, Why: why})
		}
	}
	if len(cut) > 0 {
		slices.Sort(cut)
		d := audit.Damage{Kind: audit.Cut, Place: last + 1, Why: fmt.Sprintf(
			"the journal ends at place %d, and the rows of %s have folded more events than there are: the last ones were removed", last, strings.Join(cut, ", "))}
		if len(cut) == 1 {
			d.Rollout = cut[0]
		}
		return &d, nil
	}
	for _, claim := range union(f.claims, stored.claims) {
		if want, got := f.claims[claim], stored.claims[claim]; want != got {
			why := fmt.Sprintf("%s %s is claimed by %q instead of %q", claim.Kind, claim.Name, got, want)
			name := cmp.Or(want, got)
			wrong = append(wrong, audit.Damage{Kind: audit.Claim, Place: f.places[name], Rollout: name, Why: why})
		}
	}
	if len(wrong) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(wrong, func(a, b audit.Damage) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Rollout, b.Rollout), cmp.Compare(a.Why, b.Why))
	})
	return &first, nil
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

// differs says how a row differs from the fold, if it does, and whether it is
// ahead: then it is a good row of events that are not there.
func (f *folds) differs(rows map[string]row, name string) (ahead bool, why string, err error) {
	fold, folded := f.states[name]
	row, stored := rows[name]
	if !stored {
		return false, "its row is missing", nil
	}
	var state rollout.State
	if err := json.Unmarshal([]byte(row.state), &state); err != nil {
		return false, fmt.Sprintf("its row cannot be read: %v", err), nil
	}
	switch {
	case row.version == int64(state.Version) && state.Version > fold.Version:
		return true, "", nil
	case !folded:
		return false, "it has a row, and no events", nil
	case row.version != int64(fold.Version):
		return false, fmt.Sprintf("its row is of version %d, its events make version %d", row.version, fold.Version), nil
	}
	// As JSON, so that it does not matter what JSON cannot keep apart.
	want, err := json.Marshal(fold)
	if err != nil {
		return false, "", fmt.Errorf("encoding the state of rollout %s: %w", name, err)
	}
	got, err := json.Marshal(state)
	if err != nil {
		return false, "", fmt.Errorf("encoding the state of rollout %s: %w", name, err)
	}
	if !bytes.Equal(want, got) {
		return false, "its row is not what its events make", nil
	}
	return false, "", nil
}
