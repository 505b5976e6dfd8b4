package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	Request string       `json:"request"`
}

// target is where a rollback takes one lane.
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
	if err := permit(may(c.who, toRead)); err != nil { // who may not even look is told so first
		return answer{}, err
	}
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	text, err := c.body("application/json", bodyLimit)
	if err != nil {
		return answer{}, err
	}
	cmd, err := parseOrder(text)
	if err != nil {
		return answer{}, err
	}
	if err := permit(may(c.who, action(cmd.Verb))); err != nil {
		return answer{}, err
	}
	if cmd, err = c.sign(cmd); err != nil {
		return answer{}, err
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	state, err := s.Desk.Do(ctx, c.name(), cmd)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", cmd.Verb, c.name(), err)
	}
	return answer{body: state}, nil
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
	switch {
	case key != "" && !decentID(key):
		return cmd, bad("Idempotency-Key", key, "must be at most 128 letters, digits or any of . _ : -")
	case key != "" && cmd.Request != "" && key != cmd.Request:
		return cmd, bad("request", cmd.Request, "differs from the Idempotency-Key")
	case key != "":
		cmd.Request = key
	case cmd.Request == "":
		cmd.Request = c.id
	}
	return cmd, nil
}

// verbs returns all verbs there are.
func verbs() []rollout.Verb {
	return []rollout.Verb{
		rollout.Start, rollout.Advance, rollout.Approve, rollout.HoldIt, rollout.Resume, rollout.Rollback,
		rollout.Retry, rollout.Withdraw, rollout.Complete, rollout.Acknowledge, rollout.HoldForAll,
		rollout.ReleaseAll, rollout.Note,
	}
}

// parseOrder reads a command. Whether it can be obeyed is the desk's to say.
func parseOrder(text []byte) (rollout.Command, error) {
	var o order
	if err := forbidden(text); err != nil {
		return rollout.Command{}, err
	}
	if err := strictly(text, &o, "verb", "reason", "expect", "to", "request", "lane", "share"); err != nil {
		return rollout.Command{}, err
	}
	if !slices.Contains(verbs(), o.Verb) {
		names := make([]string, 0, len(verbs()))
		for _, verb := range verbs() {
			names = append(names, string(verb))
		}
		return rollout.Command{}, bad("verb", string(o.Verb), "must be one of "+strings.Join(names, ", "))
	}
	if err := sayable("reason", o.Reason, reasonLimit); err != nil {
		return rollout.Command{}, err
	}
	if o.Request != "" && !decentID(o.Request) {
		return rollout.Command{}, bad("request", o.Request, "must be at most 128 letters, digits or any of . _ : -")
	}
	to, err := o.targets()
	if err != nil {
		return rollout.Command{}, err
	}
	return rollout.Command{Verb: o.Verb, Reason: o.Reason, Expect: o.Expect, Request: o.Request, To: to}, nil
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

// targets returns where a rollback goes.
func (o *order) targets() ([]rollout.LaneShare, error) {
	if len(o.To) > 0 && o.Verb != rollout.Rollback {
		return nil, bad("to", "", "is for rollback only; "+string(o.Verb)+" has no choice")
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
