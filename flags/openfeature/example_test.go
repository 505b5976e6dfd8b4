package openfeature_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/ofrep"
	"github.com/seed-c8cbbb61/cutover/flags/openfeature"
)

// An application asks once per connection which endpoint to open it to.
func Example() {
	// Stands for rolloutd or Flipt: reads at 25 %, writes at 0 %.
	var store flags.Memory
	store.Put(flags.Key{Namespace: "default", Name: "orders-db-reads"}, 25)
	store.Put(flags.Key{Namespace: "default", Name: "orders-db-writes"}, 0)
	server := httptest.NewServer(ofrep.Handler(&store))
	defer server.Close()

	provider, err := openfeature.New(openfeature.Options{
		URL:    server.URL,
		TaskID: "arn:aws:ecs:eu-west-1:123456789012:task/prod/0cb1", // from the ECS metadata; on Kubernetes the pod's name
		Cold:   map[string]bool{"orders-db-reads": false, "orders-db-writes": false},
	})
	if err != nil {
		panic(err) // a setting is wrong
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := of.SetProviderWithContextAndWait(ctx, provider); err != nil {
		fmt.Println("starting on the source endpoint:", err) // it goes on trying
	}
	defer of.Shutdown()

	endpoints := map[bool]string{false: "orders.cluster-x.example:3306", true: "orders-proxy.example:3306"}
	client := of.NewDefaultClient()
	for _, lane := range []string{"orders-db-reads", "orders-db-writes"} {
		target := client.Boolean(ctx, lane, false, of.EvaluationContext{})
		fmt.Println(lane, "to", endpoints[target])
	}

	// Without the SDK between, and with the share that decided:
	target, share := provider.Decide("orders-db-reads")
	fmt.Println(target, share)

	// Output:
	// orders-db-reads to orders-proxy.example:3306
	// orders-db-writes to orders.cluster-x.example:3306
	// true 25%
}
