package flipt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// More than any answer about one flag, and about all flags of a namespace.
const (
	answerLimit int64 = 4 << 20
	listLimit   int64 = 64 << 20
)

// client asks a Flipt server, one request at a time, each with its own deadline.
type client struct {
	base    string
	token   string
	timeout time.Duration
	http    *http.Client
}

// request is a question to the server. Needs is the permission that the token
// must give, in words for a person.
type request struct {
	method, path string
	needs        string
	body         any
	limit        int64 // of the answer, in bytes; answerLimit if zero
}

// Permissions that a token must give.
const (
	toRead     = "read flags"
	toWrite    = "write flags"
	toEvaluate = "evaluate flags"
)

// gRPC's codes that Flipt's gateway adds to an HTTP status.
const (
	codeNotFound      = 5
	codeAlreadyExists = 6
	codeAborted       = 10
)

// refusal is an answer other than success.
type refusal struct {
	request request
	status  int
	code    int // gRPC's, as Flipt's gateway adds it
	message string
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%s %s: flipt answered %d: %s", r.request.method, r.request.path, r.status, r.message)
	switch r.status {
	case http.StatusUnauthorized:
		text += "; it does not accept the token: it takes " + Lacks(r)
	case http.StatusForbidden:
		text += "; the token lacks " + Lacks(r)
	}
	return text
}

// Lacks returns what the token that was refused would need, such as "the
// permission to write flags", or nothing if err is no such refusal.
func Lacks(err error) string {
	var r *refusal
	switch {
	case !errors.As(err, &r):
	case r.status == http.StatusUnauthorized:
		return "a valid token that may " + r.request.needs
	case r.status == http.StatusForbidden:
		return "the permission to " + r.request.needs
	}
	return ""
}

// refused reports whether err is an answer with this status and, unless that is 0, this code.
func refused(err error, status, code int) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == status && (code == 0 || r.code == code)
}

// missing tells a flag that is not there from other errors.
func missing(err error) error {
	if refused(err, http.StatusNotFound, codeNotFound) {
		return fmt.Errorf("%w: %w", flags.ErrNotFound, err)
	}
	return err
}

// do sends a request and reads the JSON answer into the value that answer points
// to. It never sends twice.
func (c client) do(ctx context.Context, r request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	status, text, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		said := &refusal{request: r, status: status, message: http.StatusText(status)}
		var problem struct {
			Code    int
			Message string
		}
		if json.Unmarshal(text, &problem) == nil && problem.Message != "" {
			said.code, said.message = problem.Code, problem.Message
		}
		return said
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number goes back as it came
	if err := decoder.Decode(answer); err != nil {
		return fmt.Errorf("%s %s: reading the answer: %w", r.method, r.path, err)
	}
	return nil
}

func (c client) send(ctx context.Context, r request) (status int, text []byte, err error) {
	var body io.Reader = http.NoBody
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return 0, nil, fmt.Errorf("%s %s: writing the request: %w", r.method, r.path, err)
		}
		body = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return 0, nil, fmt.Errorf("asking flipt: %w", err)
	}
	sent.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		sent.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return 0, nil, fmt.Errorf("asking flipt: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	limit := cmp.Or(r.limit, answerLimit)
	text, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: reading the answer: %w", r.method, r.path, err)
	}
	if int64(len(text)) > limit {
		return 0, nil, fmt.Errorf("%s %s: the answer is longer than %d bytes", r.method, r.path, limit)
	}
	return response.StatusCode, text, nil
}
