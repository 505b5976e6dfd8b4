package web

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/web/apitest"
)

// described is what the server says of its API, read once for all tests.
var described = sync.OnceValue(func() *apitest.Description {
	d, err := apitest.Load(context.Background(), New(Options{Log: slog.New(slog.DiscardHandler)}))
	if err != nil {
		panic(err)
	}
	return d
})

func TestTheDescriptionHasEveryRouteAndNoOther(t *testing.T) {
	served := map[string]bool{}
	routes, ok := newHouse(t).server.(chi.Routes)
	if !ok {
		t.Fatal("the handler does not tell its routes")
	}
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if path, ours := strings.CutPrefix(route, "/api/v1"); ours {
			served[method+" "+path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for path, item := range described().Paths.Map() {
		for method := range item.Operations() {
			written[method+" "+path] = true
		}
	}
	if diff := cmp.Diff(served, written); diff != "" {
		t.Errorf("served (-) and described (+):\n%s", diff)
	}
}

// aboutAll is what an admin may ask of all rollouts, one after the other.
var aboutAll = []struct{ method, path, body string }{
	{"POST", "/api/v1/hold-all", `{"reason":"storm"}`},
	{"DELETE", "/api/v1/hold-all?reason=over", ""},
	{"POST", "/api/v1/rollouts/orders-db/amendments?dry_run=true", "rollout: orders-db"},
	{"POST", "/api/v1/rollouts/orders-db/amendments", "rollout: orders-db"},
	{"POST", "/api/v1/freezes", `{"database":"orders","for":"2h","reason":"peak"}`},
	{"DELETE", "/api/v1/freezes/orders", ""},
	{"POST", "/api/v1/quiet", `{"database":"orders","quiet":false,"what":"deploy checkout 2.4","for":"30m"}`},
	{"POST", "/api/v1/quiet", `{"database":"orders","quiet":true,"what":"deploy checkout 2.4"}`},
	{"POST", "/api/v1/tokens", `{"name":"ben","grants":[{"role":"operator","databases":["orders"]}],"expires_in":"90d"}`},
	{"DELETE", "/api/v1/tokens/ben", ""},
}

func TestEveryOperationIsDescribedAsItIsWhenObeyedAndWhenNot(t *testing.T) {
	h := newHouse(t)
	for _, route := range routes {
		h.ask(route.allowed[len(route.allowed)-1], route.method, route.path, route.body)
		h.ask("", route.method, route.path, route.body)
	}
	for _, about := range aboutAll {
		h.ask(Admin, about.method, about.path, about.body)
		h.ask("", about.method, about.path, about.body)
	}
	for _, path := range []string{"/api/v1/healthz", "/api/v1/openapi.yaml", "/api/v1/openapi.json"} { // open to anybody
		h.ask("", "GET", path, "")
		h.ask("", "GET", path, "", "Accept", "text/html")
	}
	checker, ok := h.handler.(*apitest.Checker)
	if !ok {
		t.Fatal("the server is not held to its description")
	}
	for path, item := range described().Paths.Map() {
		for method, operation := range item.Operations() {
			if obeyed, refused := checker.Exercised(operation.OperationID); !obeyed || !refused {
				t.Errorf("%s %s: obeyed %v, refused %v", method, path, obeyed, refused)
			}
		}
	}
}

// mirrored are the types behind the schemas.
var mirrored = map[string]any{
	"Problem": Problem{}, "Wrong": rollout.Problem{}, "Changed": Changed{}, "Change": Change{},
	"RolloutList": rolloutList{}, "EventList": eventList{}, "GateList": gateList{}, "TaskList": taskList{}, "ApprovalList": approvalList{},
	"HoldList": holdList{}, "ReportOf": reportOf{}, "HeldAll": heldAll{}, "FreezeList": freezeList{}, "DisturbanceList": disturbanceList{},
	"TokenList": tokenList{}, "Token": tokenShown{}, "Grant": Grant{}, "Awaited": awaited{},
	"Verification": verdict{}, "Checkpoint": audit.Checkpoint{}, "Damage": audit.Damage{},
	"Status": rollout.Status{}, "State": rollout.State{}, "Event": rollout.Event{}, "Plan": rollout.Plan{}, "Command": rollout.Command{},
	"Lane": rollout.Lane{}, "Raise": rollout.Raise{}, "Hold": rollout.Hold{}, "Approval": rollout.Approval{}, "Wait": rollout.Wait{},
	"Report": rollout.Report{}, "Check": rollout.Check{}, "LaneShare": rollout.LaneShare{}, "Offer": rollout.Offer{}, "Proposal": rollout.Proposal{},
	"House": rollout.House{}, "Freeze": rollout.Freeze{}, "Disturbance": rollout.Disturbance{},
	"PlanList": versionList{}, "PlanVersion": rollout.PlanVersion{}, "PlanChecked": checked{}, "AmendmentChecked": proposed{}, "Difference": rollout.Difference{},
	"LaneStatus": rollout.LaneStatus{}, "Observation": rollout.Observation{}, "Reading": rollout.Reading{},
	"TaskStatus": rollout.TaskStatus{}, "TaskLane": rollout.TaskLane{},
	"Verdict": gates.Verdict{}, "Point": gates.Point{}, "Gate": gates.Gate{}, "Metric": gates.Metric{}, "Limit": gates.Limit{},
	"Database": rollout.Database{}, "Endpoint": rollout.Endpoint{}, "Service": rollout.Service{}, "LanePlan": rollout.LanePlan{},
	"Stage": rollout.Stage{}, "Soak": rollout.Soak{}, "Converge": rollout.Converge{}, "Window": rollout.Window{}, "FlagKey": flags.Key{},
}

// taken are the types behind the schemas of what is sent: what may be missing
// there is said by the handlers.
var taken = map[string]any{
	"Order": order{}, "TaskReport": rollout.TaskReport{}, "LaneReport": rollout.LaneReport{}, "TokenWish": tokenWanted{},
}

// field is one field of a type as JSON has it.
type field struct {
	name     string
	optional bool
	of       reflect.Type
}

// fieldsOf returns the fields that JSON has of a type.
func fieldsOf(typ reflect.Type) []field {
	var list []field
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			list = append(list, fieldsOf(f.Type)...)
		case f.IsExported() && name != "-":
			list = append(list, field{name, strings.Contains(options, "omit"), f.Type})
		}
	}
	return list
}

