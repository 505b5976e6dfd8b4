package flipttest

import (
	"net/http"
	"slices"
)

type variantV1 struct {
	ID           string `json:"id"`
	FlagKey      string `json:"flagKey"`
	Key          string `json:"key"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	CreatedAt    moment `json:"createdAt"`
	UpdatedAt    moment `json:"updatedAt"`
	Attachment   string `json:"attachment"`
	NamespaceKey string `json:"namespaceKey"`
}

type variantRuleV1 struct {
	ID              string           `json:"id"`
	FlagKey         string           `json:"flagKey"`
	SegmentKey      string           `json:"segmentKey"`
	Distributions   []distributionV1 `json:"distributions"`
	Rank            int              `json:"rank"`
	CreatedAt       moment           `json:"createdAt"`
	UpdatedAt       moment           `json:"updatedAt"`
	NamespaceKey    string           `json:"namespaceKey"`
	SegmentKeys     []string         `json:"segmentKeys"`
	SegmentOperator string           `json:"segmentOperator"`
}

type distributionV1 struct {
	ID        string  `json:"id"`
	RuleID    string  `json:"ruleId"`
	VariantID string  `json:"variantId"`
	Rollout   float32 `json:"rollout"`
	CreatedAt moment  `json:"createdAt"`
	UpdatedAt moment  `json:"updatedAt"`
}

func (s *state) createVariantV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	var want struct{ Key, Name, Description, Attachment string }
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	now := moment(s.now())
	v := variantV1{newID(), f.key, want.Key, want.Name, want.Description, now, now, want.Attachment, n.key}
	f.variants = append(slices.Clone(f.variants), v)
	n.writes++
	return v, nil
}

func (s *state) rulesV1(r *http.Request) (any, error) {
	_, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	list, at, err := paged(r, f.rules)
	return struct {
		Rules []any `json:"rules"`
		page
	}{list, at}, err
}

func (s *state) createRuleV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	var want struct {
		SegmentKeys []string
		Rank        int
	}
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	for _, key := range want.SegmentKeys {
		if _, err := n.segment(key); err != nil {
			return nil, err
		}
	}
	now := moment(s.now())
	rule := variantRuleV1{
		ID: newID(), FlagKey: f.key, Distributions: []distributionV1{}, Rank: want.Rank, CreatedAt: now, UpdatedAt: now,
		NamespaceKey: n.key, SegmentKeys: want.SegmentKeys, SegmentOperator: anyOfSegments,
	}
	if len(want.SegmentKeys) == 1 {
		rule.SegmentKey, rule.SegmentKeys = want.SegmentKeys[0], []string{}
	}
	f.rules = append(slices.Clone(f.rules), rule)
	n.writes++
	return rule, nil
}

func (s *state) createDistributionV1(r *http.Request) (any, error) {
	return s.distribute(r, func(rule *variantRuleV1, want distributionV1) (distributionV1, error) {
		want.ID, want.CreatedAt = newID(), want.UpdatedAt
		rule.Distributions = append(rule.Distributions, want)
		return want, nil
	})
}

func (s *state) updateDistributionV1(r *http.Request) (any, error) {
	return s.distribute(r, func(rule *variantRuleV1, want distributionV1) (distributionV1, error) {
		for i, one := range rule.Distributions {
			if one.ID == r.PathValue("id") {
				want.ID, want.CreatedAt = one.ID, one.CreatedAt
				rule.Distributions[i] = want
				return want, nil
			}
		}
		return want, missing("distribution %q not found", r.PathValue("id"))
	})
}

// distribute changes what a rule gives to which part of its entities.
func (s *state) distribute(
	r *http.Request, edit func(*variantRuleV1, distributionV1) (distributionV1, error),
) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	var want struct {
		VariantID string
		Rollout   float32
	}
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	for i, one := range f.rules {
		rule, ok := one.(variantRuleV1)
		if !ok || rule.ID != r.PathValue("rule") {
			continue
		}
		rule.Distributions = slices.Clone(rule.Distributions)
		made, err := edit(&rule, distributionV1{
			RuleID: rule.ID, VariantID: want.VariantID, Rollout: want.Rollout, UpdatedAt: moment(s.now()),
		})
		if err != nil {
			return nil, err
		}
		f.rules = slices.Clone(f.rules)
		f.rules[i] = rule
		n.writes++
		return made, nil
	}
	return nil, missing("rule %q not found", r.PathValue("rule"))
}
