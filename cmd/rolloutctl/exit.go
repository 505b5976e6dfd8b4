package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// The exit codes; exits says what each means.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitNotAllowed  = 4
	exitConflict    = 5
	exitRefused     = 6
	exitNotMoved    = 7
	exitRolledBack  = 8
	exitStopped     = 9
	exitNoAnswer    = 10
	exitInterrupted = 130
)

// exit is a code and what it means.
type exit struct {
	code  int
	means string
}

// exits are all codes, as --help and docs/rolloutctl.md tell them.
func exits() []exit {
	return []exit{
		{exitDone, "done, or the state that was waited for is reached"},
		{exitError, "failed for another reason"},
		{exitUsage, "wrong use, or invalid input such as a plan file"},
		{exitNotFound, "no such rollout, gate or token"},
		{exitNotAllowed, "not signed in, or not allowed"},
		{exitConflict, "it changed meanwhile; nothing was done"},
		{exitRefused, "refused by a rule; or a gate scenario differs, or damage was found"},
		{exitNotMoved, "accepted, and nothing has moved yet"},
		{exitRolledBack, "it was rolled back, or a rollback runs"},
		{exitStopped, "stopped waiting; the rollout goes on"},
		{exitNoAnswer, "no answer: outcome unknown, or the server is away; safe to repeat with the same request id"},
		{exitInterrupted, "interrupted; the rollout goes on"},
	}
}

// usageError is a command line that makes no sense.
type usageError struct {
	text string
	hint string // what is missing; empty if the text says it
	next string // a command to try; empty if there is none
}

func (u usageError) Error() string { return u.text }

// failure is how a command has ended that is neither a success nor an answer of
// the server. The lines say more, the last of them what to do next.
type failure struct {
	code  int
	text  string
	lines []string
}

func (f failure) Error() string { return f.text }

// ended is a code of an outcome that has been told already.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	if end, ok := errors.AsType[ended](err); ok {
		return int(end)
	}
	if out, ok := errors.AsType[failure](err); ok {
		return out.code
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[rollout.Invalid](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*client.Unreachable](err); ok {
		return exitNoAnswer
	}
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		return problemCode(problem)
	}
	if _, ok := errors.AsType[rollout.Refusal](err); ok {
		return exitRefused
	}
	if errors.Is(err, rollout.ErrConflict) {
		return exitConflict
	}
	return exitError
}

// noAnswer reports whether an error says that nobody could answer now: it may be
// otherwise a moment later.
func noAnswer(err error) bool {
	return err != nil && exitCode(err) == exitNoAnswer
}

// problemCode goes by the code of a problem, which never changes its meaning,
// and by its status only for what is not the API's own.
func problemCode(p *client.Problem) int {
	switch p.Code {
	case "conflict":
		return exitConflict
	case "refused", "locked":
		return exitRefused
	}
	switch p.Status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return exitUsage
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitNotAllowed
	case http.StatusTooManyRequests:
		if p.Code == "too_many_failures" { // of tokens
			return exitNotAllowed
		}
		return exitNoAnswer
	case http.StatusGatewayTimeout, http.StatusBadGateway, http.StatusServiceUnavailable:
		return exitNoAnswer
	default:
		return exitError
	}
}
