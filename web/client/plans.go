package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// PlanCheck is what a server says of a plan that it does not store.
type PlanCheck struct {
	Rollout string               `json:"rollout"`
	Hash    string               `json:"plan_hash"`
	Plan    *rollout.Plan        `json:"plan"`    // with its defaults
	Version int                  `json:"version"` // that is stored; 0 if none is
	Changes []rollout.Difference `json:"changes"` // from that one
}

// CheckPlan has the server read a plan file and compare it with what is stored.
func (c *Client) CheckPlan(ctx context.Context, yaml []byte) (PlanCheck, error) {
	var found PlanCheck
	err := c.ask(ctx, request{
		method: http.MethodPost, path: []string{"plans"}, query: url.Values{"dry_run": {"true"}},
		kind: yamlKind, body: yaml,
	}, &found)
	return found, c.has(err, found.Plan != nil, "plan")
}

// Amendment is what a plan would change of the present one.
type Amendment struct {
	Rollout  string               `json:"rollout"`
	Revision uint64               `json:"revision"` // of the rollout that was looked at
	Version  int                  `json:"version"`  // of its plan
	Changes  []rollout.Difference `json:"changes"`
	Loosens  []string             `json:"loosens"`  // the fields; with any, it takes a second person
	Tightens []string             `json:"tightens"` // the fields
	Refused  string               `json:"refused"`  // why it would be refused now; empty if it would not
}

// CheckAmendment asks what an amendment would change, and whether it would be
// taken. Of the command, Reason and Expect are sent.
func (c *Client) CheckAmendment(ctx context.Context, name string, yaml []byte, cmd rollout.Command) (Amendment, error) {
	q := amendment(name, yaml, cmd)
	q.query.Set("dry_run", "true")
	var found Amendment
	err := c.ask(ctx, q, &found)
	return found, err
}

// Amend makes a plan file the plan of a rollout that is held, or a proposal of
// it: then the state has it. Of the command, Reason, Expect and Request are sent.
func (c *Client) Amend(ctx context.Context, name string, yaml []byte, cmd rollout.Command) (rollout.State, error) {
	var state rollout.State
	err := c.ask(ctx, amendment(name, yaml, cmd), &state)
	return state, c.has(err, state.Name != "", "rollout")
}

const yamlKind = "application/yaml"

func amendment(name string, yaml []byte, cmd rollout.Command) request {
	query := url.Values{}
	set(query, "reason", cmd.Reason)
	if cmd.Expect > 0 {
		query.Set("expect", strconv.FormatUint(cmd.Expect, 10))
	}
	return request{
		method: http.MethodPost, path: []string{"rollouts", name, "amendments"}, query: query,
		kind: yamlKind, body: yaml, key: cmd.Request,
	}
}

// PlanVersions returns the versions of a rollout's plan, oldest first, each
// without the plan.
func (c *Client) PlanVersions(ctx context.Context, name string) ([]rollout.PlanVersion, error) {
	return pages(func(after int) ([]rollout.PlanVersion, int, error) {
		query := url.Values{}
		setNumber(query, "after", after)
		var body struct {
			Plans []rollout.PlanVersion `json:"plans"`
			Next  int                   `json:"next"`
		}
		err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "plans"}, query: query}, &body)
		return body.Plans, body.Next, err
	})
}

// PlanVersion returns one version of a rollout's plan.
func (c *Client) PlanVersion(ctx context.Context, name string, version int) (rollout.PlanVersion, error) {
	var found rollout.PlanVersion
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "plans", strconv.Itoa(version)}}, &found)
	return found, c.has(err, found.Plan != nil, "plan")
}

// PlanFile returns one version of a rollout's plan as a plan file.
func (c *Client) PlanFile(ctx context.Context, name string, version int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := c.open(ctx, request{
		method: http.MethodGet, path: []string{"rollouts", name, "plans", strconv.Itoa(version)}, accept: yamlKind,
	})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, answerLimit))
	if err != nil {
		return nil, &Unreachable{URL: c.base, Sent: true, Err: fmt.Errorf("reading the answer: %w", err)}
	}
	return text, nil
}
