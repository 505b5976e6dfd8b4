package ofrep_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	contrib "github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/ofrep"
)

// TestAnIndependentClientMovesTheVeryTasksOfTheShare asks through OpenFeature's
// own client and its OFREP provider, which share no code with us.
func TestAnIndependentClientMovesTheVeryTasksOfTheShare(t *testing.T) {
	var store flags.Memory
	client := contribClient(t, ofrep.Handler(&store))
	for _, share := range []flags.Share{0, 1, 10, 25, 50, 75, 99, 100} {
		store.Put(endpoint, share)
		for i := range 1000 {
			key := flags.TargetingKey(fmt.Sprintf("task-%d", i))
			on, err := client.BooleanValue(t.Context(), endpoint.Name, !share.Holds(endpoint.Name, key),
				openfeature.NewEvaluationContext(key, nil))
			if err != nil {
				t.Fatal(err)
			}
			if want := share.Holds(endpoint.Name, key); on != want {
				t.Fatalf("task-%d at %v: client says %t, want %t", i, share, on, want)
			}
		}
	}
}

func TestAnIndependentClientUnderstandsRefusals(t *testing.T) {
	var store flags.Memory
	store.Put(endpoint, 100)
	client := contribClient(t, ofrep.Handler(&store))
	task := openfeature.NewEvaluationContext("task-2", nil)

	details, err := client.BooleanValueDetails(t.Context(), "nope", true, task)
	if err == nil || details.ErrorCode != openfeature.FlagNotFoundCode || !details.Value {
		t.Errorf("an unknown flag: %+v, %v; want the caller's default and FLAG_NOT_FOUND", details, err)
	}
	details, err = client.BooleanValueDetails(t.Context(), endpoint.Name, false, openfeature.EvaluationContext{})
	if err == nil || details.ErrorCode != openfeature.TargetingKeyMissingCode || details.Value {
		t.Errorf("nobody asks: %+v, %v; want the caller's default and TARGETING_KEY_MISSING", details, err)
	}
	details, err = client.BooleanValueDetails(t.Context(), endpoint.Name, false, task)
	if err != nil {
		t.Fatal(err)
	}
	if share, err := details.FlagMetadata.GetFloat("share"); err != nil || share != 100 {
		t.Errorf("metadata %v: want the share, so that the task can report it", details.FlagMetadata)
	}
}

func contribClient(t *testing.T, handler http.Handler) *openfeature.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	api := isolated.NewAPI()
	provider := contrib.NewProvider(server.URL, contrib.WithHeader("X-Flipt-Namespace", endpoint.Namespace))
	if err := api.SetProviderAndWait(t.Context(), provider); err != nil {
		t.Fatal(err)
	}
	return api.NewClient()
}
