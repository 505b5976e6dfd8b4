package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// strictly decodes one JSON object into a struct. A name that is unknown, there
// twice or in another case is an error: what was meant must not be left out
// silently. Names are those of the struct, the nested ones included.
func strictly(text []byte, into any, names ...string) error {
	used, twice, err := object(text)
	if err != nil {
		return err
	}
	if twice != "" {
		return bad(twice, "", "is there twice")
	}
	for _, name := range used {
		if !slices.Contains(names, name) {
			return bad(name, "", "is no field of this; there are "+strings.Join(names, ", "))
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields() // finds those that are in the wrong place
	return wrongType(dec.Decode(into))
}

// loosely decodes one JSON object into a struct and leaves out what it does not know.
func loosely(text []byte, into any) error {
	if _, _, err := object(text); err != nil {
		return err
	}
	return wrongType(json.Unmarshal(text, into))
}

// object returns all names in a text, which must be one JSON object, and one
// that is twice in the same object.
func object(text []byte) (names []string, twice string, err error) {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		at := int64(len(text))
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return nil, "", bad("body", "", fmt.Sprintf("is not JSON, at byte %d: %v", at, err))
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return nil, "", bad("body", "", "must be a JSON object")
	}
	w := walk{dec: json.NewDecoder(bytes.NewReader(text))}
	w.value()
	return w.names, w.twice, nil
}

// walk goes through JSON that is known to be good.
type walk struct {
	dec   *json.Decoder
	names []string
	twice string
}

func (w *walk) value() {
	switch open, _ := w.dec.Token(); open {
	case json.Delim('{'):
		seen := map[string]bool{}
		for w.dec.More() {
			token, _ := w.dec.Token()
			name, _ := token.(string)
			folded := strings.ToLower(name) // as encoding/json finds fields
			if seen[folded] {
				w.twice = name
			}
			seen[folded] = true
			w.names = append(w.names, name)
			w.value()
		}
	case json.Delim('['):
		for w.dec.More() {
			w.value()
		}
	default:
		return
	}
	_, _ = w.dec.Token() // the closing one
}

// wrongType says which field is in a wrong place or has a value of a wrong type.
func wrongType(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return bad(wrong.Field, wrong.Value, "must be "+plain(wrong.Type.Kind().String()))
	default:
		return bad("body", "", strings.TrimPrefix(err.Error(), "json: "))
	}
}

// plain says in plain words what a kind of Go value looks like in JSON.
func plain(kind string) string {
	switch {
	case kind == "string":
		return "a text"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "a list"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number that is not negative"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	default:
		return "an object"
	}
}
