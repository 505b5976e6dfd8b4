package flipt_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// list lists a namespace, by the flags' names.
func (b bench) list(t *testing.T, namespace string) map[string]flipt.Listed {
	t.Helper()
	all, err := b.store.List(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]flipt.Listed{}
	for _, one := range all {
		if one.Key.Namespace != namespace || listed[one.Key.Name].Key.Name != "" {
			t.Errorf("the list of %s has %s", namespace, one.Key)
		}
		listed[one.Key.Name] = one
	}
	return listed
}

// variantFlag makes a flag with two variants that everyone gets one of.
func (b bench) variantFlag(t *testing.T, key flags.Key, first, second float64) {
	t.Helper()
	b.segment(t, key.Namespace)
	if b.hand.Version == flipttest.V2 {
		b.ask(t, http.MethodPost, b.hand.ResourcesPath(key.Namespace), map[string]any{"key": key.Name, "payload": map[string]any{
			"@type": "flipt.core.Flag", "key": key.Name, "name": key.Name, "type": "VARIANT_FLAG_TYPE", "enabled": true,
			"variants": []any{map[string]any{"key": "direct", "name": "direct"}, map[string]any{"key": "proxy", "name": "proxy"}},
			"rules": []any{map[string]any{"segments": []string{"everyone"}, "distributions": []any{
				map[string]any{"variant": "direct", "rollout": first}, map[string]any{"variant": "proxy", "rollout": second},
			}}},
		}})
		return
	}
	b.ask(t, http.MethodPost, strings.TrimSuffix(b.hand.FlagPath(key), "/"+key.Name),
		map[string]any{"key": key.Name, "name": key.Name, "type": "VARIANT_FLAG_TYPE", "enabled": true})
	rule := b.id(t, b.hand.FlagPath(key)+"/rules", map[string]any{"segmentKeys": []string{"everyone"}, "rank": 1})
	for name, percent := range map[string]float64{"direct": first, "proxy": second} {
		variant := b.id(t, b.hand.FlagPath(key)+"/variants", map[string]any{"key": name, "name": name})
		b.ask(t, http.MethodPost, b.hand.FlagPath(key)+"/rules/"+rule+"/distributions", map[string]any{"variantId": variant, "rollout": percent})
	}
}

func TestAListShowsEachBooleanFlagAsReadingItWould(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		namespace, create := b.space(t)
		key := func(name string) flags.Key { return flags.Key{Namespace: namespace, Name: name} }
		for _, name := range []string{"plain", "ours", "fenced", "raised-by-hand", "foreign", "killed"} {
			create(t, key(name))
		}
		for _, name := range []string{"ours", "fenced", "raised-by-hand", "killed"} {
			change := raiseTo(25, b.read(t, key(name)))
			change.Lane, change.Class = "reads", "reads"
			if _, err := b.store.Write(t.Context(), key(name), change); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"fenced", "raised-by-hand"} {
			if _, err := b.store.Write(t.Context(), key(name), flags.Change{Kind: flags.Fence, Rollout: rollout, Epoch: 4}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.store.Write(t.Context(), key("killed"), flags.Change{Kind: flags.Lower, Rollout: rollout, By: "break-glass ann@host"}); err != nil {
			t.Fatal(err)
		}
		if err := b.hand.SetShare(t.Context(), key("raised-by-hand"), 75, "by hand"); err != nil {
			t.Fatal(err)
		}
		b.put(t, key("foreign"), rule{segment: true, value: true})
		b.variantFlag(t, key("variants"), 75, 25)

		listed := b.list(t, namespace)
		for _, name := range []string{"plain", "ours", "fenced", "raised-by-hand", "killed"} {
			want := flipt.Listed{Key: key(name), Setting: b.read(t, key(name))}
			want.Setting.Revision = ""
			if name != "plain" {
				want.Rollout = rollout
			}
			if diff := cmp.Diff(want, listed[name]); diff != "" {
				t.Errorf("%s: -read +listed:\n%s", name, diff)
			}
		}
		if one := listed["killed"]; one.Setting.Author != "break-glass ann@host" || one.Setting.Stamp.Lane != "reads" {
			t.Errorf("the killed flag is listed as %+v", one)
		}
		if one := listed["foreign"]; !errors.Is(one.Foreign, flags.ErrForeign) || one.Setting.Share != flags.All {
			t.Errorf("a flag with a segment is listed as %+v", one)
		}
		if len(listed) != 6 {
			t.Errorf("%d flags are listed: %v", len(listed), listed)
		}
	}, flipttest.V1, flipttest.V2)
}

func TestAListHasAllPages(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		namespace, create := b.space(t)
		create(t, flags.Key{Namespace: namespace, Name: "first"})
		const more = 230
		for n := range more {
			name := fmt.Sprintf("flag-%03d", n)
			if b.hand.Version == flipttest.V2 {
				b.ask(t, http.MethodPost, b.hand.ResourcesPath(namespace), map[string]any{"key": name, "payload": map[string]any{
					"@type": "flipt.core.Flag", "key": name, "name": name, "type": "BOOLEAN_FLAG_TYPE",
				}})
				continue
			}
			b.ask(t, http.MethodPost, b.hand.NamespacesPath()+"/"+namespace+"/flags",
				map[string]any{"key": name, "name": name, "type": "BOOLEAN_FLAG_TYPE"})
		}
		if listed := b.list(t, namespace); len(listed) != more+1 {
			t.Errorf("%d flags are listed", len(listed))
		}
		for n := range more {
			b.ask(t, http.MethodPost, b.hand.NamespacesPath(), map[string]any{"key": fmt.Sprintf("space-%03d", n), "name": "one more"})
		}
		names, err := b.store.Namespaces(t.Context())
		if err != nil || len(names) != more+2 || !slices.Contains(names, namespace) {
			t.Errorf("%d namespaces are listed, %v", len(names), err)
		}
	})
}

func TestAListThatIsRefusedSaysWhichPermissionItLacks(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		b.flag(t)
		b.stand.Before(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		_, err := b.store.Namespaces(t.Context())
		if err == nil || !strings.Contains(err.Error(), "permission to list namespaces") {
			t.Errorf("got error %v", err)
		}
		if _, err = b.store.List(t.Context(), "default"); err == nil || !strings.Contains(err.Error(), "permission to list flags") {
			t.Errorf("got error %v", err)
		}
	})
}

func TestAListWithoutAnEndIsGivenUpOn(t *testing.T) {
	b := standIn(t, flipttest.V1)
	b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/flags") {
			_, _ = w.Write([]byte(`{"flags":[],"nextPageToken":"again"}`))
			return true
		}
		return false
	})
	if _, err := b.store.List(t.Context(), "default"); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("got error %v", err)
	}
}

func TestANamespaceThatIsMissingHasNoFlags(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		if listed := b.list(t, "cutover-missing"); len(listed) > 0 {
			t.Errorf("it lists %v", listed)
		}
	}, flipttest.V1, flipttest.V2)
}
