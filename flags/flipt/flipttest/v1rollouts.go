package flipttest

import (
	"net/http"
	"slices"
)

type rolloutV1 struct {
	ID           string     `json:"id"`
	NamespaceKey string     `json:"namespaceKey"`
	FlagKey      string     `json:"flagKey"`
	Type         string     `json:"type"`
	Rank         int        `json:"rank"`
	Description  string     `json:"description"`
	CreatedAt    moment     `json:"createdAt"`
	UpdatedAt    moment     `json:"updatedAt"`
	Segment      *segmentV1 `json:"segment,omitempty"`
	Threshold    *threshold `json:"threshold,omitempty"`
}

type segmentV1 struct {
	SegmentKey      string   `json:"segmentKey"`
	Value           bool     `json:"value"`
	SegmentKeys     []string `json:"segmentKeys"`
	SegmentOperator string   `json:"segmentOperator"`
}

// v1 shows a rollout; its rank is its place in the list.
func (r *rollout) v1(namespace string, f *flag) rolloutV1 {
	shown := rolloutV1{
		ID: r.id, NamespaceKey: namespace, FlagKey: f.key, Type: thresholdRollout,
		Rank: slices.Index(f.rollouts, r) + 1, Description: r.description,
		CreatedAt: moment(r.created), UpdatedAt: moment(r.updated), Threshold: r.threshold,
	}
	if c := r.segment; c != nil {
		shown.Type = segmentRollout
		shown.Segment = &segmentV1{Value: c.value, SegmentKeys: []string{}, SegmentOperator: c.operator}
		if len(c.keys) == 1 {
			shown.Segment.SegmentKey = c.keys[0]
		} else {
			shown.Segment.SegmentKeys = c.keys
		}
	}
	return shown
}

func (s *state) rolloutsV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	list := make([]rolloutV1, 0, len(f.rollouts))
	for _, one := range f.rollouts {
		list = append(list, one.v1(n.key, f))
	}
	list, at, err := paged(r, list)
	return struct {
		Rules []rolloutV1 `json:"rules"`
		page
	}{list, at}, err
}

// ruleV1 is what a client sends of a rollout.
type ruleV1 struct {
	Rank        int
	Description string
	Threshold   *threshold
	Segment     *segmentV1
}

// decodeRule enforces what v1 enforces: one rule, and a percentage within its range.
func decodeRule(r *http.Request) (want ruleV1, err error) {
	if err := decode(r, &want); err != nil {
		return want, err
	}
	if want.Threshold == nil && want.Segment == nil {
		return want, invalid("rollout rule is missing")
	}
	if t := want.Threshold; t != nil && (t.Percentage < 0 || t.Percentage > 100) {
		return want, invalid("invalid field threshold.percentage: must be within range [0, 100]")
	}
	return want, nil
}

func (w ruleV1) apply(r *rollout) {
	r.description, r.threshold, r.segment = w.Description, w.Threshold, nil
	if c := w.Segment; c != nil {
		r.segment = &chosen{keys: c.SegmentKeys, operator: anyOfSegments, value: c.Value}
		if c.SegmentKey != "" {
			r.segment.keys = []string{c.SegmentKey}
		}
		if len(r.segment.keys) > 1 && c.SegmentOperator != "" {
			r.segment.operator = c.SegmentOperator
		}
	}
}

func (s *state) createRolloutV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	want, err := decodeRule(r)
	if err != nil {
		return nil, err
	}
	if want.Rank <= len(f.rollouts) {
		return nil, invalid("rank number: %d already exists", want.Rank)
	}
	now := s.now()
	one := &rollout{id: newID(), created: now, updated: now}
	want.apply(one)
	f.rollouts = append(f.rollouts, one)
	n.writes++
	return one.v1(n.key, f), nil
}

func (s *state) updateRolloutV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	want, err := decodeRule(r)
	if err != nil {
		return nil, err
	}
	for _, one := range f.rollouts {
		if one.id != r.PathValue("id") {
			continue
		}
		if (one.segment != nil) != (want.Segment != nil) {
			return nil, invalid("cannot change type of rollout")
		}
		want.apply(one)
		one.updated = s.now()
		n.writes++
		return one.v1(n.key, f), nil
	}
	return nil, missing("rollout \"%s/%s\" not found", n.key, r.PathValue("id"))
}

func (s *state) deleteRolloutV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	f.rollouts = slices.DeleteFunc(f.rollouts, func(one *rollout) bool { return one.id == r.PathValue("id") })
	n.writes++
	return struct{}{}, nil
}
