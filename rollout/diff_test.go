package rollout_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// filledPlan is a plan in which every field has a value.
func filledPlan(t *testing.T) *rollout.Plan {
	t.Helper()
	text, err := os.ReadFile("planfile/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := planfile.Parse("every-field.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	p.Source.Settings = map[string]string{"wait_timeout": "60s"}
	p.Gates[1].Metric.Dimensions = map[string]string{"Pool": "a"} // which a metric of tasks has not, and Diff does not know
	return p
}

// changer changes every single field of a plan, one after the other.
type changer struct {
	t    *testing.T
	was  *rollout.Plan
	is   *rollout.Plan
	seen map[string]bool // the kinds of fields that differed
	n    int
}

// TestNoFieldOfAPlanChangesInSilence holds Diff to the plan's own fields, so that
// a new one cannot be forgotten.
func TestNoFieldOfAPlanChangesInSilence(t *testing.T) {
	c := &changer{t: t, was: filledPlan(t), is: filledPlan(t), seen: map[string]bool{}}
	c.all(reflect.ValueOf(c.is).Elem(), "")
	if c.n < 90 {
		t.Errorf("only %d fields were changed", c.n)
	}
	for _, field := range rollout.TermFields() {
		if !c.seen[field] {
			t.Errorf("there is a rule for %s, and no such field differs in any way", field)
		}
	}
}

// all changes what is in a value, found at a field.
func (c *changer) all(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			c.all(v.Field(i), strings.TrimPrefix(at+"."+name, "."))
		}
	case reflect.Slice:
		c.slice(v, at)
	case reflect.Map:
		c.aMap(v, at)
	case reflect.Pointer:
		other := 12.5
		c.differs(v, reflect.ValueOf(&other), at)
		if !v.IsNil() {
			c.differs(v, reflect.Zero(v.Type()), at)
		}
	default:
		c.differs(v, otherThan(c.t, v), at)
	}
}

// otherThan is another value of the same type.
func otherThan(t *testing.T, v reflect.Value) reflect.Value {
	other := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		other.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		other.SetInt(v.Int() + 1)
	case reflect.Bool:
		other.SetBool(!v.Bool())
	default:
		t.Fatalf("no other value of a %s is known", v.Type())
	}
	return other
}

func (c *changer) slice(v reflect.Value, at string) {
	old := reflect.ValueOf(v.Interface())
	if old.Len() == 0 && v.Type().Elem().Kind() == reflect.Struct {
		c.t.Fatalf("%s has nothing in it to change", at)
	}
	if v.Type().Elem().Kind() != reflect.Struct {
		more := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 0), old)
		c.differs(v, reflect.Append(more, otherThan(c.t, reflect.New(v.Type().Elem()).Elem())), at)
		if old.Len() > 0 {
			c.differs(v, old.Slice(1, old.Len()), at)
		}
		return
	}
	c.differs(v, old.Slice(1, old.Len()), at+"["+nameOf(old.Index(0))+"]")
	if old.Len() > 1 {
		turned := reflect.AppendSlice(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 0), old.Slice(1, old.Len())), old.Slice(0, 1))
		c.differs(v, turned, at)
	}
	for i := range v.Len() {
		c.all(v.Index(i), at+"["+nameOf(v.Index(i))+"]")
	}
}

func nameOf(v reflect.Value) string {
	if name := v.FieldByName("Name"); name.IsValid() {
		return name.String()
	}
	return fmt.Sprint(v.FieldByName("Share"))
}

func (c *changer) aMap(v reflect.Value, at string) {
	keys := v.MapKeys()
	if len(keys) == 0 {
		c.t.Fatalf("%s has nothing in it to change", at)
	}
	windows := v.Type().Elem().Kind() == reflect.Struct
	for _, key := range keys {
		field, old := at, v.MapIndex(key)
		if windows {
			field += "[" + key.String() + "]"
		}
		v.SetMapIndex(key, reflect.Value{})
		c.found(field)
		if windows {
			value := reflect.New(old.Type()).Elem()
			value.Set(old)
			c.window(v, key, value, field)
		} else {
			v.SetMapIndex(key, otherThan(c.t, old))
			c.found(field)
		}
		v.SetMapIndex(key, old)
	}
}

// window changes each field of a window, which is one field of the file.
func (c *changer) window(windows, key, w reflect.Value, at string) {
	for _, f := range w.Fields() {
		old := reflect.ValueOf(f.Interface())
		if f.Kind() == reflect.Slice {
			f.Set(reflect.ValueOf([]time.Weekday{time.Tuesday}))
		} else {
			f.Set(otherThan(c.t, f))
		}
		windows.SetMapIndex(key, w)
		c.found(at)
		f.Set(old)
	}
}

// differs sets a value, holds the difference to its field, and sets it back.
func (c *changer) differs(v, other reflect.Value, at string) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	v.Set(other)
	c.found(at)
	v.Set(old)
}

var (
	namesInPath = regexp.MustCompile(`\[[^\]]*\]`)
	lastName    = regexp.MustCompile(`\[([^\]]*)\]$`)
)

// found holds what differs now to one field. A name that changed is one thing
// that is gone and another that came.
func (c *changer) found(at string) {
	c.t.Helper()
	c.n++
	at = strings.NewReplacer(".manual", ".go", "limit.m", "limit.for", "limit.n", "limit.for").Replace(at)
	want := []string{at}
	if cut, isName := strings.CutSuffix(at, "].name"); isName && !strings.HasSuffix(at, "metric.name") {
		want = []string{cut + "]", cut + "x]"}
	}
	if cut, isShare := strings.CutSuffix(at, "%].share"); isShare {
		list, share := cut[:strings.LastIndex(cut, "[")], cut[strings.LastIndex(cut, "[")+1:]
		n, _ := strconv.Atoi(share)
		want = []string{cut + "%]", fmt.Sprintf("%s[%d%%]", list, n+1)}
	}
	if gate, isUnit := strings.CutSuffix(at, "metric.unit"); isUnit { // in another unit it is another limit, too
		want = append(want, gate+"limit.above")
		if gate == "gates[borrow-wait]." {
			want = append(want, gate+"limit.below")
		}
	}
	var got []string
	for _, d := range rollout.Diff(c.was, c.is) {
		got = append(got, d.Field)
		c.seen[namesInPath.ReplaceAllString(lastName.ReplaceAllString(d.Field, ""), "[]")] = true
		if d.Was == d.Is && !strings.HasPrefix(d.Field, "windows[") || d.Sense == "" || d.Why == "" {
			c.t.Errorf("%+v says too little", d)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("%s was changed (-want +found):\n%s", at, diff)
	}
	if c.was.Hash() == c.is.Hash() {
		c.t.Errorf("%s was changed, and the hash is the same", at)
	}
}
