package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// patience is how long a call may take where its context sets no earlier end:
// longer than the server's own limit, so that the server can say what is wrong.
const patience = 15 * time.Second

// answerLimit is how long an answer may be.
const answerLimit = 64 << 20

// Client asks one server.
type Client struct {
	base  string
	token string
	http  http.Client
	agent string
}

// New returns a client of the server at a URL such as http://127.0.0.1:8080.
// It follows no redirect: a token is for one server only.
func New(base, token string, hc http.Client) *Client {
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: hc, agent: "cutover-client"}
}

// As names the program that asks, such as rolloutctl/1.2.
func (c *Client) As(program string) *Client {
	named := *c
	named.agent = program
	return &named
}

// Unreachable says that no answer came.
type Unreachable struct {
	URL  string
	Sent bool // the request may have arrived, and been obeyed
	Err  error
}

func (u *Unreachable) Error() string { return fmt.Sprintf("no answer from %s: %v", u.URL, u.Err) }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

// request is what one call sends.
type request struct {
	method string
	path   []string
	query  url.Values
	kind   string
	body   []byte
	key    string // Idempotency-Key
	accept string // what is asked for; none means JSON
	last   string // of a stream: the event that it broke off after
}

// tell sends a request with a body of JSON and decodes the answer.
func (c *Client) tell(ctx context.Context, q request, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	q.kind, q.body = "application/json", text
	return c.ask(ctx, q, into)
}

// ask sends a request and decodes the answer.
func (c *Client) ask(ctx context.Context, q request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := c.build(ctx, q)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return &Unreachable{URL: c.base, Sent: true, Err: fmt.Errorf("reading the answer: %w", err)}
	}
	if resp.StatusCode/100 != 2 {
		return problem(resp, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the answer of %s: is that a Cutover server? %w", c.base, err)
	}
	return nil
}

// has refuses an answer that lacks what it is about, as some other program would give.
func (c *Client) has(err error, there bool, what string) error {
	if err == nil && !there {
		return fmt.Errorf("reading the answer of %s: is that a Cutover server? It names no %s", c.base, what)
	}
	return err
}

func (c *Client) build(ctx context.Context, q request) (*http.Request, error) {
	var target strings.Builder
	target.WriteString(c.base + "/api/v1")
	for _, part := range q.path {
		target.WriteString("/" + url.PathEscape(part))
	}
	if len(q.query) > 0 {
		target.WriteString("?" + q.query.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, q.method, target.String(), bytes.NewReader(q.body))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", c.base, err)
	}
	if scheme := r.URL.Scheme; scheme != "http" && scheme != "https" || r.URL.Host == "" {
		return nil, fmt.Errorf("asking %q: must be a URL such as http://127.0.0.1:8080", c.base)
	}
	r.Header.Set("Accept", cmp.Or(q.accept, "application/json"))
	r.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if q.kind != "" {
		r.Header.Set("Content-Type", q.kind)
	}
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	if q.last != "" {
		r.Header.Set("Last-Event-ID", q.last)
	}
	return r, nil
}

// unreachable tells a server that is not there from one that fell silent.
func (c *Client) unreachable(ctx context.Context, err error) error {
	sent := true
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		sent = false
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the address is in ours
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("waited %v: %w", patience, context.DeadlineExceeded)
	}
	return &Unreachable{URL: c.base, Sent: sent, Err: err}
}

// set adds a parameter, if there is one.
func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// setNumber adds a number, if it is above 0.
func setNumber(query url.Values, name string, value int) {
	if value > 0 {
		query.Set(name, strconv.Itoa(value))
	}
}

// list joins words as a parameter has several.
func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ",")
}
