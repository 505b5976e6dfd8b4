package openfeature_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	of "github.com/open-feature/go-sdk/openfeature"
	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/flags/openfeature"
)

// identities is how many tasks are asked for at each share; by OFREP, which has no
// batches for many tasks, only some of them.
const (
	identities = 2000
	byOFREP    = 200
)

// TestTheProviderDecidesAsFliptDoes asks the provider and the server for the same
// tasks. The server is the stand-in, and the real one if the environment names it.
func TestTheProviderDecidesAsFliptDoes(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		t.Run(fmt.Sprintf("v%d stand-in", version), func(t *testing.T) {
			server, err := flipttest.NewServer(version, "s3cret")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			compareAll(t, flipttest.Hand{URL: server.URL, Token: "s3cret", Version: version})
		})
		if hand, ok := flipttest.Real(version, os.Getenv); ok {
			t.Run(fmt.Sprintf("v%d real", version), func(t *testing.T) { compareAll(t, hand) })
		}
	}
}

func compareAll(t *testing.T, hand flipttest.Hand) {
	key := created(t, hand)
	tasks := make([]string, identities)
	for i := range tasks {
		tasks[i] = flags.TargetingKey(fmt.Sprintf("task-%d", i))
	}
	for _, share := range []flags.Share{0, 1, 2, 10, 25, 33, 50, 53, 59, 75, 99, 100} {
		if err := hand.SetShare(t.Context(), key, float64(share), ""); err != nil {
			t.Fatal(err)
		}
		ours := decisions(t, hand, key, tasks)
		compare(t, share, "Flipt's evaluation", tasks, ours, evaluations(t, hand, key, tasks))
		compare(t, share, "Flipt's OFREP", tasks[:byOFREP], ours, resolutions(t, hand, key, tasks[:byOFREP]))
	}
}

func compare(t *testing.T, share flags.Share, name string, tasks []string, ours, theirs []bool) {
	t.Helper()
	for i, task := range tasks {
		if ours[i] != theirs[i] {
			t.Fatalf("at %v the provider decides %t for %s, and %s %t", share, ours[i], task, name, theirs[i])
		}
	}
}

// decisions fetches the snapshot where this version has it and decides for each task.
func decisions(t *testing.T, hand flipttest.Hand, key flags.Key, tasks []string) []bool {
	t.Helper()
	options := openfeature.Options{URL: hand.URL, Token: hand.Token, Namespace: key.Namespace}
	if hand.Version == flipttest.V2 {
		options.Environment = flipttest.Environment
	}
	provider, err := openfeature.New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Shutdown()
	if err := provider.InitWithContext(t.Context(), of.EvaluationContext{}); err != nil {
		t.Fatal(err)
	}
	all := make([]bool, len(tasks))
	for i, task := range tasks {
		got := provider.BooleanEvaluation(t.Context(), key.Name, false, of.FlattenedContext{of.TargetingKey: task})
		if err := got.Error(); err != nil {
			t.Fatal(err)
		}
		all[i] = got.Value
	}
	return all
}

// evaluations asks Flipt for each task, in batches.
func evaluations(t *testing.T, hand flipttest.Hand, key flags.Key, tasks []string) []bool {
	t.Helper()
	var requests []map[string]any
	for _, task := range tasks {
		requests = append(requests, map[string]any{
			"namespaceKey": key.Namespace, "flagKey": key.Name, "entityId": task, "context": map[string]any{},
		})
	}
	var answer struct {
		Responses []struct{ BooleanResponse struct{ Enabled bool } }
	}
	ask(t, hand, "/evaluate/v1/batch", map[string]any{"requests": requests}, &answer)
	if len(answer.Responses) != len(tasks) {
		t.Fatalf("%d answers for %d tasks", len(answer.Responses), len(tasks))
	}
	all := make([]bool, len(tasks))
	for i, response := range answer.Responses {
		all[i] = response.BooleanResponse.Enabled
	}
	return all
}

// resolutions asks Flipt by OFREP for each task.
func resolutions(t *testing.T, hand flipttest.Hand, key flags.Key, tasks []string) []bool {
	t.Helper()
	all := make([]bool, len(tasks))
	askers, ctx := errgroup.WithContext(t.Context())
	askers.SetLimit(http.DefaultMaxIdleConnsPerHost) // as many connections as are kept open
	for i, task := range tasks {
		askers.Go(func() (err error) {
			all[i], err = resolve(ctx, hand, key, task)
			return err
		})
	}
	if err := askers.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

func resolve(ctx context.Context, hand flipttest.Hand, key flags.Key, task string) (bool, error) {
	body := fmt.Appendf(nil, `{"context":{"targetingKey":%q}}`, task)
	address := hand.URL + "/ofrep/v1/evaluate/flags/" + key.Name
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Authorization", "Bearer "+hand.Token)
	request.Header.Set("X-Flipt-Namespace", key.Namespace)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Value *bool }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Value == nil {
		return false, fmt.Errorf("OFREP answers %s without a value: %w", response.Status, err)
	}
	return *answer.Value, nil
}

// created makes a flag as we do, in a namespace of its own.
func created(t *testing.T, hand flipttest.Hand) flags.Key {
	t.Helper()
	key := flags.Key{Namespace: "cutover-" + rand.Text(), Name: "orders-db-reads"}
	if err := hand.CreateNamespace(t.Context(), key.Namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hand.DeleteNamespace(context.WithoutCancel(t.Context()), key.Namespace, key.Name); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	flag := map[string]any{"key": key.Name, "name": key.Name, "type": "BOOLEAN_FLAG_TYPE", "enabled": false}
	threshold := map[string]any{"percentage": 0, "value": true}
	if hand.Version == flipttest.V1 {
		ask(t, hand, hand.NamespacesPath()+"/"+key.Namespace+"/flags", flag, nil)
		ask(t, hand, hand.FlagPath(key)+"/rollouts", map[string]any{"rank": 1, "threshold": threshold}, nil)
		return key
	}
	flag["@type"] = "flipt.core.Flag"
	flag["rollouts"] = []any{map[string]any{"type": "THRESHOLD_ROLLOUT_TYPE", "threshold": threshold}}
	ask(t, hand, hand.ResourcesPath(key.Namespace), map[string]any{"key": key.Name, "payload": flag}, nil)
	return key
}

func ask(t *testing.T, hand flipttest.Hand, path string, body, answer any) {
	t.Helper()
	status, text, err := hand.Do(t.Context(), http.MethodPost, path, body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("POST %s: %d %s, %v", path, status, text, err)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(text, answer); err != nil {
		t.Fatal(err)
	}
}
