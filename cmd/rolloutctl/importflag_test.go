package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// madeByHand is a flag as people make them.
type madeByHand struct {
	enabled  bool
	rollouts []map[string]any
	variants []map[string]any // key and percent
}

func thresholdOf(percentage float64, value bool) map[string]any {
	return map[string]any{"threshold": map[string]any{"percentage": percentage, "value": value}}
}

func segmentOf(key string) map[string]any {
	return map[string]any{"segment": map[string]any{"segmentKey": key, "segments": []string{key}, "value": true}}
}

func variantOf(key string, percent float64) map[string]any {
	return map[string]any{"key": key, "percent": percent}
}

// make creates the flag in either generation.
func (m madeByHand) make(t *testing.T, g *glassStand, key flags.Key) {
	t.Helper()
	if g.hand.Version == flipttest.V2 {
		m.makeV2(t, g, key)
		return
	}
	kind := "BOOLEAN_FLAG_TYPE"
	if m.variants != nil {
		kind = "VARIANT_FLAG_TYPE"
	}
	g.do(t, g.hand.NamespacesPath()+"/"+key.Namespace+"/flags", map[string]any{"key": key.Name, "name": key.Name, "type": kind, "enabled": m.enabled})
	for i, rollout := range m.rollouts {
		rollout["rank"] = i + 1
		g.do(t, g.hand.FlagPath(key)+"/rollouts", rollout)
	}
	if m.variants == nil {
		return
	}
	g.do(t, g.hand.NamespacesPath()+"/"+key.Namespace+"/segments", map[string]any{"key": "everyone", "name": "everyone"})
	rule := g.do(t, g.hand.FlagPath(key)+"/rules", map[string]any{"segmentKeys": []string{"everyone"}, "rank": 1})
	for _, v := range m.variants {
		made := g.do(t, g.hand.FlagPath(key)+"/variants", map[string]any{"key": v["key"], "name": v["key"]})
		g.do(t, g.hand.FlagPath(key)+"/rules/"+rule+"/distributions", map[string]any{"variantId": made, "rollout": v["percent"]})
	}
}

func (m madeByHand) makeV2(t *testing.T, g *glassStand, key flags.Key) {
	t.Helper()
	payload := map[string]any{"@type": "flipt.core.Flag", "key": key.Name, "name": key.Name, "type": "BOOLEAN_FLAG_TYPE", "enabled": m.enabled}
	for _, rollout := range m.rollouts {
		rollout["type"] = "THRESHOLD_ROLLOUT_TYPE"
		if rollout["segment"] != nil {
			rollout["type"] = "SEGMENT_ROLLOUT_TYPE"
		}
	}
	payload["rollouts"] = m.rollouts
	if m.variants != nil {
		g.do(t, g.hand.ResourcesPath(key.Namespace), map[string]any{"key": "everyone", "payload": map[string]any{
			"@type": "flipt.core.Segment", "key": "everyone", "name": "everyone",
		}})
		var variants, parts []any
		for _, v := range m.variants {
			variants = append(variants, map[string]any{"key": v["key"], "name": v["key"]})
			parts = append(parts, map[string]any{"variant": v["key"], "rollout": v["percent"]})
		}
		payload["type"], payload["variants"] = "VARIANT_FLAG_TYPE", variants
		payload["rules"] = []any{map[string]any{"segments": []string{"everyone"}, "distributions": parts}}
	}
	g.do(t, g.hand.ResourcesPath(key.Namespace), map[string]any{"key": key.Name, "payload": payload})
}

