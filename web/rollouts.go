package web

import (
	"context"
	"math"
	"net/url"
	"slices"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// rolloutList is a part of all rollouts.
type rolloutList struct {
	Rollouts []rollout.State `json:"rollouts"`
	Next     string          `json:"next"`
}

// list returns the rollouts that are asked for and may be read, by name.
func (s *server) list(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "state", "database", "owner", "after", "limit"); err != nil {
		return answer{}, err
	}
	asked, err := parseFilter(query)
	if err != nil {
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
	states = slices.DeleteFunc(states, func(st rollout.State) bool { return !asked.matches(&st) })
	part, next := cut(states, p, func(st *rollout.State) string { return st.Name })
	return answer{body: rolloutList{Rollouts: part, Next: next}}, nil
}

// readable returns all rollouts that somebody may read. The list is his own.
func (s *server) readable(ctx context.Context, who Caller) ([]rollout.State, error) {
	states, err := s.register.all(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(states), func(st rollout.State) bool {
		ok, _ := may(who, toRead, databaseName(&st))
		return !ok
	}), nil
}

// databaseName is the database that a rollout is on.
func databaseName(s *rollout.State) string {
	if s.Plan == nil {
		return everywhere
	}
	return s.Plan.Database.Name
}

// filter is which rollouts are asked for; what is empty asks for any.
type filter struct {
	phases          []rollout.Phase
	database, owner string
}

func parseFilter(query url.Values) (f filter, err error) {
	if f.phases, err = choices(query, "state", rollout.Phases()); err != nil {
		return f, err
	}
	if f.database, err = word(query, "database"); err != nil {
		return f, err
	}
	f.owner, err = word(query, "owner")
	return f, err
}

// matches reports whether a rollout is asked for. Its owner is the person who
// answers for it, and whom its plan names.
func (f *filter) matches(s *rollout.State) bool {
	return (len(f.phases) == 0 || slices.Contains(f.phases, s.Phase)) &&
		(f.database == "" || f.database == databaseName(s)) &&
		(f.owner == "" || f.owner == s.Owner || s.Plan != nil && f.owner == s.Plan.Owner)
}

// show returns a rollout's status.
func (s *server) show(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	seen, err := s.find(ctx, c)
	if err != nil {
		return answer{}, err
	}
	seen.Lanes = append([]rollout.LaneStatus{}, seen.Lanes...) // an empty list is a list, too
	seen.Verdicts = append([]gates.Verdict{}, speakable(seen.Verdicts)...)
	seen.Waits = append([]rollout.Wait{}, seen.Waits...)
	return answer{body: seen}, nil
}

// speakable drops the values that JSON has no word for; the verdict's cause is
// nan then.
func speakable(verdicts []gates.Verdict) []gates.Verdict {
	verdicts = slices.Clone(verdicts)
	for i := range verdicts {
		if v := &verdicts[i]; !finite(v.Value) {
			v.Value = 0
		}
	}
	return verdicts
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
