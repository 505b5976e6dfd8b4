package flipt

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Description is what a flag serves, and by which means, to somebody who thinks
// of taking it over.
type Description struct {
	Key     flags.Key
	Boolean bool // else it has variants
	Enabled bool

	// Setting is what [Store.Read] gives, and Foreign why [Store.Write] would not
	// raise it, if so.
	Setting flags.Setting
	Foreign error

	// A boolean flag gives true to the tasks in the buckets from From to below To.
	// This, and nothing else, is known only where Plain.
	Plain    bool
	From, To int

	// A variant flag gives each variant to a part of the tasks; which tasks these
	// are goes by another hash than that of a boolean flag. The parts are known
	// only where Plain.
	Variants []Variant

	// Segments are those that a rule asks for and that do not hold everyone.
	Segments []string
	Rules    int // rollouts of a boolean flag, rules of one with variants

	CreatedAt, UpdatedAt time.Time // zero where Flipt does not tell: v2 has them in git
}

// Variant is one of a flag's answers.
type Variant struct {
	Key, Name string
	Percent   float64 // how many of 100 tasks get it
}

// Describe returns what a flag is made of, or [flags.ErrNotFound]. It is no
// error if that is nothing that a lane could use.
func (s *Store) Describe(ctx context.Context, key flags.Key) (Description, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	d, err := s.describe(ctx, key)
	if err != nil {
		return Description{}, fmt.Errorf("reading flag %s: %w", key, err)
	}
	return d, nil
}

func (s *Store) describe(ctx context.Context, key flags.Key) (Description, error) {
	f, err := s.read(ctx, key)
	if err != nil {
		return Description{}, err
	}
	d := Description{Key: key, Boolean: f.flag["type"] == booleanFlag, Setting: f.setting, Foreign: f.foreign, Rules: len(f.rollouts)}
	if d.Foreign == nil {
		d.Foreign = f.odd
	}
	d.Enabled, _ = f.flag["enabled"].(bool)
	d.CreatedAt, d.UpdatedAt = timeOf(f.flag["createdAt"]), timeOf(f.flag["updatedAt"])
	if d.Boolean {
		d.threshold(f)
		return d, nil
	}
	server, err := s.detect(ctx)
	if err != nil {
		return Description{}, err
	}
	variants, rules, err := server.variants(ctx, key, f)
	if err != nil {
		return Description{}, err
	}
	d.distribute(variants, rules)
	return d, nil
}

func timeOf(value any) time.Time {
	text, _ := value.(string)
	at, _ := time.Parse(time.RFC3339, text) // zero where there is none
	return at
}

// threshold says which buckets a boolean flag gives true to.
func (d *Description) threshold(f found) {
	for _, rollout := range f.rollouts {
		if segment, ok := rollout["segment"].(object); ok {
			d.Segments = append(d.Segments, segmentsOf(segment, "segments", "segmentKeys", "segmentKey")...)
		}
	}
	edge, gives := 0, true
	switch {
	case len(f.rollouts) > 1 || len(d.Segments) > 0:
		return
	case len(f.rollouts) == 1:
		t, _ := f.rollouts[0]["threshold"].(object)
		percentage, err := percentageOf(t)
		if f.rollouts[0]["type"] != thresholdRollout || err != nil {
			return
		}
		edge = int(math.Ceil(min(max(percentage, 0), 100)))
		gives, _ = t["value"].(bool)
	}
	d.Plain = true
	if gives {
		d.To = edge
	}
	if d.Enabled { // whom the threshold does not hold gets true, too
		d.To = int(flags.All)
		if !gives {
			d.From = edge
		}
	}
}

// segmentsOf returns the segments that a rule names, in whichever of these fields.
func segmentsOf(rule object, fields ...string) (names []string) {
	for _, field := range fields {
		switch value := rule[field].(type) {
		case string:
			if value != "" {
				names = append(names, value)
			}
		case []any:
			for _, one := range value {
				if name, ok := one.(string); ok {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// variantRule gives variants to those tasks that are in its segments.
type variantRule struct {
	segments []string
	parts    map[string]float64 // in percent, by the variant's key
	narrowed []string           // segments that not everyone is in
}

func variantOf(shown object) Variant {
	key, _ := shown["key"].(string)
	name, _ := shown["name"].(string)
	return Variant{Key: key, Name: name}
}

// ruleOf reads a rule; variant tells the key of the variant that a part of it names.
func ruleOf(shown object, segments string, variant func(object) string) (variantRule, error) {
	rule := variantRule{segments: segmentsOf(shown, segments), parts: map[string]float64{}}
	parts, err := objects(shown["distributions"])
	if err != nil {
		return rule, err
	}
	for _, part := range parts {
		percent, ok := part["rollout"].(json.Number)
		if !ok {
			continue // the zero value, not shown
		}
		value, err := percent.Float64()
		if err != nil {
			return rule, fmt.Errorf("its part of %s %% is not a number", percent)
		}
		rule.parts[variant(part)] += value
	}
	return rule, nil
}

// narrow notes a segment that holds only some of the tasks.
func (r *variantRule) narrow(name string, segment object) error {
	constraints, err := objects(segment["constraints"])
	if err == nil && len(constraints) > 0 {
		r.narrowed = append(r.narrowed, name)
	}
	return err
}

// distribute says which part of the tasks each variant is given to.
func (d *Description) distribute(variants []Variant, rules []variantRule) {
	d.Variants, d.Rules = variants, len(rules)
	for _, rule := range rules {
		for _, name := range rule.narrowed {
			if !slices.Contains(d.Segments, name) {
				d.Segments = append(d.Segments, name)
			}
		}
	}
	if !d.Enabled || len(rules) != 1 || len(d.Segments) > 0 {
		return
	}
	sum := 0.0
	for i := range d.Variants {
		d.Variants[i].Percent = rules[0].parts[d.Variants[i].Key]
		sum += d.Variants[i].Percent
	}
	d.Plain = math.Abs(sum-100) < 0.1 // what is left over v1 gives nothing, v2 the last variant
}
