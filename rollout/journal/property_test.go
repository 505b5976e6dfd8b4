package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func properties() []promise {
	return []promise{{"random histories over two journals go as a model says, and verify", randomHistories}}
}

func randomHistories(t *testing.T, e *engine) {
	var journals []*journal.Journal
	history := 0
	rapid.Check(t, func(r *rapid.T) {
		if history%8 == 0 { // verifying begins at the beginning
			journals = openMany(t, e.source(t), 2)
		}
		history++
		m := newModel(fmt.Sprintf("h%d", history))
		for range rapid.IntRange(1, 15).Draw(r, "events") {
			m.append(t, r, rapid.SampledFrom(journals).Draw(r, "journal"))
		}
		if result, err := journals[0].Verify(t.Context()); err != nil || result.Damage != nil {
			r.Fatal(result.Damage, err)
		}
		for _, a := range m.rollouts {
			m.compare(t, r, journals[1], a)
		}
	})
}

// model is a journal of two rollouts, which share a database and a flag.
type model struct {
	rollouts []*account
	holders  map[rollout.Claim]string
}

// account is what the model knows of one rollout.
type account struct {
	plan     *rollout.Plan
	states   []rollout.State // all that it has had
	requests map[string]uint64
}

func newModel(prefix string) *model {
	m := &model{holders: make(map[rollout.Claim]string)}
	for _, name := range []string{"-a", "-b"} {
		p := plan(prefix+name, prefix+"-db")
		p.Lanes = append(p.Lanes, rollout.LanePlan{Name: "more", Flag: flags.Key{Namespace: prefix, Name: "shared"}})
		m.rollouts = append(m.rollouts, &account{
			plan: p, states: []rollout.State{{}}, requests: make(map[string]uint64),
		})
	}
	return m
}

// draw returns an event, and a state of its rollout that need not be the last.
func (a *account) draw(r *rapid.T) (before rollout.State, e rollout.Event) {
	before = a.states[max(0, len(a.states)-1-rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(r, "behind"))]
	e = rapid.SampledFrom([]rollout.Event{
		noted("x"), held(), event(rollout.Started), event(rollout.Started), checked(rollout.CheckPass),
		checked(rollout.CheckFail), event(rollout.GivenUp), event(rollout.Done), event("teleported"),
	}).Draw(r, "event")
	again := *a.plan
	if rapid.Bool().Draw(r, "own flags only") {
		again.Lanes = again.Lanes[:1]
	}
	if before.Version == 0 || rapid.IntRange(0, 5).Draw(r, "plan") == 0 {
		e = planned(&again)
	}
	e.Request = rapid.SampledFrom([]string{"", "", "r1", "r2", "R1"}).Draw(r, "request")
	return before, e
}

func (m *model) append(t *testing.T, r *rapid.T, j *journal.Journal) {
	a := rapid.SampledFrom(m.rollouts).Draw(r, "rollout")
	before, e := a.draw(r)
	got, stored, err := j.Append(t.Context(), before, e)

	newest := a.states[len(a.states)-1]
	e.Seq = before.Version + 1
	after := rollout.Apply(before, &e)
	first, repeated := a.requests[e.Request]
	taken := m.taken(a.plan.Name, after)
	var duplicate rollout.Duplicate
	var locked rollout.Locked
	switch {
	case repeated:
		if !errors.As(err, &duplicate) || duplicate.Event.Seq != first {
			r.Fatalf("got %v, want the duplicate of event %d", err, first)
		}
	case before.Version != newest.Version:
		if !errors.Is(err, rollout.ErrConflict) {
			r.Fatalf("got %v, want a conflict", err)
		}
	case taken != nil:
		if !errors.As(err, &locked) || locked != *taken {
			r.Fatalf("got %v, want %v", err, taken)
		}
	case err != nil:
		r.Fatal(err)
	default:
		same(r, after, got)
		a.states = append(a.states, after)
		if e.Request != "" {
			a.requests[e.Request] = stored.Seq
		}
		m.hold(a.plan.Name, before, after)
	}
}

// taken returns the first claim of a state that another rollout holds.
func (m *model) taken(name string, s rollout.State) *rollout.Locked {
	for _, claim := range s.Claims() {
		if holder, ok := m.holders[claim]; ok && holder != name {
			return &rollout.Locked{Claim: claim, Holder: holder}
		}
	}
	return nil
}

func (m *model) hold(name string, before, after rollout.State) {
	for _, claim := range before.Claims() {
		if claim.Kind == rollout.ClaimDatabase && !slices.Contains(after.Claims(), claim) {
			delete(m.holders, claim)
		}
	}
	for _, claim := range after.Claims() {
		m.holders[claim] = name
	}
}

// compare holds a rollout's row and events against the model.
func (m *model) compare(t *testing.T, r *rapid.T, j *journal.Journal, a *account) {
	newest := a.states[len(a.states)-1]
	row, err := j.State(t.Context(), a.plan.Name)
	if newest.Version == 0 {
		if !errors.Is(err, rollout.ErrNotFound) {
			r.Fatalf("got %v, want not found", err)
		}
		return
	}
	if err != nil {
		r.Fatal(err)
	}
	events, err := j.Events(t.Context(), a.plan.Name, 0, 0)
	if err != nil {
		r.Fatal(err)
	}
	same(r, newest, row)
	same(r, newest, rollout.Fold(events))
}
