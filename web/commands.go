package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// order is the body of a command: what a person may say. Who says it, and by
// which way, is found out from the request.
type order struct {
	Verb    rollout.Verb `json:"verb"`
	Reason  string       `json:"reason"`
	Expect  uint64       `json:"expect"`
	To      []target     `json:"to"`
	Person  string       `json:"person"`
	Since   string       `json:"since"`
	Request string       `json:"request"`
}

// target is a share of one lane.
type target struct {
	Lane  string `json:"lane"`
	Share *int64 `json:"share"`
}

// How much a person may say.
const (
	reasonLimit  = 1000
	targetsLimit = 100
	laneLimit    = 100
)

// command obeys an order.
func (s *server) command(ctx context.Context, c *call) (answer, error) {
	if err := permit(may(c.who, toRead, anywhere)); err != nil { // who may not even look is told so first
		return answer{}, err
	}
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	text, err := c.body("application/json", bodyLimit)
	if err != nil {
		return answer{}, err
	}
	cmd, err := parseOrder(text, time.Now())
	if err != nil {
		return answer{}, err
	}
	if cmd, err = c.sign(cmd); err != nil {
		return answer{}, err
	}
	state, err := s.obey(ctx, c.who, c.name(), cmd)
	if err != nil {
		return answer{}, s.sinceLook(ctx, c.name(), cmd, fmt.Errorf("%s %s: %w", cmd.Verb, c.name(), err))
	}
	return answer{body: state}, nil
}

