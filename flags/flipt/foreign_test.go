package flipt_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// rule is a rollout of somebody else, to be put on a flag in either generation.
type rule struct {
	segment    bool
	percentage int
	value      bool
}

// put makes these rules all that a flag has.
func (b bench) put(t *testing.T, key flags.Key, rules ...rule) {
	t.Helper()
	b.segment(t, key.Namespace)
	if b.hand.Version == flipttest.V2 {
		b.edit(t, key, func(flag map[string]any) {
			var all []any
			for _, r := range rules {
				all = append(all, r.v2())
			}
			flag["rollouts"] = all
		})
		return
	}
	path := b.hand.FlagPath(key) + "/rollouts"
	var list struct{ Rules []struct{ ID string } }
	if err := json.Unmarshal(b.ask(t, http.MethodGet, path, nil), &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Rules {
		b.ask(t, http.MethodDelete, path+"/"+one.ID, nil)
	}
	for i, r := range rules {
		one := map[string]any{"rank": i + 1, "description": "somebody's"}
		if r.segment {
			one["segment"] = map[string]any{"segmentKey": "everyone", "value": r.value}
		} else {
			one["threshold"] = map[string]any{"percentage": r.percentage, "value": r.value}
		}
		b.ask(t, http.MethodPost, path, one)
	}
}

func (r rule) v2() map[string]any {
	if r.segment {
		return map[string]any{"type": "SEGMENT_ROLLOUT_TYPE", "description": "somebody's", "segment": map[string]any{
			"segmentOperator": "OR_SEGMENT_OPERATOR", "segments": []string{"everyone"}, "value": r.value,
		}}
	}
	return map[string]any{"type": "THRESHOLD_ROLLOUT_TYPE", "description": "somebody's", "threshold": map[string]any{
		"percentage": r.percentage, "value": r.value,
	}}
}

// segment makes the segment that everyone is in.
func (b bench) segment(t *testing.T, namespace string) {
	t.Helper()
	if b.hand.Version == flipttest.V1 {
		b.ask(t, http.MethodPost, b.hand.NamespacesPath()+"/"+namespace+"/segments",
			map[string]any{"key": "everyone", "name": "everyone", "matchType": "ALL_MATCH_TYPE"})
		return
	}
	b.ask(t, http.MethodPost, b.hand.ResourcesPath(namespace), map[string]any{"key": "everyone", "payload": map[string]any{
		"@type": "flipt.core.Segment", "key": "everyone", "name": "everyone", "matchType": "ALL_MATCH_TYPE",
	}})
}

// metadata reads what a flag's metadata says under a key.
func (b bench) metadata(t *testing.T, key flags.Key, field string) string {
	t.Helper()
	var text string
	b.edit(t, key, func(flag map[string]any) {
		all, _ := flag["metadata"].(map[string]any)
		text, _ = all[field].(string)
	})
	return text
}

func TestRulesOfOthersAreNotGuessedAboutButEndedByALoweringTo0(t *testing.T) {
	for name, rules := range map[string][]rule{
		"a segment":                      {{segment: true, value: true}},
		"a segment before a threshold":   {{segment: true, value: true}, {percentage: 10, value: true}},
		"a threshold before a segment":   {{percentage: 10, value: true}, {segment: true, value: true}},
		"two thresholds":                 {{percentage: 10, value: true}, {percentage: 50, value: true}},
		"a threshold that gives false":   {{percentage: 50, value: false}},
		"a segment that is kept from it": {{segment: true, value: false}, {percentage: 100, value: true}},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, b bench) {
				key, now := b.flagAt(t, 10)
				b.put(t, key, rules...)
				b.edit(t, key, func(flag map[string]any) { flag["enabled"] = true })

				_, err := b.store.Read(t.Context(), key)
				wantError(t, err, flags.ErrForeign)
				b.sent.harmless(t)
				for _, change := range []flags.Change{
					{Kind: flags.Raise, Share: 50, Revision: now.Revision, Rollout: rollout, Epoch: 3},
					{Kind: flags.Fence, Rollout: rollout, Epoch: 3},
				} {
					if _, err := b.store.Write(t.Context(), key, change); err == nil {
						t.Errorf("a %s went through", change.Kind)
					}
				}
				if writes := b.sent.writes(); len(writes) > 0 {
					t.Errorf("the refused changes sent %v", writes)
				}

				killed := b.kill(t, key)
				if again := b.read(t, key); again != killed || !again.Ours(rollout) {
					t.Errorf("lowered to 0, the flag reads as %+v, then %+v", killed, again)
				}
				if kept := b.metadata(t, key, "cutover-replaced"); strings.Count(kept, "somebody's") != len(rules) {
					t.Errorf("of %d rules that were taken off, the metadata keeps %s", len(rules), kept)
				}
				b.raise(t, key, 25)
			}, flipttest.V1, flipttest.V2)
		})
	}
}

