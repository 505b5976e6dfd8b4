package cloudwatchtest

import (
	"encoding"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// branch is a form as a tree: A.member.1.B=x is x at A, member, 1, B.
type branch struct {
	text string
	twig map[string]*branch
}

// decodeForm reads a form into a shape.
func decodeForm(form url.Values, in any) error {
	root := &branch{}
	for key, values := range form {
		at := root
		for name := range strings.SplitSeq(key, ".") {
			name = strings.ToLower(name)
			if at.twig[name] == nil {
				if at.twig == nil {
					at.twig = make(map[string]*branch)
				}
				at.twig[name] = &branch{}
			}
			at = at.twig[name]
		}
		at.text = values[0]
	}
	return root.into(reflect.ValueOf(in).Elem())
}

// into reads a branch into a value.
func (b *branch) into(v reflect.Value) error {
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return text.UnmarshalText([]byte(b.text))
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return b.into(v.Elem())
	case reflect.Struct:
		return b.members(v)
	case reflect.Slice:
		return b.items(v)
	case reflect.String:
		v.SetString(b.text)
		return nil
	case reflect.Bool:
		yes, err := strconv.ParseBool(b.text)
		v.SetBool(yes)
		return err
	case reflect.Int:
		n, err := strconv.Atoi(b.text)
		v.SetInt(int64(n))
		return err
	default:
		return fmt.Errorf("no form holds a %s", v.Type())
	}
}

// members reads the twigs that a struct has fields for.
func (b *branch) members(v reflect.Value) error {
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		twig := b.twig[strings.ToLower(name)]
		if twig == nil {
			continue
		}
		if err := twig.into(v.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// items reads member.1, member.2 … in the order of their numbers.
func (b *branch) items(v reflect.Value) error {
	member := b.twig["member"]
	if member == nil {
		return nil
	}
	byNumber := make(map[int]*branch)
	for text, twig := range member.twig {
		number, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("member %q is no number", text)
		}
		byNumber[number] = twig
	}
	v.Set(reflect.MakeSlice(v.Type(), len(byNumber), len(byNumber)))
	for i, number := range slices.Sorted(maps.Keys(byNumber)) {
		if err := byNumber[number].into(v.Index(i)); err != nil {
			return fmt.Errorf("member %d: %w", number, err)
		}
	}
	return nil
}