// obey is what each surface does with a command of somebody: ask the policy, and
// then the desk.
func (s *server) obey(ctx context.Context, who Caller, name string, cmd rollout.Command) (rollout.State, error) {
	if err := s.limits.take(who.Name, action(cmd.Verb)); err != nil {
		return rollout.State{}, err
	}
	if err := s.mayOn(ctx, who, action(cmd.Verb), name); err != nil {
		s.refused(ctx, who, name, cmd, err)
		return rollout.State{}, err
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	if cmd.Verb == rollout.HandOver {
		if err := s.offered(ctx, name, cmd); err != nil {
			return rollout.State{}, err
		}
	}
	return s.Desk.Do(ctx, name, cmd)
}

// lasting returns a context that outlives whoever asked: a rollback must not
// stop halfway because a telephone lost its network.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// sign adds who asks, by which way, and the request's id.
func (c *call) sign(cmd rollout.Command) (rollout.Command, error) {
	cmd.By = c.who.Name
	cmd.Surface = "api"
	if strings.HasPrefix(c.r.UserAgent(), "rolloutctl/") {
		cmd.Surface = "cli"
	}
	key := c.r.Header.Get("Idempotency-Key")
	if err := goodID("Idempotency-Key", key); err != nil {
		return cmd, err
	}
	switch {
	case key != "" && cmd.Request != "" && key != cmd.Request:
		return cmd, bad("request", cmd.Request, "differs from the Idempotency-Key")
	case key != "":
		cmd.Request = key
	case cmd.Request == "":
		cmd.Request = c.id
	}
	return cmd, nil
}

// verbs returns the verbs that are for one rollout. Those that are for all have
// routes of their own.
func verbs() []rollout.Verb {
	return slices.DeleteFunc(rollout.Verbs(), func(v rollout.Verb) bool { return v == rollout.HoldForAll || v == rollout.ReleaseAll })
}

// parseOrder reads a command. Whether it can be obeyed is the desk's to say.
func parseOrder(text []byte, now time.Time) (rollout.Command, error) {
	var o order
	if err := forbidden(text); err != nil {
		return rollout.Command{}, err
	}
	if err := strictly(text, &o, "verb", "reason", "expect", "to", "person", "since", "request", "lane", "share"); err != nil {
		return rollout.Command{}, err
	}
	cmd := rollout.Command{Verb: o.Verb, Reason: o.Reason, Expect: o.Expect, Person: o.Person, Request: o.Request}
	if err := o.check(); err != nil {
		return cmd, err
	}
	var err error
	if cmd.Since, err = o.since(now); err != nil {
		return cmd, err
	}
	cmd.To, err = o.targets()
	return cmd, err
}

// check refuses what cannot be meant.
func (o *order) check() error {
	switch {
	case o.Verb == rollout.HoldForAll:
		return bad("verb", string(o.Verb), "is for all rollouts at once: POST /api/v1/hold-all")
	case o.Verb == rollout.ReleaseAll:
		return bad("verb", string(o.Verb), "is for all rollouts at once: DELETE /api/v1/hold-all")
	case !slices.Contains(verbs(), o.Verb):
		return bad("verb", string(o.Verb), "must be one of "+joined(verbs(), "or"))
	case o.Person != "" && o.Verb != rollout.HandOver:
		return bad("person", o.Person, "is for handover only")
	case o.Person != "" && checkName(o.Person) != "":
		return bad("person", o.Person, checkName(o.Person))
	}
	if err := goodID("request", o.Request); err != nil {
		return err
	}
	return sayable("reason", o.Reason, reasonLimit)
}

// since reads since when a flag that is taken over has had a share.
func (o *order) since(now time.Time) (time.Time, error) {
	if o.Since != "" && o.Verb != rollout.Adopt {
		return time.Time{}, bad("since", o.Since, "is for adopt only")
	}
	at, err := moment("since", o.Since)
	if err == nil && at.After(now) {
		err = bad("since", o.Since, "must not lie in the future")
	}
	return at, err
}

// forbidden refuses what nobody may say of himself.
func forbidden(text []byte) error {
	names, _, err := object(text)
	if err != nil {
		return err
	}
	for _, name := range []string{"by", "surface"} {
		if slices.Contains(names, name) {
			return bad(name, "", "is found out from the token; leave it out")
		}
	}
	return nil
}

// aimed are the verbs that may name shares.
func aimed() []rollout.Verb {
	return []rollout.Verb{rollout.Rollback, rollout.Adopt, rollout.Advance, rollout.Approve, rollout.Reject}
}

// targets returns the shares that a command names.
func (o *order) targets() ([]rollout.LaneShare, error) {
	if len(o.To) > 0 && !slices.Contains(aimed(), o.Verb) {
		return nil, bad("to", "", "is for "+joined(aimed(), "and")+" only; "+string(o.Verb)+" has no choice")
	}
	if len(o.To) > targetsLimit {
		return nil, bad("to", fmt.Sprint(len(o.To)), fmt.Sprintf("must have at most %d lanes", targetsLimit))
	}
	var list []rollout.LaneShare
	for i, t := range o.To {
		field := fmt.Sprintf("to[%d]", i)
		if t.Lane == "" {
			return nil, bad(field+".lane", "", "is missing")
		}
		if err := sayable(field+".lane", t.Lane, laneLimit); err != nil {
			return nil, err
		}
		if t.Share == nil {
			return nil, bad(field+".share", "", "is missing")
		}
		if *t.Share < int64(flags.None) || *t.Share > int64(flags.All) {
			return nil, bad(field+".share", fmt.Sprint(*t.Share), "must be a whole percentage from 0 to 100")
		}
		if slices.ContainsFunc(list, func(l rollout.LaneShare) bool { return l.Lane == t.Lane }) {
			return nil, bad(field+".lane", t.Lane, "is there twice")
		}
		list = append(list, rollout.LaneShare{Lane: t.Lane, Share: flags.Share(*t.Share)})
	}
	return list, nil
}

// sayable refuses a text that is too long or would act on a terminal or a log.
func sayable(field, text string, limit int) error {
	if utf8.RuneCountInString(text) > limit {
		return bad(field, "", fmt.Sprintf("must have at most %d characters", limit))
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
		return bad(field, "", fmt.Sprintf("has a control character at byte %d", at))
	}
	return nil
}