// do makes something, and returns what Flipt calls it.
func (g *glassStand) do(t *testing.T, path string, body any) (id string) {
	t.Helper()
	status, text, err := g.hand.Do(t.Context(), http.MethodPost, path, body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s answered %d, %v: %s", path, status, err, text)
	}
	var made struct{ ID string }
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// importFlag imports orders-reads of a Flipt, and returns the plan's file and all that was said.
func (g *glassStand) importFlag(t *testing.T, args ...string) (code int, file, said string) {
	t.Helper()
	var out, errs bytes.Buffer
	file = filepath.Join(t.TempDir(), "plan.yaml")
	args = append([]string{
		"plan", "import", "--flipt", g.URL, "--flipt-token-file", secretFile(t), "--flag", "default/orders-reads", "--out", file,
		"--rollout", "orders-db", "--owner", "team-orders", "--database", "orders:aurora-mysql",
		"--source", "orders.example:3306", "--target", "orders-proxy.example:3306:rds-proxy", "--service", "checkout:120:38",
	}, args...)
	code = run(t.Context(), args, streams{out: &out, err: &errs})
	return code, file, strings.ReplaceAll(out.String()+errs.String(), file, "PLAN")
}

func TestFlagsMadeByHandBecomeAPlanOrAreRefusedWithTheReason(t *testing.T) {
	for name, test := range map[string]struct {
		flag madeByHand
		args []string
		code int
		uses string // the lane's flag
		says []string
	}{
		"boolean at 25 %": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(25, true)}},
			uses: "default/orders-reads",
			says: []string{
				"lane reads uses flag default/orders-reads itself, which is at 25%\n", "lane reads stands at its stage of 25%\n",
				"next: rolloutctl plan apply PLAN\n      rolloutctl adopt orders-db --at reads:25\n",
			},
		},
		"boolean at 30 %, between two stages": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(30, true)}},
			uses: "default/orders-reads",
			says: []string{"lane reads stands at its stage of 25%\n", "rolloutctl adopt orders-db --at reads:30\n"},
		},
		"a new flag that is not needed": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(25, true)}},
			args: []string{"--as", "default/orders-db-reads"},
			uses: "default/orders-reads",
			says: []string{"no new flag is needed: --as is not used\n"},
		},
		"boolean at 0 %": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(0, true)}},
			uses: "default/orders-reads",
			says: []string{"      rolloutctl start orders-db\n"},
		},
		"inverted": {
			flag: madeByHand{enabled: true, rollouts: []map[string]any{thresholdOf(75, false)}},
			code: exitRefused,
			says: []string{
				"error: flag default/orders-reads cannot be taken over: it is inverted, enabled with a threshold that gives false: " +
					"the target's tasks are those in the buckets from 75 up; ours would be those below 25, " +
					"so taking it over in place would move 50 % of the tasks: 25 % to the target and 25 % back\n",
				"next: a new boolean flag beside it: --as default/ANOTHER-KEY\n",
			},
		},
		"inverted, with a new flag": {
			flag: madeByHand{enabled: true, rollouts: []map[string]any{thresholdOf(75, false)}},
			args: []string{"--as", "default/orders-db-reads"},
			uses: "default/orders-db-reads",
			says: []string{
				"lane reads uses the new flag default/orders-db-reads instead, from 0 %\n",
				"create flag default/orders-db-reads: boolean, not enabled, one threshold that gives true at 0 %\n",
				"let the application use the target if default/orders-reads or default/orders-db-reads says so",
				"if these 25% may go back: set the threshold of default/orders-reads to 100 %, so that the lane alone decides",
				"rolloutctl start orders-db\n      when lane reads has baked at 100 %, take default/orders-reads out of the application\n",
			},
		},
		"inverted by what its true means": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(60, true)}},
			args: []string{"--inverted"},
			code: exitRefused,
			says: []string{"its true means the source, and ours means the target: the target's tasks are those in the buckets from 60 up", "move 80 % of the tasks"},
		},
		"inverted twice, and so the same buckets": {
			flag: madeByHand{enabled: true, rollouts: []map[string]any{thresholdOf(40, false)}},
			args: []string{"--inverted"},
			code: exitRefused,
			says: []string{"its true means the source, and ours means the target\n"},
		},
		"two variants 75/25": {
			flag: madeByHand{enabled: true, variants: []map[string]any{variantOf("direct", 75), variantOf("proxy", 25)}},
			code: exitRefused,
			says: []string{"it has two variants, of which proxy (25 %) is the target", "would move about 38 % of the tasks\n", "--as default/ANOTHER-KEY\n"},
		},
		"two variants, with a new flag": {
			flag: madeByHand{enabled: true, variants: []map[string]any{variantOf("proxy", 25), variantOf("direct", 75)}},
			args: []string{"--as", "default/orders-db-reads"},
			uses: "default/orders-db-reads",
			says: []string{"if these 25% may go back: let default/orders-reads give direct to 100 %", "rolloutctl start orders-db\n"},
		},
		"two variants whose names do not tell": {
			flag: madeByHand{enabled: true, variants: []map[string]any{variantOf("a", 75), variantOf("b", 25)}},
			code: exitRefused,
			says: []string{"which of its variants a and b means the target", "next: say it: --target-variant a or --target-variant b\n"},
		},
		"two variants, and it is said which is the target": {
			flag: madeByHand{enabled: true, variants: []map[string]any{variantOf("a", 75), variantOf("b", 25)}},
			args: []string{"--target-variant", "b", "--as", "default/orders-db-reads"},
			uses: "default/orders-db-reads",
			says: []string{"of which b (25 %) is the target"},
		},
		"a target variant that it has not": {
			flag: madeByHand{enabled: true, variants: []map[string]any{variantOf("a", 75), variantOf("b", 25)}},
			args: []string{"--target-variant", "c"},
			code: exitUsage,
			says: []string{`error: --target-variant "c": flag default/orders-reads has a and b`},
		},
		"three variants": {
			flag: madeByHand{enabled: true, variants: []map[string]any{variantOf("a", 50), variantOf("b", 25), variantOf("c", 25)}},
			code: exitRefused,
			says: []string{"it has 3 variants (a, b, c), and a lane knows two answers"},
		},
		"variants that are not enabled": {
			flag: madeByHand{variants: []map[string]any{variantOf("direct", 75), variantOf("proxy", 25)}},
			code: exitRefused,
			says: []string{"it has variants and is not enabled, so it gives none"},
		},
		"with a segment": {
			flag: madeByHand{rollouts: []map[string]any{segmentOf("beta"), thresholdOf(25, true)}},
			code: exitRefused,
			says: []string{"it asks for segment beta: only some tasks can get the target, and a lane is a share of all\n"},
		},
		"several thresholds": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(10, true), thresholdOf(25, true)}},
			code: exitRefused,
			says: []string{"it has 2 rollouts, and a lane's flag has one threshold"},
		},
		"already 100 %": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(100, true)}},
			uses: "default/orders-reads",
			says: []string{"which is at 100%\n", "rolloutctl adopt orders-db --at reads:100\n"},
		},
		"already 100 %, being enabled": {
			flag: madeByHand{enabled: true},
			uses: "default/orders-reads",
			says: []string{"it is enabled, so all tasks get true", "rolloutctl adopt orders-db --at reads:100\n"},
		},
		"false for those below, and for all": {
			flag: madeByHand{rollouts: []map[string]any{thresholdOf(25, false)}},
			code: exitRefused,
			says: []string{"its threshold gives false, and must give true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
				g, err := newGlassStand(t, version)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				test.flag.make(t, g, flags.Key{Namespace: "default", Name: "orders-reads"})
				code, file, said := g.importFlag(t, test.args...)
				if code != test.code {
					t.Errorf("v%d: ended with %d, want %d", version, code, test.code)
				}
				for _, want := range test.says {
					if !strings.Contains(said, want) {
						t.Errorf("v%d: it does not say %q, but\n%s", version, want, said)
					}
				}
				checkImported(t, file, test.uses)
			}
		})
	}
}

