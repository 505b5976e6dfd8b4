package flipt_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// id makes something in v1 and returns what Flipt calls it.
func (b bench) id(t *testing.T, path string, body any) string {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal(b.ask(t, http.MethodPost, path, body), &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func TestADescriptionSaysWhichBucketsGetTrue(t *testing.T) {
	for name, test := range map[string]struct {
		enabled  bool
		rules    []rule
		plain    bool
		from, to int
		ours     bool
	}{
		"nothing":                               {plain: true, ours: true},
		"a threshold that gives true":           {rules: []rule{{percentage: 25, value: true}}, plain: true, to: 25, ours: true},
		"the same, for all":                     {rules: []rule{{percentage: 100, value: true}}, plain: true, to: 100, ours: true},
		"enabled, without rules":                {enabled: true, plain: true, to: 100, ours: true},
		"enabled, a threshold that gives false": {enabled: true, rules: []rule{{percentage: 75}}, plain: true, from: 75, to: 100},
		"enabled, and true below it too":        {enabled: true, rules: []rule{{percentage: 25, value: true}}, plain: true, to: 100, ours: true},
		"false for whom it holds and for all":   {rules: []rule{{percentage: 25}}, plain: true},
		"a segment":                             {rules: []rule{{segment: true, value: true}}},
		"two thresholds":                        {rules: []rule{{percentage: 10, value: true}, {percentage: 50, value: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, b bench) {
				key := b.flag(t)
				b.put(t, key, test.rules...)
				b.edit(t, key, func(flag map[string]any) { flag["enabled"] = test.enabled })
				d, err := b.store.Describe(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				if !d.Boolean || d.Enabled != test.enabled || d.Rules != len(test.rules) {
					t.Errorf("got %+v", d)
				}
				if d.Plain != test.plain || d.From != test.from || d.To != test.to || (d.Foreign == nil) != test.ours {
					t.Errorf("got plain %t, true from bucket %d to %d, foreign: %v", d.Plain, d.From, d.To, d.Foreign)
				}
				if d.Foreign == nil && d.Setting.Share != flags.Share(d.To) {
					t.Errorf("the store says %v, the description %d", d.Setting.Share, d.To)
				}
				if told := !d.CreatedAt.IsZero(); told != (b.hand.Version == flipttest.V1) {
					t.Errorf("it was created at %v", d.CreatedAt)
				}
				if len(test.rules) > 0 && test.rules[0].segment != (len(d.Segments) == 1 && d.Segments[0] == "everyone") {
					t.Errorf("its segments are %v", d.Segments)
				}
			}, flipttest.V1, flipttest.V2)
		})
	}
}

func TestADescriptionSaysWhichPartGetsWhichVariant(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		namespace, create := b.space(t)
		create(t, flags.Key{Namespace: namespace, Name: "first"}) // the namespace too
		key := flags.Key{Namespace: namespace, Name: "endpoint"}
		b.variantFlag(t, key, 75, 25)
		d, err := b.store.Describe(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		want := []flipt.Variant{{Key: "direct", Name: "direct", Percent: 75}, {Key: "proxy", Name: "proxy", Percent: 25}}
		byKey := cmpopts.SortSlices(func(a, b flipt.Variant) bool { return a.Key < b.Key })
		if diff := cmp.Diff(want, d.Variants, byKey); diff != "" || d.Boolean || !d.Plain || len(d.Segments) > 0 {
			t.Errorf("got %+v; variants -want +got:\n%s", d, diff)
		}

		b.narrow(t, namespace)
		if d, err = b.store.Describe(t.Context(), key); err != nil || d.Plain || len(d.Segments) != 1 {
			t.Errorf("with a segment of few, got %+v, %v", d, err)
		}
	}, flipttest.V1, flipttest.V2)
}

// narrow makes the segment that everyone is in one of few.
func (b bench) narrow(t *testing.T, namespace string) {
	t.Helper()
	constraint := map[string]any{"type": "STRING_COMPARISON_TYPE", "property": "zone", "operator": "eq", "value": "a"}
	if b.hand.Version == flipttest.V1 {
		b.ask(t, http.MethodPost, b.hand.NamespacesPath()+"/"+namespace+"/segments/everyone/constraints", constraint)
		return
	}
	b.ask(t, http.MethodPut, b.hand.ResourcesPath(namespace), map[string]any{"key": "everyone", "payload": map[string]any{
		"@type": "flipt.core.Segment", "key": "everyone", "name": "everyone", "matchType": "ALL_MATCH_TYPE", "constraints": []any{constraint},
	}})
}

func TestVariantsThatAreNotGivenToAllAreNotPlain(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		namespace, create := b.space(t)
		create(t, flags.Key{Namespace: namespace, Name: "first"})
		key := flags.Key{Namespace: namespace, Name: "endpoint"}
		b.variantFlag(t, key, 10, 0)
		if d, err := b.store.Describe(t.Context(), key); err != nil || d.Plain {
			t.Errorf("got %+v, %v", d, err)
		}
	}, flipttest.V1, flipttest.V2)
}

func TestDescribingAMissingFlagSaysSo(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		_, err := b.store.Describe(t.Context(), flags.Key{Namespace: "default", Name: "missing"})
		wantError(t, err, flags.ErrNotFound)
	}, flipttest.V1, flipttest.V2)
}