func TestTheDescriptionHasTheFieldsOfEveryType(t *testing.T) {
	names := map[reflect.Type]string{}
	for name, value := range mirrored {
		names[reflect.TypeOf(value)] = name
	}
	for name, value := range mirrored {
		compare(t, name, reflect.TypeOf(value), names, true)
	}
	for name, value := range taken {
		compare(t, name, reflect.TypeOf(value), nil, false)
	}
}

func compare(t *testing.T, name string, typ reflect.Type, names map[reflect.Type]string, required bool) {
	t.Helper()
	schema := described().Components.Schemas[name]
	if schema == nil {
		t.Errorf("there is no schema %s", name)
		return
	}
	var have, must []string
	for _, f := range fieldsOf(typ) {
		have = append(have, f.name)
		if !f.optional {
			must = append(must, f.name)
		}
		property := schema.Value.Properties[f.name]
		if want := names[base(f.of)]; want != "" && property != nil && !refers(property, want) {
			t.Errorf("%s.%s is not described as %s", name, f.name, want)
		}
	}
	slices.Sort(have)
	if diff := cmp.Diff(have, slices.Sorted(maps.Keys(schema.Value.Properties))); diff != "" {
		t.Errorf("%s in Go (-) and described (+):\n%s", name, diff)
	}
	if slices.Sort(must); required && !cmp.Equal(must, slices.Sorted(slices.Values(schema.Value.Required))) {
		t.Errorf("%s always has (-) and must have (+):\n%s", name, cmp.Diff(must, slices.Sorted(slices.Values(schema.Value.Required))))
	}
}

// base is what a type has one, many, or none of.
func base(typ reflect.Type) reflect.Type {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, typ.Kind()) {
		typ = typ.Elem()
	}
	return typ
}

// refers reports whether a schema is that of a name, or of many of it, or null.
func refers(s *openapi3.SchemaRef, name string) bool {
	switch {
	case s == nil:
		return false
	case s.Ref != "":
		return s.Ref == "#/components/schemas/"+name
	case refers(s.Value.Items, name), refers(s.Value.AdditionalProperties.Schema, name):
		return true
	}
	return slices.ContainsFunc(s.Value.AnyOf, func(one *openapi3.SchemaRef) bool { return refers(one, name) })
}

