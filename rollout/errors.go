package rollout

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotFound says that there is no such rollout.
	ErrNotFound = errors.New("no such rollout")

	// ErrConflict says that the rollout has gone on since it was read.
	ErrConflict = errors.New("the rollout has gone on meanwhile")

	// ErrAway says that the journal cannot be reached, so that nothing but a
	// rollback is obeyed. Callers join what went wrong; people are told this alone.
	ErrAway = errors.New("the journal is away: nothing rises, and only rollback is obeyed")
)

// Refusal says why a command cannot be obeyed now, and what can be done instead.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// refuse returns a refusal.
func refuse(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// Locked says that a database or flag key belongs to another rollout.
type Locked struct {
	Claim  Claim
	Holder string
}

func (l Locked) Error() string {
	if l.Claim.Kind == ClaimFlag {
		return fmt.Sprintf("flag %s belongs to rollout %s for ever; use another flag key", l.Claim.Name, l.Holder)
	}
	return fmt.Sprintf("database %s is locked by rollout %s; complete or withdraw that one first", l.Claim.Name, l.Holder)
}

// Duplicate says that a request has done its work already.
type Duplicate struct {
	Event Event // which it caused then
}

func (d Duplicate) Error() string {
	return fmt.Sprintf("request %s has caused event %d, %s, already", d.Event.Request, d.Event.Seq, d.Event.Kind)
}

// Problem is one thing that is wrong with a plan.
type Problem struct {
	Field   string `json:"field"` // such as lanes[1].stages[2].share
	Value   string `json:"value"`
	Allowed string `json:"allowed"` // what would be right
	Line    int    `json:"line,omitempty"`
}

func (p Problem) Error() string {
	where := p.Field
	if p.Line > 0 {
		where = fmt.Sprintf("line %d: %s", p.Line, p.Field)
	}
	if p.Value == "" {
		return where + ": " + p.Allowed
	}
	return fmt.Sprintf("%s: %q: %s", where, p.Value, p.Allowed)
}

// Invalid is all that is wrong with a plan.
type Invalid []Problem

func (i Invalid) Error() string {
	lines := make([]string, len(i))
	for n, p := range i {
		lines[n] = p.Error()
	}
	return strings.Join(lines, "\n")
}
