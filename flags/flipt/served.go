package flipt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// evaluations bounds how often what is served is looked at: Flipt v1's cache and
// v2's snapshot may lag behind the flag for a moment.
const evaluations = 8

// served evaluates tasks on both sides of a flag's threshold, as Flipt does for applications.
func (s *Store) served(ctx context.Context, key flags.Key, f found) error {
	for attempt := 1; ; attempt++ {
		err := s.client.compare(ctx, f.environment, key, f.setting.Share)
		if err == nil {
			return nil
		}
		if attempt == evaluations || pause(ctx, attempt) != nil {
			return fmt.Errorf("%w: %w", ErrNotServed, err)
		}
	}
}

// compare evaluates the outermost buckets, and those next to the threshold.
func (c client) compare(ctx context.Context, environment string, key flags.Key, share flags.Share) error {
	asked := map[int]bool{}
	for _, bucket := range []int{int(share) - 1, int(share), 0, int(flags.All) - 1} {
		if bucket < 0 || bucket >= int(flags.All) || asked[bucket] {
			continue
		}
		asked[bucket] = true
		task := probe(key.Name, bucket)
		got, err := c.evaluate(ctx, environment, key, task)
		if err != nil {
			return err
		}
		if want := bucket < int(share); got != want {
			return fmt.Errorf("at %v, task %s of bucket %d must get %t, and gets %t", share, task, bucket, want, got)
		}
	}
	return nil
}

// probe returns a task that hashes to a bucket of a flag.
func probe(flag string, bucket int) string {
	for n := 0; ; n++ { // every hundredth will do
		if task := "cutover-probe-" + strconv.Itoa(n); flags.Bucket(flag, task) == bucket {
			return task
		}
	}
}

func (c client) evaluate(ctx context.Context, environment string, key flags.Key, task string) (bool, error) {
	var verdict struct{ Enabled *bool }
	err := c.do(ctx, request{
		method: http.MethodPost,
		path:   "/evaluate/v1/boolean",
		needs:  toEvaluate,
		body: struct {
			Environment string            `json:"environmentKey,omitempty"`
			Namespace   string            `json:"namespaceKey"`
			Flag        string            `json:"flagKey"`
			Entity      string            `json:"entityId"`
			Context     map[string]string `json:"context"`
		}{environment, key.Namespace, key.Name, task, map[string]string{}},
	}, &verdict)
	if err != nil {
		return false, err
	}
	if verdict.Enabled == nil {
		return false, errors.New("flipt's evaluation does not say whether the flag is enabled")
	}
	return *verdict.Enabled, nil
}
