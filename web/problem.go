package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Problem is the body of every answer that is not a success (RFC 9457). Its
// type is about:blank; Code tells problems apart and never changes its meaning.
type Problem struct {
	Title     string            `json:"title"`
	Status    int               `json:"status"`
	Code      Code              `json:"code"`
	Detail    string            `json:"detail"`
	Problems  []rollout.Problem `json:"problems,omitempty"` // each thing that is wrong with what was sent
	Changed   *Changed          `json:"changed,omitempty"`  // of a conflict: what came to pass since
	RequestID string            `json:"request_id"`
}

// Code names a kind of problem.
type Code string

// The codes.
const (
	BadRequest       Code = "bad_request"     // 400: what was sent cannot be understood
	Unauthenticated  Code = "unauthenticated" // 401: no token, or not a good one
	Forbidden        Code = "forbidden"       // 403: the token's role may not do that
	NotFound         Code = "not_found"       // 404: no such rollout
	NoRoute          Code = "no_route"        // 404: no such path
	MethodNotAllowed Code = "method_not_allowed"
	NotAcceptable    Code = "not_acceptable"    // 406: only JSON is served
	Conflict         Code = "conflict"          // 409: the rollout has gone on since it was looked at
	Refused          Code = "refused"           // 409: not now; the detail says why and what can be done
	RequestReused    Code = "request_reused"    // 409: that request id has done something else
	LockedByOther    Code = "locked"            // 409: the database or flag key is another rollout's
	TooLarge         Code = "too_large"         // 413
	UnsupportedMedia Code = "unsupported_media" // 415
	InvalidPlan      Code = "invalid_plan"      // 422: all that is wrong is listed
	TooManyFailures  Code = "too_many_failures" // 429: of tokens, from one address
	TooManyStreams   Code = "too_many_streams"  // 429
	Internal         Code = "internal"          // 500: a fault of ours
	Away             Code = "away"              // 503: the journal cannot be reached; only rollback is obeyed
	Timeout          Code = "timeout"           // 504: the outcome is unknown
)

// fault is what web itself finds wrong with a request.
type fault struct {
	status   int
	code     Code
	detail   string
	problems []rollout.Problem
	header   http.Header
}

func (f *fault) Error() string { return f.detail }

// bad says which part of what was sent is wrong, and what is allowed.
func bad(field, value, allowed string) error {
	p := rollout.Problem{Field: field, Value: value, Allowed: allowed}
	return &fault{status: http.StatusBadRequest, code: BadRequest, detail: p.Error(), problems: []rollout.Problem{p}}
}

// status says what an error means in HTTP. It is the only place that knows.
func status(err error) Problem {
	var (
		found   *fault
		refusal rollout.Refusal
		locked  rollout.Locked
		reused  rollout.Reused
		invalid rollout.Invalid
	)
	switch {
	case errors.As(err, &found):
		return Problem{Status: found.status, Code: found.code, Detail: found.detail, Problems: found.problems}
	case errors.Is(err, rollout.ErrNotFound):
		return Problem{Status: http.StatusNotFound, Code: NotFound, Detail: "no such rollout"}
	case errors.Is(err, rollout.ErrConflict):
		p := Problem{Status: http.StatusConflict, Code: Conflict, Detail: "the rollout has gone on since you looked; nothing was done. Look again"}
		if since, ok := errors.AsType[stale](err); ok {
			p.Changed = since.changed
		}
		return p
	case errors.As(err, &refusal):
		return Problem{Status: http.StatusConflict, Code: Refused, Detail: refusal.Error()}
	case errors.As(err, &reused):
		return Problem{Status: http.StatusConflict, Code: RequestReused, Detail: reused.Error()}
	case errors.As(err, &locked):
		return Problem{Status: http.StatusConflict, Code: LockedByOther, Detail: locked.Error()}
	case errors.As(err, &invalid):
		return Problem{Status: http.StatusUnprocessableEntity, Code: InvalidPlan, Detail: invalid.Error(), Problems: invalid}
	case errors.Is(err, rollout.ErrAway):
		return Problem{Status: http.StatusServiceUnavailable, Code: Away, Detail: rollout.ErrAway.Error() + ". Flags stay as they are, and tasks go on"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Problem{Status: http.StatusGatewayTimeout, Code: Timeout, Detail: "no answer in time; what was asked for may or may not have been done. Look again, or ask again with the same Idempotency-Key"}
	default:
		return Problem{Status: http.StatusInternalServerError, Code: Internal, Detail: "something failed here, not in your rollout; rollouts go on. The log has it under this request id"}
	}
}
