package planfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// checker holds plan files against the schema, as an editor does.
type checker struct{ schema *jsonschema.Schema }

func compiled(t testing.TB) checker {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return checker{schema}
}

func (c checker) check(text []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return err
	}
	value, err := plain(root.Content[0])
	if err != nil {
		return err
	}
	return c.schema.Validate(value)
}

// plain returns what JSON makes of YAML.
func plain(n *yaml.Node) (any, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		object := make(map[string]any)
		for pair := range slices.Chunk(n.Content, 2) {
			if _, twice := object[pair[0].Value]; twice {
				return nil, fmt.Errorf("field %s stands twice", pair[0].Value)
			}
			value, err := plain(pair[1])
			if err != nil {
				return nil, err
			}
			object[pair[0].Value] = value
		}
		return object, nil
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			value, err := plain(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case n.Tag == "!!timestamp":
		return n.Value, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	if number, ok := value.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
		return nil, fmt.Errorf("JSON has no number %v", number)
	}
	return value, nil
}

func TestTheSchemaAcceptsWhatTheParserAccepts(t *testing.T) {
	schema := compiled(t)
	for name, text := range map[string]string{"every field": everyField(t), "the least": leastPlan} {
		if err := schema.check([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaRefusesAPlanOfBadStructureAsTheParserDoes(t *testing.T) {
	schema := compiled(t)
	for _, b := range slices.Concat(badFields(), badValues(), badSense(), badGates()) {
		t.Run(b.name, func(t *testing.T) {
			err := schema.check(b.text(t))
			if err == nil && !b.passes {
				t.Error("the schema accepts it, and an editor would show nothing")
			}
			if err != nil && b.passes {
				t.Errorf("the schema refuses it, which the table does not know: %v", err)
			}
		})
	}
}

func TestTheSchemaAndTheParserKnowTheSameFields(t *testing.T) {
	var schema struct {
		node
		Defs map[string]node `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	allowed := regexp.MustCompile(`(?m)^line [0-9]+: (.*)zzz: .*[Aa]llowed are (.*)$`)
	root := parsed(t, everyField(t))
	salt(root)
	text, err := yaml.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("salted.yaml", text)
	found := allowed.FindAllStringSubmatch(err.Error(), -1)
	if len(found) < 20 {
		t.Fatalf("the salt came up in %d objects only: %v", len(found), err)
	}
	for _, match := range found {
		at, parser := match[1], strings.Split(match[2], ", ")
		inSchema := schema.at(at, schema.Defs)
		slices.Sort(parser)
		if diff := cmp.Diff(parser, inSchema); diff != "" {
			t.Errorf("at %q the fields differ (-parser +schema):\n%s", at, diff)
		}
	}
}

func parsed(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return root.Content[0]
}

// salt puts an unknown field into every mapping.
func salt(n *yaml.Node) {
	for _, inner := range n.Content {
		salt(inner)
	}
	if n.Kind == yaml.MappingNode {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "zzz"}, &yaml.Node{Kind: yaml.ScalarNode, Value: "1"})
	}
}

// node is what a schema says of one value.
type node struct {
	Ref        string          `json:"$ref"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	Additional json.RawMessage `json:"additionalProperties"`
}

// at returns the names of the fields at a path such as lanes[1].stages[0].
func (n node) at(path string, defs map[string]node) []string {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		name, _, isItem := strings.Cut(step, "[")
		next, ok := n.Properties[name]
		if !ok {
			_ = json.Unmarshal(n.Additional, &next) // of a mapping of free names
		}
		n = next.resolve(defs)
		if isItem && n.Items != nil {
			n = n.Items.resolve(defs)
		}
	}
	var names []string
	for name := range n.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (n node) resolve(defs map[string]node) node {
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		return defs[name]
	}
	return n
}