// checkImported holds a plan that was written to what every plan is held to.
func checkImported(t *testing.T, file, uses string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if uses == "" {
		if err == nil {
			t.Errorf("a plan was written:\n%s", text)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planfile.Parse(file, text)
	if err != nil {
		t.Fatalf("the plan is not valid: %v\n%s", err, text)
	}
	if got := fmt.Sprint(plan.Lanes[0].Name, " ", plan.Lanes[0].Flag); got != "reads "+uses {
		t.Errorf("the lane is %s, want reads %s", got, uses)
	}
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"plan", "validate", file}, streams{out: &bytes.Buffer{}, err: &errs}); code != exitDone {
		t.Errorf("plan validate ended with %d: %s", code, errs.String())
	}
}

func TestAnEndpointOnTheCommandLine(t *testing.T) {
	for text, want := range map[string]endpointArg{
		"db.example:3306":           {Host: "db.example", Port: 3306},
		"db.example:3306:rds-proxy": {Host: "db.example", Port: 3306, Kind: "rds-proxy"},
		"[2001:db8::1]:3306:direct": {Host: "2001:db8::1", Port: 3306, Kind: "direct"},
		"[2001:db8::1]:3306":        {Host: "2001:db8::1", Port: 3306},
	} {
		var got endpointArg
		if err := got.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "db.example", ":3306", "db.example:", "db.example:3306:", "db.example:port:direct", "2001:db8::1:3306", "a:b:c:d"} {
		var got endpointArg
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}
