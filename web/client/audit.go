package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// Audit returns the events that a query asks for, of all that may be read, and
// the place to go on after. Limit 0 leaves it to the server.
func (c *Client) Audit(ctx context.Context, q rollout.Query) ([]rollout.Event, int64, error) {
	query := url.Values{}
	set(query, "rollout", q.Rollout)
	set(query, "by", q.By)
	set(query, "kind", list(q.Kinds))
	if !q.From.IsZero() {
		query.Set("from", q.From.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		query.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	if q.Newest {
		query.Set("newest", "true")
	}
	if q.After > 0 {
		query.Set("after", strconv.FormatInt(q.After, 10))
	}
	setNumber(query, "limit", q.Limit)
	var body struct {
		Events []rollout.Event `json:"events"`
		Next   int64           `json:"next"`
	}
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"audit"}, query: query}, &body)
	return body.Events, body.Next, err
}

// VerifyAudit has the server verify its journal, also against checkpoints that
// were kept elsewhere. It takes as long as the journal is: only ctx ends it.
func (c *Client) VerifyAudit(ctx context.Context, checkpoints ...audit.Checkpoint) (audit.Result, error) {
	query := url.Values{}
	texts := make([]string, len(checkpoints))
	for i := range checkpoints {
		texts[i] = checkpoints[i].String()
	}
	set(query, "checkpoint", strings.Join(texts, ","))
	var result audit.Result
	body, err := c.open(ctx, request{method: http.MethodGet, path: []string{"audit", "verify"}, query: query})
	if err != nil {
		return result, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, answerLimit))
	if err != nil {
		return result, &Unreachable{URL: c.base, Sent: true, Err: fmt.Errorf("reading the answer: %w", err)}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return result, fmt.Errorf("reading the answer of %s: is that a Cutover server? %w", c.base, err)
	}
	return result, nil
}

// ExportAudit returns an export of the journal after a place, to be read to its
// end and closed; see [audit.Read]. It takes as long as the journal is: only ctx
// ends it.
func (c *Client) ExportAudit(ctx context.Context, after int64) (io.ReadCloser, error) {
	query := url.Values{}
	if after > 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	const lines = "application/x-ndjson"
	return c.open(ctx, request{method: http.MethodGet, path: []string{"audit", "export"}, query: query, accept: lines})
}

// open sends a request and returns the body of a good answer as it comes.
func (c *Client) open(ctx context.Context, q request) (io.ReadCloser, error) {
	r, err := c.build(ctx, q)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return nil, &Unreachable{URL: c.base, Sent: true, Err: fmt.Errorf("reading the answer: %w", err)}
	}
	return nil, problem(resp, text)
}
