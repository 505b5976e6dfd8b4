package openfeature

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// document is the part of Flipt's snapshot that we judge by.
type document struct {
	Flags []wireFlag `json:"flags"`
}

type wireFlag struct {
	Key      string        `json:"key"`
	Type     string        `json:"type"`
	Enabled  bool          `json:"enabled"`
	Rollouts []wireRollout `json:"rollouts"`
}

type wireRollout struct {
	Type      string `json:"type"`
	Threshold *struct {
		Percentage float32 `json:"percentage"` // as wide as Flipt's own, so that both round alike
		Value      bool    `json:"value"`
	} `json:"threshold"`
	Segment any `json:"segment"`
}

func parse(body []byte) (document, error) {
	var doc document
	if err := json.Unmarshal(body, &doc); err != nil {
		return doc, fmt.Errorf("parsing the snapshot: %w", err)
	}
	if doc.Flags == nil {
		return doc, errors.New("parsing the snapshot: it has no list of flags")
	}
	return doc, nil
}

// share returns the share that a flag gives, or why it cannot be followed.
func (f wireFlag) share() (flags.Share, error) {
	switch {
	case f.Type != "BOOLEAN_FLAG_TYPE":
		return 0, fmt.Errorf("type %q: must be boolean", f.Type)
	case f.Enabled:
		return 0, errors.New("it is enabled, so tasks outside its threshold would use the target too")
	case len(f.Rollouts) == 0:
		return flags.None, nil
	case len(f.Rollouts) > 1:
		return 0, fmt.Errorf("%d rollouts: must be one threshold", len(f.Rollouts))
	}
	r := f.Rollouts[0]
	switch {
	case r.Type != "THRESHOLD_ROLLOUT_TYPE" || r.Threshold == nil || r.Segment != nil:
		return 0, fmt.Errorf("rollout of type %q: must be one threshold", r.Type)
	case !r.Threshold.Value:
		return 0, errors.New("its threshold answers false: must be true")
	case r.Threshold.Percentage > float32(flags.All):
		return 0, fmt.Errorf("percentage %v: must be at most 100", r.Threshold.Percentage)
	}
	// There are 100 buckets, so Flipt's 0.5 % lets in what 1 % does.
	return flags.Share(math.Ceil(max(0, float64(r.Threshold.Percentage)))), nil
}

// snapshot is all that is known at one time. It never changes.
type snapshot struct {
	flags   map[string]known // every flag that was ever followed
	refused map[string]string
	seen    time.Time // when the store last answered well; zero: never
	away    bool      // the store did not answer well just now
}

// known is the last share that the store gave for a flag.
type known struct {
	share flags.Share
	on    bool   // for the task of this process
	kept  string // why the store's present word is not followed; empty: it is
}

func (s *snapshot) cold() bool { return s.seen.IsZero() }

// without returns what is known when the store does not answer: the same as before.
func (s *snapshot) without() *snapshot {
	return &snapshot{flags: s.flags, refused: s.refused, seen: s.seen, away: true}
}

// still returns what is known when the store says that nothing has changed.
func (s *snapshot) still(at time.Time) *snapshot {
	return &snapshot{flags: s.flags, refused: s.refused, seen: at}
}

// with returns what is known after the store's word, for a task. What is not
// followed keeps its last value.
func (s *snapshot) with(doc document, task string, at time.Time) *snapshot {
	next := &snapshot{flags: make(map[string]known), refused: make(map[string]string), seen: at}
	for key, was := range s.flags {
		was.kept = "the store no longer has it"
		next.flags[key] = was
	}
	for _, f := range doc.Flags {
		share, err := f.share()
		was, ok := next.flags[f.Key]
		switch {
		case err == nil:
			next.flags[f.Key] = known{share: share, on: task != "" && share.Holds(f.Key, task)}
		case ok:
			was.kept = err.Error()
			next.flags[f.Key] = was
		default:
			next.refused[f.Key] = err.Error()
		}
	}
	return next
}

// problems says which of the application's flags do not follow the store, and why.
func (s *snapshot) problems(used map[string]bool) string {
	var list []string
	for key, f := range s.flags {
		if f.kept != "" {
			list = append(list, fmt.Sprintf("flag %s keeps its last share of %v: %s", key, f.share, f.kept))
		}
	}
	for key := range used {
		if _, ok := s.flags[key]; !ok {
			why, refused := s.refused[key]
			if !refused {
				why = "the store does not have it"
			}
			list = append(list, fmt.Sprintf("flag %s uses its cold default: %s", key, why))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// changes names the flags whose share differs from an earlier snapshot's.
func (s *snapshot) changes(was *snapshot) []string {
	var changed []string
	for _, key := range slices.Sorted(maps.Keys(s.flags)) {
		before, ok := was.flags[key]
		if !ok || before.share != s.flags[key].share {
			changed = append(changed, key)
		}
	}
	return changed
}
