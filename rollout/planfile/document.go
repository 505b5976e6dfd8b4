package planfile

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

const (
	maxDepth    = 12   // the deepest field of a plan lies 6 deep
	maxItems    = 1000 // of a list or mapping
	maxProblems = 100  // nobody reads more
	maxExcerpt  = 80   // characters of a value that an error repeats
)

// document is one plan file while it is read.
type document struct {
	problems rollout.Invalid
	more     bool              // there are problems that are not listed
	places   map[string]place  // by field, such as lanes[1].stages[2].share
	failed   map[string]bool   // fields that have a problem already; one is enough
	origin   map[string]string // of a field that took its value from another one
}

// place is where a field stands, and its text if it is a scalar.
type place struct {
	line int
	text string
}

// wrong notes a problem with a field, unless it or what it lies in has one.
func (d *document) wrong(field, allowed string) {
	if d.told(field) {
		return
	}
	at := d.place(field)
	d.note(rollout.Problem{Field: cmp.Or(field, "plan"), Value: at.text, Allowed: allowed, Line: at.line})
}

func (d *document) note(p rollout.Problem) {
	d.failed[p.Field] = true
	if d.more = len(d.problems) == maxProblems; !d.more {
		d.problems = append(d.problems, p)
	}
}

// told reports whether a problem with a field, or with what it lies in, is noted.
func (d *document) told(field string) bool {
	for ; field != ""; field = parent(field) {
		if d.failed[field] {
			return true
		}
	}
	return false
}

// place returns where a field stands, or what it would lie in if it is missing.
func (d *document) place(field string) place {
	if at, ok := d.places[field]; ok {
		return at
	}
	for field != "" {
		field = parent(field)
		if at, ok := d.places[field]; ok {
			return place{line: at.line}
		}
	}
	return place{line: 1}
}

// parent returns the field that a field lies in, and "" for a field of the plan itself.
func parent(field string) string {
	return field[:max(strings.LastIndexAny(field, ".["), 0)]
}

func child(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func item(parent string, i int) string { return fmt.Sprintf("%s[%d]", parent, i) }

// excerpt shortens a value so that an error stays readable.
func excerpt(text string) string {
	runes := []rune(text)
	if len(runes) <= maxExcerpt {
		return text
	}
	return string(runes[:maxExcerpt]) + "…"
}

// survey notes where each field stands, and refuses what makes YAML surprising.
func (d *document) survey(field string, n *yaml.Node, depth int) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.wrong(field, "must be written out: anchors and aliases are not used in plans")
	case n.Style&yaml.TaggedStyle != 0:
		d.wrong(field, "must have no tag such as "+excerpt(n.Tag))
	case isNull(n):
		d.wrong(field, "must have a value; leave the field out if there is none")
	case depth > maxDepth:
		d.wrong(field, "must not lie so deep")
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxItems, n.Kind == yaml.SequenceNode && len(n.Content) > maxItems:
		d.wrong(field, fmt.Sprintf("must have at most %d entries", maxItems))
	case n.Kind == yaml.MappingNode:
		d.surveyMapping(field, n, depth)
	case n.Kind == yaml.SequenceNode:
		for i, element := range n.Content {
			d.places[item(field, i)] = placed(element.Line, element)
			d.survey(item(field, i), element, depth+1)
		}
	}
}

func (d *document) surveyMapping(field string, n *yaml.Node, depth int) {
	first := make(map[string]int)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := child(field, excerpt(key.Value))
		if line, ok := first[key.Value]; ok {
			d.note(rollout.Problem{Field: at, Allowed: fmt.Sprintf("must stand only once; line %d has it too", line), Line: key.Line})
			continue
		}
		first[key.Value] = key.Line
		d.places[at] = placed(key.Line, value)
		switch {
		case key.Tag == "!!merge":
			d.wrong(at, "must be written out: merge keys are not used in plans")
		case !isText(key) || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0:
			d.wrong(at, "must have a plain name; put it in quotes if it looks like a number")
		}
		d.survey(at, value, depth+1)
	}
}

func placed(line int, value *yaml.Node) place {
	if value.Kind != yaml.ScalarNode {
		return place{line: line}
	}
	return place{line: line, text: excerpt(value.Value)}
}

// isText reports whether a scalar is text; a plain date is, since a plan knows no dates.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!!timestamp")
}

// validate lets the plan judge itself and traces its problems to their lines.
func (d *document) validate(plan *rollout.Plan) {
	var invalid rollout.Invalid
	if !errors.As(plan.Validate(), &invalid) {
		return
	}
	for _, p := range invalid {
		p.Field = d.source(p.Field)
		if d.told(p.Field) {
			continue
		}
		at := d.place(p.Field)
		if _, written := d.places[p.Field]; !written {
			p.Value = "" // that of a missing field is none that a person has seen
		}
		p.Value, p.Line = cmp.Or(at.text, excerpt(p.Value)), at.line
		d.note(p)
	}
}

// source returns the field that the value of a field was taken from.
func (d *document) source(field string) string {
	for at := field; at != ""; at = parent(at) {
		if from, ok := d.origin[at]; ok {
			return from + strings.TrimPrefix(field, at)
		}
	}
	return field
}
