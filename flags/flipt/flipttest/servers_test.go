package flipttest_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// start runs a stand-in for one test.
func start(t *testing.T, version flipttest.Version, token string) *flipttest.Server {
	t.Helper()
	server, err := flipttest.NewServer(version, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// onServers runs a test on the stand-in, and on the real server if the
// environment names one: what holds for one must hold for the other.
func onServers(t *testing.T, version flipttest.Version, test func(*testing.T, flipttest.Hand)) {
	t.Helper()
	t.Run("stand-in", func(t *testing.T) {
		server := start(t, version, "secret")
		test(t, flipttest.Hand{URL: server.URL, Token: "secret", Version: version})
	})
	if hand, ok := flipttest.Real(version, os.Getenv); ok {
		t.Run("real", func(t *testing.T) { test(t, hand) })
	}
}

// ask sends a request, expects a status, and returns the answer.
func ask(t *testing.T, hand flipttest.Hand, status int, method, path string, body any) map[string]any {
	t.Helper()
	got, text, err := hand.Do(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got != status {
		t.Fatalf("%s %s answered %d, want %d: %s", method, path, got, status, text)
	}
	answer := map[string]any{}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s %s answered %q: %v", method, path, text, err)
	}
	return answer
}

// flagAt makes a boolean flag with a threshold, in a namespace of its own.
func flagAt(t *testing.T, hand flipttest.Hand, percentage int) flags.Key {
	t.Helper()
	key := flags.Key{Namespace: "cutover-" + rand.Text(), Name: "orders-db-endpoint"}
	if err := hand.CreateNamespace(t.Context(), key.Namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hand.DeleteNamespace(context.WithoutCancel(t.Context()), key.Namespace, key.Name); err != nil {
			t.Logf("cleaning up: %v", err)
		}
	})
	if hand.Version == flipttest.V2 {
		ask(t, hand, http.StatusOK, http.MethodPost, hand.ResourcesPath(key.Namespace), resource(key, percentage, ""))
		return key
	}
	all := hand.NamespacesPath() + "/" + key.Namespace + "/flags"
	ask(t, hand, http.StatusOK, http.MethodPost, all, map[string]any{
		"key": key.Name, "name": key.Name, "type": "BOOLEAN_FLAG_TYPE", "enabled": false,
	})
	ask(t, hand, http.StatusOK, http.MethodPost, hand.FlagPath(key)+"/rollouts", map[string]any{
		"rank": 1, "threshold": map[string]any{"percentage": percentage, "value": true},
	})
	return key
}

// resource is a request of v2 that writes a whole flag.
func resource(key flags.Key, percentage int, revision string) map[string]any {
	return map[string]any{
		"key":      key.Name,
		"revision": revision,
		"payload": map[string]any{
			"@type": "flipt.core.Flag", "key": key.Name, "name": key.Name, "type": "BOOLEAN_FLAG_TYPE", "enabled": false,
			"rollouts": []any{map[string]any{
				"type":      "THRESHOLD_ROLLOUT_TYPE",
				"threshold": map[string]any{"percentage": percentage, "value": true},
			}},
		},
	}
}

// on evaluates a flag for an entity.
func on(t *testing.T, hand flipttest.Hand, key flags.Key, entity string) bool {
	t.Helper()
	question := map[string]any{"namespaceKey": key.Namespace, "flagKey": key.Name, "entityId": entity, "context": map[string]any{}}
	if hand.Version == flipttest.V2 {
		question["environmentKey"] = flipttest.Environment
	}
	enabled, ok := ask(t, hand, http.StatusOK, http.MethodPost, "/evaluate/v1/boolean", question)["enabled"].(bool)
	if !ok {
		t.Fatal("the evaluation does not say enabled")
	}
	return enabled
}
