package planfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// object is a mapping while its fields are read. Each method that reads a field
// returns the given value if the field is missing, or wrong and noted as such.
// A field that nobody has asked for is unknown.
type object struct {
	doc    *document
	field  string
	fields map[string]*yaml.Node
	known  []string
}

// object reads a mapping.
func (d *document) object(field string, n *yaml.Node, read func(*object)) {
	if n.Kind != yaml.MappingNode {
		d.wrong(field, "must be a mapping of fields")
	}
	if d.told(field) {
		return
	}
	o := object{doc: d, field: field, fields: make(map[string]*yaml.Node)}
	for i := 0; i < len(n.Content); i += 2 {
		if _, twice := o.fields[n.Content[i].Value]; !twice {
			o.fields[n.Content[i].Value] = n.Content[i+1]
		}
	}
	read(&o)
	for i := 0; i < len(n.Content); i += 2 {
		if name := n.Content[i].Value; !slices.Contains(o.known, name) {
			o.unknown(name)
		}
	}
}

// unknown refuses a field, and says what it may have been meant for.
func (o *object) unknown(name string) {
	if o.doc.more {
		return
	}
	allowed := "is unknown here; allowed are " + strings.Join(o.known, ", ")
	meant, ok := nearest(name, o.known)
	if ok {
		allowed = fmt.Sprintf("is unknown here; did you mean %s? Allowed are %s", meant, strings.Join(o.known, ", "))
	}
	field := child(o.field, excerpt(name))
	o.doc.wrong(field, allowed)
	if ok && !o.has(meant) {
		o.silence(meant) // do not say that it is missing, too
	}
}

func (o *object) has(name string) bool { return o.fields[name] != nil }

// names returns those of all fields that are there.
func (o *object) names() []string { return slices.Sorted(maps.Keys(o.fields)) }

// take returns a field's node, or nil, and makes the field known.
func (o *object) take(name string) *yaml.Node {
	o.known = append(o.known, name)
	return o.fields[name]
}

func (o *object) wrong(name, allowed string) { o.doc.wrong(child(o.field, name), allowed) }

// silence keeps problems that follow from another one to itself.
func (o *object) silence(name string) { o.doc.failed[child(o.field, name)] = true }

// scalar returns the text of a field that is a scalar of one of some types.
func (o *object) scalar(name, allowed string, tags ...string) (string, bool) {
	n := o.take(name)
	if n == nil {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.Tag) {
		o.wrong(name, allowed)
		return "", false
	}
	return n.Value, true
}

func (o *object) text(name, missing string) string {
	text, ok := o.scalar(name, "must be text; put it in quotes if it looks like a number or true", "!!str", "!!timestamp")
	if !ok {
		return missing
	}
	return text
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func (o *object) whole(name string, missing int) int {
	const allowed = "must be a whole number, without quotes, unit or leading zero"
	text, ok := o.scalar(name, allowed, "!!int")
	if !ok {
		return missing
	}
	n, err := strconv.Atoi(text)
	if err != nil || !wholeNumber.MatchString(text) {
		o.wrong(name, allowed)
		return missing
	}
	return n
}

func (o *object) truth(name string) bool {
	text, ok := o.scalar(name, "must be true or false", "!!bool")
	return ok && strings.EqualFold(text, "true")
}

func (o *object) span(name string, missing time.Duration) time.Duration {
	const allowed = "must be a duration with its unit, such as 500ms, 30s, 15m, 24h or 7d"
	text, ok := o.scalar(name, allowed, "!!str")
	if !ok {
		return missing
	}
	d, ok := parseSpan(text)
	if !ok {
		o.wrong(name, allowed)
		return missing
	}
	return d
}

var percentage = regexp.MustCompile(`^[0-9]{1,3}%$`)

func (o *object) share(name string, missing flags.Share) flags.Share {
	const allowed = "must be a whole percentage with its sign, such as 25%"
	text, ok := o.scalar(name, allowed, "!!str")
	if !ok {
		return missing
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil || !percentage.MatchString(text) {
		o.wrong(name, allowed)
		return missing
	}
	return flags.Share(n)
}

// object reads a field that is a mapping.
func (o *object) object(name string, read func(*object)) {
	if n := o.take(name); n != nil {
		o.doc.object(child(o.field, name), n, read)
	}
}

// list reads a field that is a list of mappings.
func (o *object) list(name string, read func(*object)) {
	for i, n := range o.elements(name) {
		o.doc.object(item(child(o.field, name), i), n, read)
	}
}

// elements returns those of a field that is a list.
func (o *object) elements(name string) []*yaml.Node {
	n := o.take(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.wrong(name, "must be a list")
	}
	if o.doc.told(child(o.field, name)) {
		return nil
	}
	return n.Content
}

// texts reads a field that is a list of texts.
func (o *object) texts(name string, missing []string) []string {
	if !o.has(name) {
		o.take(name)
		return missing
	}
	var texts []string
	for i, n := range o.elements(name) {
		if !isText(n) {
			o.doc.wrong(item(child(o.field, name), i), "must be text; put it in quotes if it looks like a number or true")
		}
		texts = append(texts, n.Value)
	}
	return texts
}

// labels reads a field that is a mapping of free names to texts, numbers or truths.
func (o *object) labels(name string) map[string]string {
	var labels map[string]string
	o.object(name, func(free *object) {
		for _, key := range free.names() {
			n := free.take(key)
			if n.Kind != yaml.ScalarNode {
				free.wrong(excerpt(key), "must be one text, number, true or false")
				continue
			}
			if labels == nil {
				labels = make(map[string]string)
			}
			labels[key] = n.Value
		}
	})
	return labels
}

// each reads a field that is a mapping of free names to mappings.
func (o *object) each(name string, read func(key string, o *object)) {
	o.object(name, func(free *object) {
		for _, key := range free.names() {
			free.doc.object(child(free.field, excerpt(key)), free.take(key), func(o *object) { read(key, o) })
		}
	})
}
