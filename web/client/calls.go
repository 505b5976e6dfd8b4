package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Filter says which rollouts are asked for; a field that is empty, any.
type Filter struct {
	Phases   []rollout.Phase
	Database string
	Owner    string
}

// Rollouts returns every rollout that may be read, by name.
func (c *Client) Rollouts(ctx context.Context) ([]rollout.State, error) {
	return c.Find(ctx, Filter{})
}

// Find returns every rollout that a filter asks for, by name.
func (c *Client) Find(ctx context.Context, f Filter) ([]rollout.State, error) {
	return pages(func(after string) ([]rollout.State, string, error) { return c.FindPage(ctx, f, after, 0) })
}

// FindPage returns up to limit of the rollouts that a filter asks for and whose
// names come after one, and the name to go on after; none at the end. Limit 0
// leaves it to the server.
func (c *Client) FindPage(ctx context.Context, f Filter, after string, limit int) ([]rollout.State, string, error) {
	query := url.Values{}
	set(query, "state", list(f.Phases))
	set(query, "database", f.Database)
	set(query, "owner", f.Owner)
	set(query, "after", after)
	setNumber(query, "limit", limit)
	var body struct {
		Rollouts []rollout.State `json:"rollouts"`
		Next     string          `json:"next"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts"}, query: query}, &body)
	return body.Rollouts, body.Next, err
}

// Status returns a rollout as the controller last saw it.
func (c *Client) Status(ctx context.Context, name string) (rollout.Status, error) {
	var status rollout.Status
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name}}, &status)
	return status, c.has(err, status.State.Name != "", "rollout")
}

// Do gives a command. All of it is sent but By and Surface: who gives it, the
// server knows by the token.
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
		Person string       `json:"person,omitempty"`
		Since  time.Time    `json:"since,omitzero"`
	}{Verb: cmd.Verb, Reason: cmd.Reason, Expect: cmd.Expect, Person: cmd.Person, Since: cmd.Since}
	for _, to := range cmd.To {
		body.To = append(body.To, target{Lane: to.Lane, Share: int(to.Share)})
	}
	var state rollout.State
	err := c.tell(ctx, request{method: http.MethodPost, path: []string{"rollouts", name, "commands"}, key: cmd.Request}, body, &state)
	return state, c.has(err, state.Name != "", "rollout")
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
		kind: yamlKind, body: yaml, key: cmd.Request,
	}, &state)
	return state, c.has(err, state.Name != "", "rollout")
}

// Report sends what a task says of itself.
func (c *Client) Report(ctx context.Context, r rollout.TaskReport) error {
	return c.tell(ctx, request{method: http.MethodPost, path: []string{"reports"}}, r, nil)
}

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (string, error) {
	var body struct {
		Version string `json:"version"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"version"}}, &body)
	return body.Version, err
}
