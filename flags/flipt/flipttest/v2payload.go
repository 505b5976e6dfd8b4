package flipttest

// resourceOfV2 is the outer form of whatever a v2 server keeps.
type resourceOfV2 struct {
	NamespaceKey string `json:"namespaceKey"`
	Key          string `json:"key"`
	Payload      any    `json:"payload"`
}

func resourceV2(namespace, key string, payload any) any {
	return struct {
		Resource resourceOfV2 `json:"resource"`
	}{resourceOfV2{namespace, key, payload}}
}

// payload is a flag as v2 takes it and shows it.
type payload struct {
	Resource    string         `json:"@type"`
	Key         string         `json:"key"`
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Enabled     bool           `json:"enabled"`
	Variants    []any          `json:"variants"`
	Rules       []any          `json:"rules"`
	Rollouts    []rolloutV2    `json:"rollouts"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	Constraints []any          `json:"constraints,omitempty"` // of a segment only
}

type rolloutV2 struct {
	Type        string     `json:"type"`
	Description string     `json:"description"`
	Segment     *segmentV2 `json:"segment,omitempty"`
	Threshold   *threshold `json:"threshold,omitempty"`
}

type segmentV2 struct {
	Value           bool     `json:"value"`
	SegmentOperator string   `json:"segmentOperator"`
	Segments        []string `json:"segments"`
}

// filled shows empty lists where a client sent none.
func (p payload) filled() payload {
	if p.Type == "" {
		p.Type = variantFlag
	}
	if p.Variants == nil {
		p.Variants = []any{}
	}
	if p.Rules == nil {
		p.Rules = []any{}
	}
	if p.Rollouts == nil {
		p.Rollouts = []rolloutV2{}
	}
	return p
}

// apply makes a flag what the payload says, in everything. No range is checked.
func (p payload) apply(f *flag) {
	p = p.filled()
	f.key, f.name, f.description, f.kind, f.enabled = p.Key, p.Name, p.Description, p.Type, p.Enabled
	f.variants, f.rules, f.metadata = p.Variants, p.Rules, p.Metadata
	f.rollouts = nil
	for _, r := range p.Rollouts {
		one := &rollout{description: r.Description}
		if c := r.Segment; r.Type == segmentRollout && c != nil {
			one.segment = &chosen{keys: c.Segments, operator: c.SegmentOperator, value: c.Value}
		} else {
			one.threshold = &threshold{}
			if r.Threshold != nil {
				*one.threshold = *r.Threshold
			}
		}
		f.rollouts = append(f.rollouts, one)
	}
}

func (f *flag) v2() payload {
	p := payload{
		Resource: flagResource, Key: f.key, Type: f.kind, Name: f.name, Description: f.description,
		Enabled: f.enabled, Variants: f.variants, Rules: f.rules, Metadata: f.metadata,
	}
	for _, r := range f.rollouts {
		shown := rolloutV2{Type: thresholdRollout, Description: r.description, Threshold: r.threshold}
		if c := r.segment; c != nil {
			shown.Type = segmentRollout
			shown.Segment = &segmentV2{Value: c.value, SegmentOperator: c.operator, Segments: c.keys}
			if c.operator == "" {
				shown.Segment.SegmentOperator = anyOfSegments
			}
		}
		p.Rollouts = append(p.Rollouts, shown)
	}
	return p.filled()
}
