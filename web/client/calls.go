package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Rollouts returns every rollout, by name.
func (c *Client) Rollouts(ctx context.Context) ([]rollout.State, error) {
	var body struct {
		Rollouts []rollout.State `json:"rollouts"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts"}}, &body)
	return body.Rollouts, err
}

// Status returns a rollout as the controller last saw it.
func (c *Client) Status(ctx context.Context, name string) (rollout.Status, error) {
	var status rollout.Status
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name}}, &status)
	return status, err
}

// Events returns up to limit of a rollout's events after a place in its own
// order, and the place to go on after. Limit 0 leaves it to the server.
func (c *Client) Events(ctx context.Context, name string, after uint64, limit int) ([]rollout.Event, uint64, error) {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var body struct {
		Events []rollout.Event `json:"events"`
		Next   uint64          `json:"next"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "events"}, query: query}, &body)
	return body.Events, body.Next, err
}

// Do gives a command. Its Verb, Reason, Expect, To and Request are sent; who
// gives it, the server knows by the token.
func (c *Client) Do(ctx context.Context, name string, cmd rollout.Command) (rollout.State, error) {
	type target struct {
		Lane  string `json:"lane"`
		Share int    `json:"share"`
	}
	body := struct {
		Verb   rollout.Verb `json:"verb"`
		Reason string       `json:"reason,omitempty"`
		Expect uint64       `json:"expect,omitempty"`
		To     []target     `json:"to,omitempty"`
	}{Verb: cmd.Verb, Reason: cmd.Reason, Expect: cmd.Expect}
	for _, to := range cmd.To {
		body.To = append(body.To, target{Lane: to.Lane, Share: int(to.Share)})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return rollout.State{}, fmt.Errorf("encoding the command: %w", err)
	}
	var state rollout.State
	err = c.ask(ctx, request{
		method: http.MethodPost, path: []string{"rollouts", name, "commands"},
		kind: "application/json", body: text, key: cmd.Request,
	}, &state)
	return state, err
}

// Plan stores a plan file as a new version. Of the command, Reason, Expect and
// Request are sent.
func (c *Client) Plan(ctx context.Context, yaml []byte, cmd rollout.Command) (rollout.State, error) {
	query := url.Values{}
	if cmd.Reason != "" {
		query.Set("reason", cmd.Reason)
	}
	if cmd.Expect > 0 {
		query.Set("expect", strconv.FormatUint(cmd.Expect, 10))
	}
	var state rollout.State
	err := c.ask(ctx, request{
		method: http.MethodPost, path: []string{"plans"}, query: query,
		kind: "application/yaml", body: yaml, key: cmd.Request,
	}, &state)
	return state, err
}

// CheckPlan has the server read a plan file and returns the plan with its
// defaults; nothing is stored.
func (c *Client) CheckPlan(ctx context.Context, yaml []byte) (*rollout.Plan, error) {
	var body struct {
		Plan *rollout.Plan `json:"plan"`
	}
	err := c.ask(ctx, request{
		method: http.MethodPost, path: []string{"plans"}, query: url.Values{"dry_run": {"true"}},
		kind: "application/yaml", body: yaml,
	}, &body)
	return body.Plan, err
}

// Report sends what a task says of itself.
func (c *Client) Report(ctx context.Context, r rollout.TaskReport) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	return c.ask(ctx, request{method: http.MethodPost, path: []string{"reports"}, kind: "application/json", body: text}, nil)
}

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (string, error) {
	var body struct {
		Version string `json:"version"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"version"}}, &body)
	return body.Version, err
}
