package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// HeldAll says whether everything is held.
type HeldAll struct {
	Hold      *rollout.Hold `json:"hold_all"`  // nil if it is not
	Releasing string        `json:"releasing"` // the first of the two people who must end it
	AskedAt   time.Time     `json:"asked_at"`  // when he asked for it; void a day later
}

// HeldAll returns whether everything is held.
func (c *Client) HeldAll(ctx context.Context) (HeldAll, error) {
	var held HeldAll
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"hold-all"}}, &held)
	return held, err
}

// HoldAll holds everything. Of the command, Reason and Request are sent.
func (c *Client) HoldAll(ctx context.Context, cmd rollout.HouseCommand) (HeldAll, error) {
	var held HeldAll
	err := c.tell(ctx, request{method: http.MethodPost, path: []string{"hold-all"}, key: cmd.Request}, saying{Reason: cmd.Reason}, &held)
	return held, err
}

// ReleaseAll asks for the end of hold-all, or agrees to it: two people must. Of
// the command, Reason and Request are sent.
func (c *Client) ReleaseAll(ctx context.Context, cmd rollout.HouseCommand) (HeldAll, error) {
	var held HeldAll
	query := url.Values{}
	set(query, "reason", cmd.Reason)
	err := c.ask(ctx, request{method: http.MethodDelete, path: []string{"hold-all"}, query: query, key: cmd.Request}, &held)
	return held, err
}

// saying is the body of what a person asks about all rollouts.
type saying struct {
	Reason   string    `json:"reason,omitempty"`
	Database string    `json:"database,omitempty"`
	What     string    `json:"what,omitempty"`
	Quiet    *bool     `json:"quiet,omitempty"`
	From     time.Time `json:"from,omitzero"`
	Until    time.Time `json:"until,omitzero"`
}

// Freezes returns the databases on which nothing may rise, now or soon.
func (c *Client) Freezes(ctx context.Context) ([]rollout.Freeze, error) {
	return pages(func(after string) ([]rollout.Freeze, string, error) {
		query := url.Values{}
		set(query, "after", after)
		var body struct {
			Freezes []rollout.Freeze `json:"freezes"`
			Next    string           `json:"next"`
		}
		err := c.ask(ctx, request{method: http.MethodGet, path: []string{"freezes"}, query: query}, &body)
		return body.Freezes, body.Next, err
	})
}

// Freeze freezes a database; [rollout.AllDatabases] means every one. Of the
// command, Database, From, Until, Reason and Request are sent.
func (c *Client) Freeze(ctx context.Context, cmd rollout.HouseCommand) ([]rollout.Freeze, error) {
	q := request{method: http.MethodPost, path: []string{"freezes"}, key: cmd.Request}
	return c.freezes(ctx, q, &saying{Reason: cmd.Reason, Database: cmd.Database, From: cmd.From, Until: cmd.Until})
}

// Thaw ends all freezes of a database. Of the command, Database, Reason and Request
// are sent.
func (c *Client) Thaw(ctx context.Context, cmd rollout.HouseCommand) ([]rollout.Freeze, error) {
	query := url.Values{}
	set(query, "reason", cmd.Reason)
	return c.freezes(ctx, request{method: http.MethodDelete, path: []string{"freezes", cmd.Database}, query: query, key: cmd.Request}, nil)
}

func (c *Client) freezes(ctx context.Context, q request, say *saying) ([]rollout.Freeze, error) {
	var body struct {
		Freezes []rollout.Freeze `json:"freezes"`
	}
	var err error
	if say != nil {
		err = c.tell(ctx, q, say, &body)
	} else {
		err = c.ask(ctx, q, &body)
	}
	return body.Freezes, err
}

// Disturbances returns what is said to disturb databases now.
func (c *Client) Disturbances(ctx context.Context) ([]rollout.Disturbance, error) {
	return pages(func(after string) ([]rollout.Disturbance, string, error) {
		query := url.Values{}
		set(query, "after", after)
		var body struct {
			Disturbances []rollout.Disturbance `json:"disturbances"`
			Next         string                `json:"next"`
		}
		err := c.ask(ctx, request{method: http.MethodGet, path: []string{"quiet"}, query: query}, &body)
		return body.Disturbances, body.Next, err
	})
}

// Disturb says that a database is not quiet: a deploy, a schema change. Of the
// command, Database, What, Until, Reason and Request are sent.
func (c *Client) Disturb(ctx context.Context, cmd rollout.HouseCommand) ([]rollout.Disturbance, error) {
	return c.quiet(ctx, cmd, false)
}

// Quiet says that a database is quiet again. Of the command, Database, What,
// Reason and Request are sent; no What means all that was said.
func (c *Client) Quiet(ctx context.Context, cmd rollout.HouseCommand) ([]rollout.Disturbance, error) {
	cmd.Until = time.Time{}
	return c.quiet(ctx, cmd, true)
}

func (c *Client) quiet(ctx context.Context, cmd rollout.HouseCommand, quiet bool) ([]rollout.Disturbance, error) {
	var body struct {
		Disturbances []rollout.Disturbance `json:"disturbances"`
	}
	say := saying{Reason: cmd.Reason, Database: cmd.Database, What: cmd.What, Quiet: &quiet, Until: cmd.Until}
	err := c.tell(ctx, request{method: http.MethodPost, path: []string{"quiet"}, key: cmd.Request}, say, &body)
	return body.Disturbances, err
}