func TestAFilledValueOfEveryTypeIsAsDescribed(t *testing.T) {
	for name, value := range mirrored {
		filled := reflect.New(reflect.TypeOf(value))
		fill(filled.Elem(), 6)
		text, err := json.Marshal(filled.Interface())
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		if err := described().Components.Schemas[name].Value.VisitJSON(plain, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// words are values of the types that have only some.
var words = map[reflect.Type]string{
	reflect.TypeFor[rollout.Phase](): "held", reflect.TypeFor[rollout.Kind](): "raised", reflect.TypeFor[rollout.HoldKind](): "gate",
	reflect.TypeFor[rollout.WaitKind](): "bake", reflect.TypeFor[rollout.TaskUse](): "stray", reflect.TypeFor[rollout.Class](): "reads",
	reflect.TypeFor[rollout.PlanKind](): "same-data", reflect.TypeFor[rollout.OnRaise](): "hold",
	reflect.TypeFor[rollout.Sense](): "loosens",
	reflect.TypeFor[gates.Absent]():  "zero", reflect.TypeFor[gates.OnBreach](): "zero", reflect.TypeFor[gates.Scope](): "lane",
	reflect.TypeFor[gates.Cause](): "stale", reflect.TypeFor[gates.Result](): "pass", reflect.TypeFor[audit.Kind](): "cut",
	reflect.TypeFor[Code](): "away", reflect.TypeFor[Role](): "admin", reflect.TypeFor[subject](): "step",
}

// fill sets everything, so that nothing is left out of the JSON.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(began))
		return
	case audit.Hash:
		v.Set(reflect.ValueOf(audit.Hash{1, 2}))
		return
	case Problem:
		defer func() { v.FieldByName("Status").SetInt(404) }()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("pass") // also the result of a check
		if word, ok := words[v.Type()]; ok {
			v.SetString(word)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(5)
	case reflect.Uint64:
		v.SetUint(5)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f, depth)
			}
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth-1)
		fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

func TestTheDescriptionHasEveryWordThatThereIs(t *testing.T) {
	for _, tt := range []struct{ dir, typ, schema, property string }{
		{"../rollout", "Phase", "Phase", ""},
		{"../rollout", "Kind", "Kind", ""},
		{"../rollout", "HoldKind", "HoldKind", ""},
		{"../rollout", "WaitKind", "WaitKind", ""},
		{"../rollout", "TaskUse", "TaskUse", ""},
		{"../rollout", "Class", "Class", ""},
		{"../rollout", "PlanKind", "Plan", "kind"},
		{"../rollout", "OnRaise", "Plan", "on_raise"},
		{"../rollout", "Sense", "Difference", "sense"},
		{"../gates", "Absent", "Gate", "absent"},
		{"../gates", "OnBreach", "Gate", "on_breach"},
		{"../gates", "Scope", "Gate", "scope"},
		{"../gates", "Cause", "Cause", ""},
		{"../gates", "Result", "Verdict", "result"},
		{"../rollout/audit", "Kind", "Damage", "kind"},
		{".", "Code", "Code", ""},
		{".", "Role", "Role", ""},
		{".", "subject", "Awaited", "what"},
	} {
		schema := described().Components.Schemas[tt.schema]
		if tt.property != "" {
			schema = schema.Value.Properties[tt.property]
		}
		if diff := cmp.Diff(constants(t, tt.dir, tt.typ), enumOf(schema)); diff != "" {
			t.Errorf("%s %s in Go (-) and described (+):\n%s", tt.dir, tt.typ, diff)
		}
	}
	for name, list := range map[string][]string{
		"Verb": plainly(verbs()), "Phase": plainly(rollout.Phases()), "Kind": plainly(kinds()), "TaskUse": plainly(uses()), "Role": plainly(roles()),
	} {
		if diff := cmp.Diff(list, enumOf(described().Components.Schemas[name])); diff != "" {
			t.Errorf("%s understood (-) and described (+):\n%s", name, diff)
		}
	}
}

func plainly[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	slices.Sort(texts)
	return texts
}

func enumOf(s *openapi3.SchemaRef) []string {
	var list []string
	for _, value := range s.Value.Enum {
		text, _ := value.(string)
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// constants returns the values of all constants of a type, as its source has them.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || strings.HasSuffix(path, "_test.go") {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != typ {
				return true
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, text)
				}
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}
