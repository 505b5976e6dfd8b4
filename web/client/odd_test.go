package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// answering returns a client of a server that answers as a test says.
func answering(t *testing.T, answer func(after string) any) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(answer(r.URL.Query().Get("after")))
	}))
	t.Cleanup(server.Close)
	return client.New(server.URL, "", http.Client{})
}

// lists are the calls that read a list to its end; each returns how much it read.
func lists(t *testing.T, c *client.Client) map[string]func() (int, error) {
	t.Helper()
	ctx := t.Context()
	return map[string]func() (int, error){
		"freezes":      func() (int, error) { all, err := c.Freezes(ctx); return len(all), err },
		"disturbances": func() (int, error) { all, err := c.Disturbances(ctx); return len(all), err },
		"tokens":       func() (int, error) { all, err := c.Tokens(ctx); return len(all), err },
		"rollouts":     func() (int, error) { all, err := c.Rollouts(ctx); return len(all), err },
		"approvals":    func() (int, error) { all, err := c.Approvals(ctx); return len(all), err },
	}
}

func TestAListIsReadToItsEnd(t *testing.T) {
	for name := range lists(t, nil) {
		c := answering(t, func(after string) any {
			next := map[string]string{"": "b", "b": "d", "d": ""}[after]
			return map[string]any{name: []struct{}{{}, {}}, "next": next}
		})
		if n, err := lists(t, c)[name](); n != 6 || err != nil {
			t.Errorf("%s: %d of 6, %v", name, n, err)
		}
	}
}

func TestAListThatDoesNotGoOnIsAnError(t *testing.T) {
	for name := range lists(t, nil) {
		c := answering(t, func(string) any { return map[string]any{name: []struct{}{{}}, "next": "b"} })
		if _, err := lists(t, c)[name](); err == nil || !strings.Contains(err.Error(), "is that a Cutover server?") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAnswerOfSomethingElseIsAnError(t *testing.T) {
	ctx := t.Context()
	c := answering(t, func(string) any { return struct{}{} })
	for name, call := range map[string]func() error{
		"a status":       func() error { _, err := c.Status(ctx, "a"); return err },
		"a command":      func() error { _, err := c.Do(ctx, "a", rollout.Command{Verb: rollout.Advance}); return err },
		"a plan":         func() error { _, err := c.Plan(ctx, nil, rollout.Command{}); return err },
		"an amendment":   func() error { _, err := c.Amend(ctx, "a", nil, rollout.Command{}); return err },
		"a plan's check": func() error { _, err := c.CheckPlan(ctx, nil); return err },
		"a version":      func() error { _, err := c.PlanVersion(ctx, "a", 1); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "is that a Cutover server?") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
