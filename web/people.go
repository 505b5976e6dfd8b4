package web

import (
	"context"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// tokenShown is a token as it may be shown: whose, and what it may do.
type tokenShown struct {
	Name    string    `json:"name"`
	Grants  []Grant   `json:"grants"`
	Service string    `json:"service,omitempty"` // of a reporter
	Expires time.Time `json:"expires,omitzero"`  // never, if it is missing
}

func shown(c *Caller) tokenShown {
	return tokenShown{Name: c.Name, Grants: c.Grants, Service: c.Service, Expires: c.Expires}
}

// whoami tells whoever asks who he is here, and what he may do on which databases.
func (s *server) whoami(_ context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	can := map[action][]string{}
	for _, what := range actions() {
		if where := reach(c.who, what); len(where) > 0 {
			can[what] = where
		}
	}
	return answer{body: struct {
		tokenShown

		May map[action][]string `json:"may"`
	}{shown(&c.who), can}}, nil
}

// actions returns all there are.
func actions() []action {
	list := []action{
		toRead, toPlan, toAmend, toPreflight, toTokens, toVerify, toExport, toReport, toDecide,
		action(rollout.Freezing), action(rollout.Thaw), action(rollout.Disturb), action(rollout.Quiet),
	}
	for _, verb := range rollout.Verbs() {
		list = append(list, action(verb))
	}
	return list
}
