package web

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// approvalList is what waits for approval.
type approvalList struct {
	Approvals []awaited `json:"approvals"`
	Next      string    `json:"next"`
}

// awaited is something that waits for approval.
type awaited struct {
	Rollout  string             `json:"rollout"`
	Database string             `json:"database"`
	Version  uint64             `json:"version"` // of the rollout: what expect means
	What     subject            `json:"what"`
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
	May      bool               `json:"may"`           // whether whoever asks may approve it now
	Why      string             `json:"why,omitempty"` // if not
}

// subject is what kind of thing waits.
type subject string

// What may wait for approval.
const (
	aStep       subject = "step"
	aCompletion subject = "completion"
	anAmendment subject = "amendment"
)

// approvals returns all that waits for approval and may be read.
func (s *server) approvals(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	states, err := s.readable(ctx, c.who)
	if err != nil {
		return answer{}, err
	}
	part, next := cut(awaitedOf(c.who, states, time.Now()), p, func(a *awaited) string { return a.Rollout })
	return answer{body: approvalList{part, next}}, nil
}

// approvalsOf returns what waits for approval of one rollout.
func (s *server) approvalsOf(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	seen, err := s.find(ctx, c)
	if err != nil {
		return answer{}, err
	}
	list := awaitedOf(c.who, []rollout.State{seen.State}, time.Now())
	return answer{body: approvalList{Approvals: append([]awaited{}, list...)}}, nil
}

// awaitedOf returns what waits for approval: one thing a rollout, at most.
func awaitedOf(who Caller, states []rollout.State, now time.Time) []awaited {
	var list []awaited
	for i := range states {
		st := &states[i]
		a := awaited{
			Rollout: st.Name, Database: databaseName(st), Version: st.Version, Plan: st.PlanHash,
			Evidence: st.Evidence, Since: st.Since, Given: []rollout.Approval{},
		}
		if st.Plan == nil || !a.is(st) {
			continue
		}
		if a.What != anAmendment {
			a.Given = slices.DeleteFunc(append(a.Given, st.Approvals...), func(p rollout.Approval) bool { return !now.Before(p.Expires) })
		}
		a.May, a.Why = mayApprove(who, st, now)
		list = append(list, a)
	}
	return list
}

// is completes what waits for approval, and reports whether anything does. An
// amendment is decided on before any step.
func (a *awaited) is(s *rollout.State) bool {
	next, ok := s.Next()
	switch {
	case s.Proposal != nil:
		a.What, a.Needs, a.Evidence = anAmendment, 1, ""
		a.By, a.Loosens, a.Plan, a.Since = s.Proposal.By, s.Proposal.Loosens, s.Proposal.Plan.Hash(), s.Proposal.At
	case s.Phase == rollout.Soaking && s.Soaked:
		a.What, a.Needs, a.From, a.To = aCompletion, 1, flags.All, flags.All
	case ok && (s.Phase == rollout.Ready || s.Phase == rollout.Waiting) && next.Stage.Approvals > 0:
		a.What, a.Needs, a.Lane, a.From, a.To = aStep, next.Stage.Approvals, s.Lanes[next.Lane].Name, next.From, next.Stage.Share
	default:
		return false
	}
	return true
}

// mayApprove reports whether somebody may approve what waits, by the policy and
// by what the desk would say.
func mayApprove(who Caller, s *rollout.State, now time.Time) (ok bool, why string) {
	if ok, why := may(who, action(rollout.Approve), databaseName(s)); !ok {
		return false, why
	}
	_, err := rollout.Obey(s, &rollout.Command{Verb: rollout.Approve, By: who.Name}, now)
	if no, refused := errors.AsType[rollout.Refusal](err); refused {
		return false, no.Error()
	}
	return err == nil, ""
}
