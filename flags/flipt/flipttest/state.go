package flipttest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Names of Flipt's kinds of flags and rollouts.
const (
	booleanFlag      = "BOOLEAN_FLAG_TYPE"
	variantFlag      = "VARIANT_FLAG_TYPE"
	thresholdRollout = "THRESHOLD_ROLLOUT_TYPE"
	segmentRollout   = "SEGMENT_ROLLOUT_TYPE"
	anyOfSegments    = "OR_SEGMENT_OPERATOR"
)

// state is all that a server keeps.
type state struct {
	namespaces []*namespace
	latest     time.Time
}

type namespace struct {
	key, name, description string
	created, updated       time.Time
	writes                 int // what the etag of v1 stands for
	flags                  []*flag
	segments               []segment
}

// segment is a set of entities; whoever evaluates takes everyone for its member.
type segment struct {
	key, name, description string
	constraints            []any // as they were sent
	created, updated       time.Time
}

type flag struct {
	key, name, description, kind string
	enabled                      bool
	metadata                     map[string]any
	variants, rules              []any // of variant flags: kept, never evaluated
	rollouts                     []*rollout
	created, updated             time.Time
}

type rollout struct {
	id, description  string
	threshold        *threshold
	segment          *chosen
	created, updated time.Time
}

// threshold is what a share of all entities gets.
type threshold struct {
	Percentage float32 `json:"percentage"`
	Value      bool    `json:"value"`
}

// chosen is what the members of segments get.
type chosen struct {
	keys     []string
	operator string
	value    bool
}

func newState() *state {
	s := &state{}
	now := s.now()
	s.namespaces = []*namespace{{key: "default", name: "Default", created: now, updated: now}}
	return s
}

// now is a time in microseconds, as Flipt keeps them; each is later than the last.
func (s *state) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(s.latest) {
		now = s.latest.Add(time.Microsecond)
	}
	s.latest = now
	return now
}

func (s *state) clone() *state {
	c := &state{latest: s.latest}
	for _, n := range s.namespaces {
		copied := *n
		copied.flags, copied.segments = nil, slices.Clone(n.segments)
		for _, f := range n.flags {
			copied.flags = append(copied.flags, f.clone())
		}
		c.namespaces = append(c.namespaces, &copied)
	}
	return c
}

// clone copies what handlers edit in place; what they only replace is shared.
func (f *flag) clone() *flag {
	copied := *f
	copied.metadata = maps.Clone(f.metadata)
	copied.rollouts = nil
	for _, r := range f.rollouts {
		one := *r
		copied.rollouts = append(copied.rollouts, &one)
	}
	return &copied
}

func (s *state) namespace(key string) (*namespace, error) {
	for _, n := range s.namespaces {
		if n.key == key {
			return n, nil
		}
	}
	return nil, missing("namespace %q not found", key)
}

// segment finds a segment.
func (n *namespace) segment(key string) (*segment, error) {
	for i := range n.segments {
		if n.segments[i].key == key {
			return &n.segments[i], nil
		}
	}
	return nil, missing("segment \"%s/%s\" not found", n.key, key)
}

// flag finds a flag; a namespace that is missing has none.
func (s *state) flag(key flags.Key) (*namespace, *flag, error) {
	n, err := s.namespace(key.Namespace)
	if err != nil {
		return nil, nil, missing("flag %q not found", key)
	}
	for _, f := range n.flags {
		if f.key == key.Name {
			return n, f, nil
		}
	}
	return n, nil, missing("flag %q not found", key)
}

// Reasons of an evaluation.
const (
	matched   = "MATCH_EVALUATION_REASON"
	defaulted = "DEFAULT_EVALUATION_REASON"
)

// evaluate decides as both servers do: the first rollout that holds the entity,
// else what the flag says by itself.
func (f *flag) evaluate(entity string) (enabled bool, reason string, segments []string) {
	for _, r := range f.rollouts {
		switch {
		case r.threshold != nil && float32(flags.Bucket(f.key, entity)) < r.threshold.Percentage:
			return r.threshold.Value, matched, []string{}
		case r.segment != nil:
			return r.segment.value, matched, r.segment.keys
		}
	}
	return f.enabled, defaulted, []string{}
}

// moment writes a time as protobuf's JSON does, in microseconds.
type moment time.Time

func (m moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(m).Format("2006-01-02T15:04:05.000000Z"))
}
