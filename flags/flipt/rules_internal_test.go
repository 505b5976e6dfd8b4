package flipt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// parse reads JSON as a client does.
func parse(t *testing.T, text string) (flag object) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&flag); err != nil {
		t.Fatal(err)
	}
	return flag
}

func TestTheShareIsWhatFliptServes(t *testing.T) {
	threshold := func(percentage string) string {
		return fmt.Sprintf(`{"type":"THRESHOLD_ROLLOUT_TYPE","threshold":{"percentage":%s,"value":true}}`, percentage)
	}
	for name, test := range map[string]struct {
		enabled  bool
		rollouts []string
		share    flags.Share
		foreign  bool
		odd      bool
	}{
		"a threshold":                        {rollouts: []string{threshold("25")}, share: 25},
		"a threshold at 0":                   {rollouts: []string{threshold("0")}},
		"a threshold that shows no 0":        {rollouts: []string{`{"type":"THRESHOLD_ROLLOUT_TYPE","threshold":{"value":true}}`}},
		"a threshold at 100":                 {rollouts: []string{threshold("100")}, share: 100},
		"a fraction is one bucket more":      {rollouts: []string{threshold("0.5")}, share: 1},
		"a fraction of nearly nothing":       {rollouts: []string{threshold("0.001")}, share: 1},
		"a fraction above 1":                 {rollouts: []string{threshold("1.000001")}, share: 2},
		"a fraction too small for 32 bits":   {rollouts: []string{threshold("25.0000001")}, share: 25},
		"no rollout":                         {},
		"no rollout, but enabled":            {enabled: true, share: 100},
		"a threshold, but enabled":           {enabled: true, rollouts: []string{threshold("25")}, share: 100},
		"a threshold above 100":              {rollouts: []string{threshold("150")}, share: 100, odd: true},
		"a threshold below 0":                {rollouts: []string{threshold("-1")}, share: 0, odd: true},
		"two thresholds":                     {rollouts: []string{threshold("5"), threshold("25")}, share: 100, foreign: true},
		"a percentage that is text":          {rollouts: []string{threshold(`"25"`)}, share: 100, foreign: true},
		"a percentage past all numbers":      {rollouts: []string{threshold("1e400")}, share: 100, foreign: true},
		"a threshold that gives false":       {rollouts: []string{`{"type":"THRESHOLD_ROLLOUT_TYPE","threshold":{"percentage":100}}`}, share: 100, foreign: true},
		"a rollout of no type":               {rollouts: []string{`{}`}, share: 100, foreign: true},
		"a threshold that has no threshold":  {rollouts: []string{`{"type":"THRESHOLD_ROLLOUT_TYPE"}`}, share: 100, foreign: true},
		"a segment":                          {rollouts: []string{`{"type":"SEGMENT_ROLLOUT_TYPE","segment":{"value":true}}`}, share: 100, foreign: true},
		"a segment, behind it the threshold": {rollouts: []string{`{"type":"SEGMENT_ROLLOUT_TYPE"}`, threshold("0")}, share: 100, foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := found{flag: object{"type": booleanFlag, "enabled": test.enabled}}
			for _, text := range test.rollouts {
				f.rollouts = append(f.rollouts, parse(t, text))
			}
			f.judge()
			if f.setting.Share != test.share || (f.foreign != nil) != test.foreign || (f.odd != nil) != test.odd {
				t.Errorf("got %v, foreign: %v, odd: %v", f.setting.Share, f.foreign, f.odd)
			}
			for _, err := range []error{f.foreign, f.odd} {
				if err != nil && !errors.Is(err, flags.ErrForeign) {
					t.Errorf("got error %v, want %v", err, flags.ErrForeign)
				}
			}
		})
	}
	t.Run("a variant flag", func(t *testing.T) {
		f := found{flag: object{"type": "VARIANT_FLAG_TYPE"}}
		f.judge()
		if f.setting.Share != flags.All || !errors.Is(f.foreign, flags.ErrForeign) {
			t.Errorf("got %v, %v", f.setting.Share, f.foreign)
		}
	})
}

func TestEqualJSONHasOneDigest(t *testing.T) {
	a := digest(parse(t, `{"key":"k","metadata":{"b":1.50,"a":[1,2]}}`))
	b := digest(parse(t, ` { "metadata":{"a":[1, 2], "b":1.50}, "key":"k"}`))
	if a != b {
		t.Errorf("got %s and %s", a, b)
	}
	for _, other := range []string{`{"key":"k"}`, `{"key":"k","metadata":{"b":1.5,"a":[2,1]}}`, `{"key":"K","metadata":{"b":1.50,"a":[1,2]}}`} {
		if digest(parse(t, other)) == a {
			t.Errorf("%s has the same digest", other)
		}
	}
}

func TestRulesThatAreTakenOffAreKeptAsText(t *testing.T) {
	segment, second := object{"type": "SEGMENT_ROLLOUT_TYPE"}, object{"type": "OTHER"}
	for name, test := range map[string]struct {
		before any
		gone   []object
		want   string
	}{
		"the first":                  {nil, []object{segment}, `[{"type":"SEGMENT_ROLLOUT_TYPE"}]`},
		"another later":              {`[{"type":"SEGMENT_ROLLOUT_TYPE"}]`, []object{second}, `[{"type":"SEGMENT_ROLLOUT_TYPE"},{"type":"OTHER"}]`},
		"the same again":             {`[{"type":"SEGMENT_ROLLOUT_TYPE"}]`, []object{segment}, `[{"type":"SEGMENT_ROLLOUT_TYPE"}]`},
		"beside somebody's own text": {`was: beta`, []object{second}, `["was: beta",{"type":"OTHER"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			meta := object{"owner": "team-orders"}
			if test.before != nil {
				meta[replacedKey] = test.before
			}
			if err := keepReplaced(meta, test.gone); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object{"owner": "team-orders", replacedKey: test.want}, meta); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOnlyWhatFliptTakesForARevisionIsOne(t *testing.T) {
	for text, want := range map[string]bool{
		"e648ea420d11a966fbc986366ce783c46b0c5d35": true,
		"":           false,
		"not-a-hash": false,
		"e648ea420d11a966fbc986366ce783c46b0c5d3":   false,
		"e648ea420d11a966fbc986366ce783c46b0c5d355": false,
		"e648ea420d11a966fbc986366ce783c46b0c5d3g":  false,
		"0000000000000000000000000000000000000000":  false,
	} {
		if got := isRevision(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestThereIsAProbeForEveryBucket(t *testing.T) {
	for _, flag := range []string{"orders-db-reads", "orders-db-writes", "f", "a-flag-with-quite-a-long-key-that-goes-on"} {
		for bucket := range int(flags.All) {
			if got := flags.Bucket(flag, probe(flag, bucket)); got != bucket {
				t.Fatalf("the probe for bucket %d of %s is in bucket %d", bucket, flag, got)
			}
		}
	}
}