func TestAVariantFlagIsLeftToAPerson(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		namespace, create := b.space(t)
		create(t, flags.Key{Namespace: namespace, Name: "first"})
		key := flags.Key{Namespace: namespace, Name: "endpoint-variant"}
		flag := map[string]any{"key": key.Name, "name": "ev", "type": "VARIANT_FLAG_TYPE", "enabled": true}
		if b.hand.Version == flipttest.V1 {
			b.ask(t, http.MethodPost, b.hand.NamespacesPath()+"/"+namespace+"/flags", flag)
		} else {
			flag["@type"] = "flipt.core.Flag"
			b.ask(t, http.MethodPost, b.hand.ResourcesPath(namespace), map[string]any{"key": key.Name, "payload": flag})
		}
		create(t, key) // is there already, and stays; so that it is cleaned up
		_, err := b.store.Read(t.Context(), key)
		wantError(t, err, flags.ErrForeign)
		b.sent.writes()
		_, err = b.store.Write(t.Context(), key, flags.Change{Kind: flags.Lower, Rollout: rollout})
		wantError(t, err, flags.ErrForeign)
		if err == nil || !strings.Contains(err.Error(), "a person has to delete it") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if writes := b.sent.writes(); len(writes) > 0 {
			t.Errorf("it sent %v", writes)
		}
	}, flipttest.V1, flipttest.V2)
}

func TestAnEnabledFlagIsAt100AndIsDisabledByOurWrite(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		b.edit(t, key, func(flag map[string]any) { flag["enabled"] = true })
		enabled := b.read(t, key)
		if enabled.Share != flags.All || enabled.Ours(rollout) || enabled.Revision == now.Revision {
			t.Errorf("enabled over %+v, the flag reads as %+v", now, enabled)
		}
		fenced, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 3})
		if err != nil || fenced.Share != flags.All {
			t.Errorf("a fence made %+v, %v", fenced, err)
		}
		lowered, err := b.store.Write(t.Context(), key,
			flags.Change{Kind: flags.Lower, Share: 25, Revision: fenced.Revision, Rollout: rollout, Epoch: 3})
		if err != nil || lowered.Share != 25 || !lowered.Ours(rollout) {
			t.Errorf("lowered to 25%%, it is %+v, %v", lowered, err)
		}
		b.edit(t, key, func(flag map[string]any) { flag["enabled"] = true })
		b.kill(t, key)
	}, flipttest.V1, flipttest.V2)
}

func TestAPercentageOutOfRangeReadsAsWhatIsServedAndIsNoGroundForARaise(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		for percentage, served := range map[float64]flags.Share{150: 100, -1: 0} {
			key := b.flag(t)
			if err := b.hand.SetShare(t.Context(), key, percentage, ""); err != nil {
				t.Fatal(err)
			}
			now := b.read(t, key)
			if now.Share != served {
				t.Errorf("%v %% reads as %v", percentage, now.Share)
			}
			_, err := b.store.Write(t.Context(), key, raiseTo(100, now))
			wantError(t, err, flags.ErrForeign)
			b.kill(t, key)
			b.raise(t, key, 10)
		}
	}, flipttest.V2)
}

func TestAFractionReadsAsTheBucketsItServes(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		key := b.flag(t)
		for percentage, served := range map[float64]flags.Share{0.5: 1, 24.5: 25, 25: 25} {
			if err := b.hand.SetShare(t.Context(), key, percentage, ""); err != nil {
				t.Fatal(err)
			}
			now := b.read(t, key)
			if now.Share != served {
				t.Errorf("%v %% reads as %v, want %v", percentage, now.Share, served)
			}
			// The fence evaluates, and so proves what is served.
			if _, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout}); err != nil {
				t.Error(err)
			}
		}
	}, flipttest.V1, flipttest.V2)
}

func TestAFlagWithoutARolloutIsAt0AndGetsOne(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		for name, write := range map[string]func(*testing.T, flags.Key) flags.Setting{
			"a raise": func(t *testing.T, key flags.Key) flags.Setting { return b.raise(t, key, 25) },
			"a kill":  b.kill,
			"a fence": func(t *testing.T, key flags.Key) flags.Setting {
				next, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout})
				if err != nil {
					t.Fatal(err)
				}
				return next
			},
		} {
			t.Run(name, func(t *testing.T) {
				key := b.flag(t)
				b.put(t, key)
				if now := b.read(t, key); now.Share != flags.None {
					t.Errorf("it reads as %+v", now)
				}
				if next := write(t, key); next.Stamp.Rollout != rollout {
					t.Errorf("written, it is %+v", next)
				}
			})
		}
	}, flipttest.V1, flipttest.V2)
}

func TestWhatElseIsOnAFlagStays(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		key := b.flag(t)
		var want map[string]any
		b.edit(t, key, func(flag map[string]any) {
			flag["name"], flag["description"] = "Orders <reads>", "Aurora to RDS Proxy"
			flag["metadata"] = map[string]any{"owner": "team-orders", "weight": 1.5, "hidden": true}
			want = flag
		})
		b.raise(t, key, 25)
		if _, err := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 4}); err != nil {
			t.Fatal(err)
		}
		b.kill(t, key)
		b.edit(t, key, func(flag map[string]any) {
			all, _ := flag["metadata"].(map[string]any)
			delete(all, "cutover")
			for _, field := range []string{"name", "description", "enabled", "type", "variants", "rules", "metadata"} {
				if diff := cmp.Diff(want[field], flag[field]); diff != "" {
					t.Errorf("%s: -want +got:\n%s", field, diff)
				}
			}
		})
	}, flipttest.V1, flipttest.V2)
}
