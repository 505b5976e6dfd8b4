package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// The exit codes; docs/rolloutctl.md tells them to people.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitRefused     = 3
	exitNotFound    = 4
	exitNoAnswer    = 5
	exitDiffers     = 6
	exitInvalid     = 7
	exitNotAllowed  = 8
	exitRolledBack  = 9
	exitInterrupted = 130
)

// usageError is a command line that makes no sense.
type usageError struct {
	text string
	next string // what to try
}

func (u usageError) Error() string { return u.text }

// ended is an outcome that has been told already and is no error.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	if end, ok := errors.AsType[ended](err); ok {
		return int(end)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[rollout.Invalid](err); ok {
		return exitInvalid
	}
	if _, ok := errors.AsType[*client.Unreachable](err); ok {
		return exitNoAnswer
	}
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		return problemCode(problem)
	}
	return exitError
}

func problemCode(p *client.Problem) int {
	switch p.Status {
	case http.StatusConflict:
		return exitRefused
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusUnprocessableEntity:
		return exitInvalid
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return exitNotAllowed
	case http.StatusGatewayTimeout, http.StatusBadGateway, http.StatusServiceUnavailable:
		return exitNoAnswer
	case http.StatusBadRequest:
		return exitUsage
	default:
		return exitError
	}
}

// fail says what went wrong, what is now, and what to do next.
func fail(ctx context.Context, s *session, err error) int {
	code := exitCode(err)
	if _, ok := errors.AsType[ended](err); ok {
		return code
	}
	if s.json() {
		s.failJSON(err, code)
		return code
	}
	lines := errorLines(err)
	lines = append(lines, s.situation(ctx, err)...)
	s.errors.print(s.stderr, append(lines, s.remedy(err)...))
	return code
}

// errorLines says an error: the first line is the one that matters.
func errorLines(err error) []string {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		lines := []string{"error: " + problem.Detail}
		if len(problem.Problems) > 0 {
			lines = problems("the server finds ", problem.Problems)
		}
		if problem.Status >= http.StatusInternalServerError {
			lines = append(lines, "  request "+problem.RequestID)
		}
		return lines
	}
	if invalid, ok := errors.AsType[rollout.Invalid](err); ok {
		head, _, _ := strings.Cut(err.Error(), "\n")
		return problems(strings.TrimSuffix(head, ":")+": ", invalid)
	}
	return []string{"error: " + err.Error()}
}

// problems lists what is wrong with what was sent.
func problems(head string, list []rollout.Problem) []string {
	lines := []string{"error: " + head + count(len(list), "thing", "things") + " wrong"}
	for _, p := range list {
		lines = append(lines, "  "+p.Error())
	}
	return lines
}

// situation says what is now, where a command was not obeyed.
func (s *session) situation(ctx context.Context, err error) []string {
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return nil
	}
	switch problem.Code {
	case "refused", "conflict":
		if status, err := s.api.Status(ctx, s.name); err == nil {
			return s.page(&status).brief()
		}
	case "not_found":
		states, err := s.api.Rollouts(ctx)
		if err != nil {
			return nil
		}
		names := make([]string, 0, len(states))
		for i := range states {
			names = append(names, states[i].Name)
		}
		if len(names) == 0 {
			return []string{"  there are none yet"}
		}
		const shown = 8
		if more := len(names) - shown; more > 0 {
			names = append(names[:shown], fmt.Sprintf("and %d more", more))
		}
		return []string{"  there are " + strings.Join(names, ", ")}
	}
	return nil
}

// remedy says what to do about an error.
func (s *session) remedy(err error) []string {
	if usage, ok := errors.AsType[usageError](err); ok && usage.next != "" {
		return []string{"next: " + usage.next}
	}
	if silence, ok := errors.AsType[*client.Unreachable](err); ok {
		lines := s.unknown(silence.Sent)
		if strings.HasPrefix(s.repeat, string(rollout.Rollback)) {
			lines = append(lines, "if the server stays away: set the lanes' flags to 0% in the flag store itself, writes first")
		}
		return lines
	}
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return nil
	}
	switch problem.Code {
	case "unauthenticated":
		return []string{"next: put the token into ROLLOUT_TOKEN, or its file into ROLLOUT_TOKEN_FILE"}
	case "timeout":
		return s.unknown(true)
	case "not_found":
		return []string{"next: rolloutctl list"}
	default:
		return nil
	}
}

// unknown says what to do when no answer came: a command may have been obeyed.
func (s *session) unknown(sent bool) []string {
	if !sent {
		return []string{"next: is the server there, and is ROLLOUT_URL right?"}
	}
	if s.repeat == "" {
		return []string{"next: ask again"}
	}
	return []string{
		"  it may or may not have been done; the same request id never acts twice",
		"next: rolloutctl status " + s.name,
		"      rolloutctl " + s.repeat + " --request-id " + s.RequestID,
	}
}

// failJSON says an error as one object.
func (s *session) failJSON(err error, code int) {
	type object struct {
		Exit      int               `json:"exit"`
		Code      string            `json:"code,omitempty"`
		Status    int               `json:"status,omitempty"`
		Message   string            `json:"message"`
		Problems  []rollout.Problem `json:"problems,omitempty"`
		RequestID string            `json:"request_id,omitempty"`
	}
	o := object{Exit: code, Message: err.Error(), RequestID: s.RequestID}
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		o.Code, o.Status, o.Problems, o.RequestID = problem.Code, problem.Status, problem.Problems, problem.RequestID
	}
	if invalid, ok := errors.AsType[rollout.Invalid](err); ok {
		o.Code, o.Problems = "invalid_plan", invalid
	}
	enc := json.NewEncoder(s.stderr)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]object{"error": o}) // nobody is left to tell
}

// count says how many there are of something.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
