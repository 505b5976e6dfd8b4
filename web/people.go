package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

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

// tokenList is a part of all tokens.
type tokenList struct {
	Tokens []tokenShown `json:"tokens"`
	Next   string       `json:"next"`
}

// routePeople serves who there is.
func (s *server) routePeople(r chi.Router) {
	r.Get("/whoami", s.known(s.whoami))
	r.Get("/tokens", s.only(toTokens, s.tokens))
	r.Post("/tokens", s.only(action(rollout.MakeToken), s.makeToken))
	r.Delete("/tokens/{name}", s.only(action(rollout.TakeToken), s.takeToken))
}

// whoami tells whoever asks who he is here, and what he may do on which databases.
func (s *server) whoami(_ context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	if err := s.limits.take(c.who.Name, toRead); err != nil {
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

// tokens lists who may ask, by name.
func (s *server) tokens(_ context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	part, next := cut(s.Tokens.all(), p, func(who *Caller) string { return who.Name })
	list := make([]tokenShown, len(part))
	for i := range part {
		list[i] = shown(&part[i])
	}
	return answer{body: tokenList{list, next}}, nil
}

// tokenWanted is the body that asks for a token.
type tokenWanted struct {
	Name      string  `json:"name"`
	Grants    []Grant `json:"grants"`
	Service   string  `json:"service"`
	ExpiresIn string  `json:"expires_in"`
	Reason    string  `json:"reason"`
	Request   string  `json:"request"`
}

// makeToken makes a token and answers with it, once. It is recorded first: nobody
// gets in without the journal knowing it.
func (s *server) makeToken(ctx context.Context, c *call) (answer, error) {
	wanted, e, err := c.token(time.Now())
	if err != nil {
		return answer{}, err
	}
	if err := permit(mayMake(c.who, e)); err != nil {
		s.noteRefusal(ctx, c, action(rollout.MakeToken), err)
		return answer{}, err
	}
	plain := e.Mint()
	err = EditTokens(s.Tokens.path, func(entries []Entry) ([]Entry, error) {
		next, err := WithToken(entries, e)
		if err != nil {
			return nil, err
		}
		_, err = s.doHouse(ctx, c, rollout.HouseCommand{
			Verb: rollout.MakeToken, Subject: e.subject(), Reason: wanted.Reason, Request: wanted.Request,
		})
		return next, err
	})
	if err != nil {
		return answer{}, fmt.Errorf("making a token: %w", err)
	}
	who := e.caller()
	return answer{status: http.StatusCreated, body: struct {
		tokenShown

		Token string `json:"token"`
	}{shown(&who), plain}}, nil
}

// token reads which token is asked for.
func (c *call) token(now time.Time) (wanted tokenWanted, e Entry, err error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return wanted, e, err
	}
	text, err := c.body(jsonKind, bodyLimit)
	if err != nil {
		return wanted, e, err
	}
	if err := forbidden(text); err != nil {
		return wanted, e, err
	}
	if err := strictly(text, &wanted, "name", "grants", "role", "databases", "service", "expires_in", "reason", "request"); err != nil {
		return wanted, e, err
	}
	if err := goodID("request", wanted.Request); err != nil {
		return wanted, e, err
	}
	if err := sayable("reason", wanted.Reason, reasonLimit); err != nil {
		return wanted, e, err
	}
	e = Entry{Name: wanted.Name, Grants: wanted.Grants, Service: wanted.Service}
	if wanted.ExpiresIn != "" {
		var life Lifetime
		if err := life.UnmarshalText([]byte(wanted.ExpiresIn)); err != nil {
			return wanted, e, bad("expires_in", wanted.ExpiresIn, err.Error())
		}
		e.Expires = now.Add(time.Duration(life)).UTC().Truncate(time.Second)
	}
	var p rollout.Problem
	if err := e.checkWhose(); errors.As(err, &p) {
		return wanted, e, bad(p.Field, p.Value, p.Allowed)
	}
	return wanted, e, nil
}

// takeToken takes a token away, also while the journal is: to shut somebody out
// waits for nothing. Then the answer says that it is not recorded.
func (s *server) takeToken(ctx context.Context, c *call) (answer, error) {
	reason, err := c.reason()
	if err != nil {
		return answer{}, err
	}
	if _, err := c.sign(rollout.Command{}); err != nil {
		return answer{}, err
	}
	var unrecorded error
	err = EditTokens(s.Tokens.path, func(entries []Entry) ([]Entry, error) {
		at := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == c.name() })
		if at < 0 {
			return entries, s.takenBefore(ctx, c)
		}
		rest, err := WithoutToken(entries, c.name(), time.Now())
		if err != nil {
			return rest, err
		}
		_, err = s.doHouse(ctx, c, rollout.HouseCommand{Verb: rollout.TakeToken, Subject: entries[at].subject(), Reason: reason})
		if errors.Is(err, rollout.ErrAway) {
			unrecorded, err = err, nil
		}
		return rest, err
	})
	if err != nil {
		return answer{}, fmt.Errorf("taking a token away: %w", err)
	}
	body := map[string]any{"name": c.name(), "recorded": unrecorded == nil}
	if unrecorded != nil {
		s.Log.ErrorContext(ctx, "a token was taken away and that is not recorded", "token", c.name(), "by", c.who.Name, "err", unrecorded)
		body["why"] = "the journal is away; the token is good no longer all the same"
	}
	return answer{body: body}, nil
}

// takenBefore tells a request that comes again, after it took a token away, from
// one for a token that is not there.
func (s *server) takenBefore(ctx context.Context, c *call) error {
	const lately = 100
	signed, err := c.sign(rollout.Command{})
	if err != nil {
		return err
	}
	events, err := s.Journal.Find(ctx, rollout.Query{
		Rollout: rollout.HouseName, By: c.who.Name, Kinds: []rollout.Kind{rollout.TokenTaken}, Limit: lately, Newest: true,
	})
	same := func(e rollout.Event) bool {
		return e.Request == signed.Request && strings.HasPrefix(e.Subject, c.name()+": ")
	}
	if err == nil && slices.ContainsFunc(events, same) {
		return nil
	}
	return &fault{status: http.StatusNotFound, code: NotFound, detail: "there is no token " + c.name()}
}
