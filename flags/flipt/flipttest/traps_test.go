package flipttest_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

func TestBucketsAreThoseOfTheVectors(t *testing.T) {
	text, err := os.ReadFile("../../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Boolean struct {
			Flag    string
			Buckets map[string]int
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		onServers(t, version, func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			if key.Name != vectors.Boolean.Flag {
				t.Fatalf("the vectors are for flag %q, the test's is %q", vectors.Boolean.Flag, key.Name)
			}
			for entity, bucket := range vectors.Boolean.Buckets {
				set(t, hand, key, float64(bucket))
				if on(t, hand, key, entity) {
					t.Errorf("%s, of bucket %d, is on at %d %%", entity, bucket, bucket)
				}
				set(t, hand, key, float64(bucket+1))
				if !on(t, hand, key, entity) {
					t.Errorf("%s, of bucket %d, is off at %d %%", entity, bucket, bucket+1)
				}
			}
		})
	}
}

func set(t *testing.T, hand flipttest.Hand, key flags.Key, percentage float64) {
	t.Helper()
	if err := hand.SetShare(t.Context(), key, percentage, ""); err != nil {
		t.Fatal(err)
	}
}

// In bucket 8: on from 9 % on.
const entity = "task-2"

// head reads the revision of the branch.
func head(t *testing.T, hand flipttest.Hand, key flags.Key) string {
	t.Helper()
	text, _ := ask(t, hand, http.StatusOK, http.MethodGet, hand.FlagPath(key), nil)["revision"].(string)
	return text
}

// put writes a whole flag on the head of the branch, however often others move
// it, and returns the revision before and after.
func put(t *testing.T, hand flipttest.Hand, key flags.Key, request map[string]any) (before, after string) {
	t.Helper()
	for {
		before = head(t, hand, key)
		request["revision"] = before
		status, text, err := hand.Do(t.Context(), http.MethodPut, hand.ResourcesPath(key.Namespace), request)
		if err != nil {
			t.Fatal(err)
		}
		if status == http.StatusConflict {
			continue
		}
		var answer struct{ Revision string }
		if err := json.Unmarshal(text, &answer); err != nil || status != http.StatusOK {
			t.Fatalf("answered %d: %s", status, text)
		}
		return before, answer.Revision
	}
}

func TestTrapsOfV2(t *testing.T) {
	overwrite := func(t *testing.T, hand flipttest.Hand, status int, key flags.Key, percentage int, revision string) {
		t.Helper()
		ask(t, hand, status, http.MethodPut, hand.ResourcesPath(key.Namespace), resource(key, percentage, revision))
	}
	for name, test := range map[string]func(*testing.T, flipttest.Hand){
		"a PUT without rollouts wipes them, and an enabled flag is then on for all": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			bare := resource(key, 0, "")
			flag := bare["payload"].(map[string]any)
			delete(flag, "rollouts")
			flag["enabled"] = true
			put(t, hand, key, bare)
			if !on(t, hand, key, entity) {
				t.Error("the flag is not on for all")
			}
		},
		"a stale revision is refused": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			stale, _ := put(t, hand, key, resource(key, 10, ""))
			overwrite(t, hand, http.StatusConflict, key, 50, stale)
		},
		"an empty revision overwrites": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			overwrite(t, hand, http.StatusOK, key, 10, "")
			if !on(t, hand, key, entity) {
				t.Error("nothing was written")
			}
		},
		"a malformed revision overwrites": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			overwrite(t, hand, http.StatusOK, key, 10, "not-a-hash")
			if !on(t, hand, key, entity) {
				t.Error("nothing was written")
			}
		},
		"no range is checked": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			overwrite(t, hand, http.StatusOK, key, -1, "")
			if on(t, hand, key, entity) {
				t.Error("on at -1 %")
			}
			overwrite(t, hand, http.StatusOK, key, 150, "")
			if !on(t, hand, key, entity) {
				t.Error("off at 150 %")
			}
		},
		"an identical PUT makes another commit": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 10)
			if before, after := put(t, hand, key, resource(key, 10, "")); after == before {
				t.Error("the revision is the same")
			}
		},
		"a write in another namespace moves the revision": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			before := head(t, hand, key)
			flagAt(t, hand, 0)
			overwrite(t, hand, http.StatusConflict, key, 10, before)
		},
	} {
		t.Run(name, func(t *testing.T) { onServers(t, flipttest.V2, test) })
	}
}

func TestTrapsOfV1(t *testing.T) {
	for name, test := range map[string]func(*testing.T, flipttest.Hand){
		"the last write wins, whatever is said of the revision": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			set(t, hand, key, 50)
			set(t, hand, key, 0)
			if on(t, hand, key, entity) {
				t.Error("still on after a write of 0 %")
			}
		},
		"a percentage outside 0 to 100 is refused": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 10)
			for _, percentage := range []float64{150, -1} {
				if err := hand.SetShare(t.Context(), key, percentage, ""); err == nil || !strings.Contains(err.Error(), "range [0, 100]") {
					t.Errorf("%v %%: got error %v", percentage, err)
				}
			}
			if !on(t, hand, key, entity) {
				t.Error("the flag has changed")
			}
		},
		"there is no stream": func(t *testing.T, hand flipttest.Hand) {
			status, _, err := hand.Do(t.Context(), http.MethodGet, "/client/v2/environments/default/namespaces/default/stream", nil)
			if err != nil || status != http.StatusNotFound {
				t.Errorf("answered %d, %v", status, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { onServers(t, flipttest.V1, test) })
	}
}

func TestTrapsOfBoth(t *testing.T) {
	for name, test := range map[string]func(*testing.T, flipttest.Hand){
		"a fraction is rounded up to the next bucket": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			set(t, hand, key, 8.000001)
			if !on(t, hand, key, entity) {
				t.Error("bucket 8 is off at a little over 8 %")
			}
			set(t, hand, key, 8)
			if on(t, hand, key, entity) {
				t.Error("bucket 8 is on at 8 %")
			}
		},
		"an enabled flag is on for whom no threshold holds": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 1)
			if err := hand.Edit(t.Context(), key, func(flag map[string]any) { flag["enabled"] = true }); err != nil {
				t.Fatal(err)
			}
			if !on(t, hand, key, entity) {
				t.Error("off")
			}
		},
		"OFREP without a targeting key decides at random": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 50)
			seen := map[bool]bool{}
			for range 60 {
				seen[resolve(t, hand, key, `{"context":{}}`)] = true
			}
			if len(seen) != 2 {
				t.Errorf("60 answers at 50 %% were all %v", seen)
			}
		},
		"OFREP with a targeting key always decides alike": func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 50)
			for range 20 {
				if !resolve(t, hand, key, `{"context":{"targetingKey":"task-2"}}`) {
					t.Fatal("bucket 8 is off at 50 %")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, flipttest.V1, test)
			onServers(t, flipttest.V2, test)
		})
	}
}

func resolve(t *testing.T, hand flipttest.Hand, key flags.Key, body string) bool {
	t.Helper()
	status, answer, _ := send(t, hand, exchange{
		method: http.MethodPost, path: "/ofrep/v1/evaluate/flags/" + key.Name, body: body,
		header: http.Header{"X-Flipt-Namespace": {key.Namespace}},
	}, nil)
	var said struct{ Value bool }
	if err := json.Unmarshal([]byte(answer), &said); err != nil || status != http.StatusOK {
		t.Fatalf("answered %d: %s", status, answer)
	}
	return said.Value
}
