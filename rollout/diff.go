package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Difference is a field in which two plans differ.
type Difference struct {
	Field string `json:"field"` // as in the plan file: gates[borrow-wait].limit.above
	Was   string `json:"was"`   // as people write it; empty if it was not there
	Is    string `json:"is"`
	Sense Sense  `json:"sense"`
	Why   string `json:"why"` // it has that sense
}

func (d Difference) String() string {
	switch {
	case d.Was == "":
		return fmt.Sprintf("%s added: %s", d.Field, d.Is)
	case d.Is == "":
		return fmt.Sprintf("%s removed: %s", d.Field, d.Was)
	default:
		return fmt.Sprintf("%s from %s to %s", d.Field, d.Was, d.Is)
	}
}

// Diff returns the fields in which two plans differ, in the order of the plan
// file. Gates, lanes, services and windows are matched by name, stages by share.
func Diff(was, is *Plan) []Difference {
	w := walk{terms: map[string]term{}, found: new([]Difference)}
	for _, t := range terms() {
		w.terms[t.field] = t
	}
	w.head(was, is)
	w.text("kind", was.Kind, is.Kind)
	w.places(was, is)
	w.services(was.Services, is.Services)
	w.lanes(was.Lanes, is.Lanes)
	w.windows(was, is)
	w.span("soak.for", was.Soak.For, is.Soak.For)
	w.names("soak.contains", was.Soak.Contains, is.Soak.Contains)
	w.gates(was.Gates, is.Gates)
	w.pace(was, is)
	for i := range *w.found {
		if d := &(*w.found)[i]; d.Sense == Tightens && eases(was, is, d.Field) {
			d.Sense, d.Why = Loosens, "fewer people are asked than for the step it is a part of"
		}
	}
	return *w.found
}

// eases reports whether a field is a new stage that asks fewer people than the
// step which it divides did.
func eases(was, is *Plan, field string) bool {
	for i := range min(len(was.Lanes), len(is.Lanes)) {
		for _, stage := range is.Lanes[i].Stages {
			if field != fmt.Sprintf("lanes[%s].stages[%v]", is.Lanes[i].Name, stage.Share) {
				continue
			}
			whole, ok := was.Lanes[i].next(stage.Share)
			return ok && (stage.Approvals < whole.Approvals || whole.Manual && !stage.Manual)
		}
	}
	return false
}

// walk goes through two plans side by side.
type walk struct {
	terms map[string]term
	found *[]Difference
	field string // where it is, such as gates[borrow-wait].
	term  string // the same without names: gates[].
}

// in goes into one of a list.
func (w walk) in(list, name string) walk {
	w.field, w.term = w.field+list+"["+name+"].", w.term+list+"[]."
	return w
}

// note adds a difference. What two texts cannot show differs all the same.
func (w walk) note(name, was, is string, c change) { w.noteAt(w.field+name, name, was, is, c) }

func (w walk) noteAt(field, name, was, is string, c change) {
	t := w.terms[w.term+name]
	sense, why := t.sense(c)
	*w.found = append(*w.found, Difference{Field: field, Was: was, Is: is, Sense: sense, Why: why})
}

// grew says whether a value is more than it was, or less.
func grew[T cmp.Ordered](was, is T) change {
	if is > was {
		return grown
	}
	return shrunk
}

// text compares what is neither more nor less.
func (w walk) text(name string, was, is any) {
	if was != is {
		w.note(name, fmt.Sprint(was), fmt.Sprint(is), unlike)
	}
}

func (w walk) span(name string, was, is time.Duration) {
	if was != is {
		w.note(name, FormatSpan(was), FormatSpan(is), grew(was, is))
	}
}

func (w walk) whole(name string, was, is int, unit string) {
	if was != is {
		w.note(name, fmt.Sprint(was, unit), fmt.Sprint(is, unit), grew(was, is))
	}
}

// ranked compares values of a list that goes from the most lenient to the strictest.
func ranked[T comparable](w walk, name string, was, is T, from ...T) {
	if was == is {
		return
	}
	a, b := slices.Index(from, was), slices.Index(from, is)
	c := grew(a, b)
	if a < 0 || b < 0 {
		c = unlike
	}
	w.note(name, fmt.Sprint(was), fmt.Sprint(is), c)
}

// names compares sets of names; their order means nothing.
func (w walk) names(name string, was, is []string) {
	if slices.Equal(was, is) {
		return
	}
	w.note(name, orNone(strings.Join(was, ", ")), orNone(strings.Join(is, ", ")), setChange(was, is))
}

func orNone(text string) string { return cmp.Or(text, "none") }

// setChange says whether one set has all of another and more.
func setChange(was, is []string) change {
	keeps := !slices.ContainsFunc(was, func(name string) bool { return !slices.Contains(is, name) })
	adds := slices.ContainsFunc(is, func(name string) bool { return !slices.Contains(was, name) })
	switch {
	case keeps && adds:
		return grown
	case keeps:
		return alike
	case !adds:
		return shrunk
	default:
		return unlike
	}
}

// labels compares names with a value each.
func (w walk) labels(name string, was, is map[string]string) {
	if maps.Equal(was, is) {
		return
	}
	written := func(labels map[string]string) string {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			parts = append(parts, key+": "+labels[key])
		}
		return orNone(strings.Join(parts, ", "))
	}
	w.note(name, written(was), written(is), unlike)
}

// listed matches what two lists have by name: what is in one only is added or
// removed, and both are handed on where they are in both.
func matched[T any](w walk, list string, was, is []T, name, gist func(*T) string, both func(w walk, was, is *T)) {
	named := func(all []T) (names []string, by map[string]*T) {
		by = map[string]*T{}
		for i := range all {
			names = append(names, name(&all[i]))
			by[names[i]] = &all[i]
		}
		return names, by
	}
	before, old := named(was)
	after, now := named(is)
	for _, key := range before {
		if now[key] == nil {
			w.noteAt(fmt.Sprintf("%s%s[%s]", w.field, list, key), list, gist(old[key]), "", shrunk)
			continue
		}
		both(w.in(list, key), old[key], now[key])
	}
	for _, key := range after {
		if old[key] == nil {
			w.noteAt(fmt.Sprintf("%s%s[%s]", w.field, list, key), list, "", gist(now[key]), grown)
		}
	}
	if !slices.Equal(before, after) && setChange(before, after) == alike {
		w.note(list, strings.Join(before, ", "), strings.Join(after, ", "), alike)
	}
}
