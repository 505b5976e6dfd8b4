package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// fail says what went wrong, what is now, and what to do next; it returns the
// exit code.
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
	s.errors.print(s.err, append(lines, s.remedy(err)...))
	return code
}

// errorLines says an error: the first line is the one that matters.
func errorLines(err error) []string {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		lines := []string{"error: " + problem.Detail}
		if len(problem.Problems) > 0 {
			lines = problems("the server finds ", problem.Problems)
		}
		if problem.Status >= http.StatusInternalServerError && problem.RequestID != "" {
			lines = append(lines, "  request "+problem.RequestID)
		}
		return lines
	}
	if invalid, ok := errors.AsType[rollout.Invalid](err); ok {
		head, _, _ := strings.Cut(err.Error(), "\n")
		return problems(strings.TrimSuffix(head, ":")+": ", invalid)
	}
	if out, ok := errors.AsType[failure](err); ok {
		return append([]string{"error: " + out.text}, out.lines...)
	}
	if usage, ok := errors.AsType[usageError](err); ok && usage.hint != "" {
		return []string{"error: " + err.Error(), "  " + usage.hint}
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
	case "refused", "locked", "conflict":
		lines := s.changes(problem.Changed)
		if s.name == "" {
			return lines
		}
		if status, err := s.api.Status(ctx, s.name); err == nil {
			lines = append(lines, s.page(&status).brief()...)
		}
		return lines
	case "not_found":
		return s.there(ctx)
	}
	return nil
}

// changes says what came to pass since somebody looked.
func (s *session) changes(c *client.Changed) []string {
	if c == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("  you looked at revision %d; now it is %d", c.Expected, c.Now)}
	rows := [][]string{{"", "", "", ""}}
	for _, e := range c.Events {
		rows = append(rows, []string{fmt.Sprint(e.Seq), moment(e.At, s.now(), s.zone), e.By, strings.TrimSpace(words(rollout.Phase(e.Kind)) + "  " + e.What)})
	}
	return append(lines, table("  ", rows)[1:]...)
}

// there names the rollouts that there are.
func (s *session) there(ctx context.Context) []string {
	states, err := s.api.Rollouts(ctx)
	if err != nil || s.name == "" {
		return nil
	}
	if len(states) == 0 {
		return []string{"  there are none yet"}
	}
	names := make([]string, 0, len(states))
	for i := range states {
		names = append(names, states[i].Name)
	}
	const shown = 8
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("and %d more", more))
	}
	return []string{"  there are " + strings.Join(names, ", ")}
}

// remedy says what to do about an error.
func (s *session) remedy(err error) []string {
	if usage, ok := errors.AsType[usageError](err); ok && usage.next != "" {
		return []string{"next: " + usage.next}
	}
	if noAnswer(err) {
		silence, silent := errors.AsType[*client.Unreachable](err)
		lines := s.unknown(!silent || silence.Sent)
		if s.verb == rollout.Rollback {
			lines = append(lines, "if the server stays away: rolloutctl break-glass sets the flags with the flag store alone")
		}
		return lines
	}
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return nil
	}
	switch problem.Code {
	case "unauthenticated":
		return []string{"next: rolloutctl login --url " + s.URL + ", or put the token into ROLLOUT_TOKEN, or its file into ROLLOUT_TOKEN_FILE"}
	case "not_found":
		return []string{"next: rolloutctl list"}
	default:
		return nil
	}
}

// unknown says what to do when no answer came: a command may have been obeyed.
func (s *session) unknown(sent bool) []string {
	switch {
	case !sent:
		return []string{"  nothing was sent", "next: is the server there, and is its URL right?"}
	case !s.changing:
		return []string{"next: ask again"}
	}
	lines := []string{"  it may or may not have been done; the same request id never acts twice", "next: " + s.repeat()}
	if s.name != "" {
		lines = append(lines, "      rolloutctl status "+s.name)
	}
	return lines
}

// repeat is the command line, with the step that was sent and the id of its request.
func (s *session) repeat() string {
	args := slices.Clone(s.args)
	end := len(args)
	if at := slices.Index(args, "--"); at >= 0 { // what follows is no flag
		end = at
	}
	if !s.repeats {
		args = slices.Insert(args, end, "--request-id", s.RequestID)
	}
	for _, to := range s.meant {
		args = slices.Insert(args, end, "--to", fmt.Sprintf("%s:%d", to.Lane, int(to.Share)))
	}
	words := []string{"rolloutctl"}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// quoted writes a word so that a shell reads it as one.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// failJSON says an error as one object.
func (s *session) failJSON(err error, code int) {
	type object struct {
		Exit      int               `json:"exit"`
		Code      string            `json:"code,omitempty"`
		Status    int               `json:"status,omitempty"`
		Message   string            `json:"message"`
		Problems  []rollout.Problem `json:"problems,omitempty"`
		Changed   *client.Changed   `json:"changed,omitempty"`
		RequestID string            `json:"request_id,omitempty"`        // ours: to repeat it with
		ServerID  string            `json:"server_request_id,omitempty"` // what the server's log has it under
	}
	o := object{Exit: code, Message: err.Error(), RequestID: s.RequestID}
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		o.Code, o.Status, o.Problems, o.Changed, o.ServerID = problem.Code, problem.Status, problem.Problems, problem.Changed, problem.RequestID
	}
	if invalid, ok := errors.AsType[rollout.Invalid](err); ok {
		o.Code, o.Problems = "invalid_plan", invalid
	}
	enc := json.NewEncoder(s.err)
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
