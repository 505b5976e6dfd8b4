package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Gates returns a rollout's gates, what they say now, and their points of the
// last while. While 0 leaves it to the server.
func (c *Client) Gates(ctx context.Context, name string, while time.Duration) ([]rollout.Reading, error) {
	query := url.Values{}
	if while > 0 {
		query.Set("while", while.String())
	}
	var body struct {
		Gates []rollout.Reading `json:"gates"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "gates"}, query: query}, &body)
	return body.Gates, err
}

// TaskFilter says which tasks are asked for; a field that is empty, any.
type TaskFilter struct {
	Lane string
	Use  rollout.TaskUse
}

// TaskPage is a part of a rollout's tasks.
type TaskPage struct {
	Tasks  []rollout.TaskStatus               `json:"tasks"`
	Counts map[string]map[rollout.TaskUse]int `json:"counts"` // of all tasks, by lane and use
	Next   string                             `json:"next"`   // to go on after; none at the end
}

// Tasks returns up to limit of a rollout's tasks after one; none is the
// beginning. Limit 0 leaves it to the server.
func (c *Client) Tasks(ctx context.Context, name string, f TaskFilter, after string, limit int) (TaskPage, error) {
	query := url.Values{}
	set(query, "lane", f.Lane)
	set(query, "use", string(f.Use))
	set(query, "after", after)
	setNumber(query, "limit", limit)
	var page TaskPage
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "tasks"}, query: query}, &page)
	return page, err
}

// Awaited is something that waits for approval.
type Awaited struct {
	Rollout  string             `json:"rollout"`
	Database string             `json:"database"`
	Version  uint64             `json:"version"` // of the rollout: what expect means
	What     string             `json:"what"`    // step, completion or amendment
	Lane     string             `json:"lane,omitempty"`
	From     flags.Share        `json:"from"`
	To       flags.Share        `json:"to"`
	Needs    int                `json:"needs"` // how many people
	Given    []rollout.Approval `json:"given"` // and still good
	Loosens  []string           `json:"loosens,omitempty"`
	By       string             `json:"by,omitempty"` // who proposed an amendment
	Plan     string             `json:"plan"`         // hash
	Evidence string             `json:"evidence,omitempty"`
	Since    time.Time          `json:"since"`
	May      bool               `json:"may"`           // whether you may approve it now
	Why      string             `json:"why,omitempty"` // if not
}

// Approvals returns all that waits for approval and may be read.
func (c *Client) Approvals(ctx context.Context) ([]Awaited, error) {
	return pages(func(after string) ([]Awaited, string, error) {
		query := url.Values{}
		set(query, "after", after)
		return c.approvals(ctx, []string{"approvals"}, query)
	})
}

// ApprovalsOf returns what waits for approval of one rollout.
func (c *Client) ApprovalsOf(ctx context.Context, name string) ([]Awaited, error) {
	list, _, err := c.approvals(ctx, []string{"rollouts", name, "approvals"}, nil)
	return list, err
}

func (c *Client) approvals(ctx context.Context, path []string, query url.Values) ([]Awaited, string, error) {
	var body struct {
		Approvals []Awaited `json:"approvals"`
		Next      string    `json:"next"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: path, query: query}, &body)
	return body.Approvals, body.Next, err
}

// Holds returns what holds a rollout.
func (c *Client) Holds(ctx context.Context, name string) ([]rollout.Hold, error) {
	var body struct {
		Holds []rollout.Hold `json:"holds"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"rollouts", name, "holds"}}, &body)
	return body.Holds, err
}

// Preflight runs a rollout's preflight now. It starts nothing and changes nothing.
func (c *Client) Preflight(ctx context.Context, name string) (*rollout.Report, error) {
	return c.preflight(ctx, http.MethodPost, name)
}

// LastPreflight returns what the last preflight of a rollout found; nil if there was none.
func (c *Client) LastPreflight(ctx context.Context, name string) (*rollout.Report, error) {
	return c.preflight(ctx, http.MethodGet, name)
}

func (c *Client) preflight(ctx context.Context, method, name string) (*rollout.Report, error) {
	var body struct {
		Report *rollout.Report `json:"report"`
	}
	err := c.ask(ctx, request{method: method, path: []string{"rollouts", name, "preflight"}}, &body)
	return body.Report, err
}
