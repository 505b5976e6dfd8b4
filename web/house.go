package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// heldAll says whether everything is held.
type heldAll struct {
	Hold      *rollout.Hold `json:"hold_all"`
	Releasing string        `json:"releasing"`         // the first of the two people who must end it
	AskedAt   time.Time     `json:"asked_at,omitzero"` // when he asked for it
}

func heldBy(h rollout.House) answer {
	held := heldAll{h.HoldAll, h.Releasing, h.AskedAt}
	if time.Since(h.AskedAt) > rollout.ApprovalLife { // void: the next one is the first again
		held.Releasing, held.AskedAt = "", time.Time{}
	}
	return answer{body: held}
}

// freezeList is a part of all freezes.
type freezeList struct {
	Freezes []rollout.Freeze `json:"freezes"`
	Next    string           `json:"next"`
}

// disturbanceList is a part of what disturbs databases.
type disturbanceList struct {
	Disturbances []rollout.Disturbance `json:"disturbances"`
	Next         string                `json:"next"`
}

// held returns whether everything is held.
func (s *server) held(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	h, err := s.house(ctx)
	return heldBy(h), err
}

func (s *server) house(ctx context.Context) (rollout.House, error) {
	h, err := s.House.House(ctx)
	if err != nil {
		return h, fmt.Errorf("looking at what stands for all rollouts: %w", err)
	}
	return h, nil
}

// holdAll holds everything.
func (s *server) holdAll(ctx context.Context, c *call) (answer, error) {
	w, err := c.wish("reason", "request")
	if err != nil {
		return answer{}, err
	}
	h, err := s.doHouse(ctx, c, rollout.HouseCommand{Verb: rollout.HoldForAll, Reason: w.Reason, Request: w.Request})
	return heldBy(h), err
}

// releaseAll asks for the end of hold-all, or agrees to it.
func (s *server) releaseAll(ctx context.Context, c *call) (answer, error) {
	reason, err := c.reason()
	if err != nil {
		return answer{}, err
	}
	h, err := s.doHouse(ctx, c, rollout.HouseCommand{
		Verb: rollout.ReleaseAll, Reason: reason, Alone: s.alone(c.who, action(rollout.ReleaseAll), everywhere),
	})
	return heldBy(h), err
}

// doHouse signs a command about all rollouts and has it obeyed.
func (s *server) doHouse(ctx context.Context, c *call, cmd rollout.HouseCommand) (rollout.House, error) {
	signed, err := c.sign(rollout.Command{Request: cmd.Request})
	if err != nil {
		return rollout.House{}, err
	}
	cmd.By, cmd.Surface, cmd.Request = signed.By, signed.Surface, signed.Request
	ctx, cancel := lasting(ctx)
	defer cancel()
	h, err := s.House.DoHouse(ctx, cmd)
	if err != nil {
		return h, fmt.Errorf("%s: %w", cmd.Verb, err)
	}
	return h, nil
}

// permitOn refuses what somebody may not do on the database that the body names.
func (s *server) permitOn(ctx context.Context, c *call, what action, database string) error {
	err := permit(may(c.who, what, database))
	s.noteRefusal(ctx, c, what, err)
	return err
}

// freezes returns the freezes that are on or will be.
func (s *server) freezes(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	h, err := s.house(ctx)
	return frozen(c.who, h, p), err
}

// freeze keeps shares on a database from rising.
func (s *server) freeze(ctx context.Context, c *call) (answer, error) {
	w, err := c.wish("reason", "request", "database", "from", "until", "for")
	if err != nil {
		return answer{}, err
	}
	cmd := rollout.HouseCommand{Verb: rollout.Freezing, Reason: w.Reason, Request: w.Request, Database: w.Database}
	if cmd.From, err = moment("from", w.From); err != nil {
		return answer{}, err
	}
	if cmd.Until, err = w.until(cmd.From, rollout.LongestFreeze); err != nil {
		return answer{}, err
	}
	if err := s.permitOn(ctx, c, action(rollout.Freezing), w.Database); err != nil {
		return answer{}, err
	}
	h, err := s.doHouse(ctx, c, cmd)
	return frozen(c.who, h, page{limit: largestPart}), err
}

// thaw ends the freeze of a database.
func (s *server) thaw(ctx context.Context, c *call) (answer, error) {
	reason, err := c.reason()
	if err != nil {
		return answer{}, err
	}
	h, err := s.doHouse(ctx, c, rollout.HouseCommand{Verb: rollout.Thaw, Reason: reason, Database: c.part("database")})
	return frozen(c.who, h, page{limit: largestPart}), err
}

// frozen answers with the freezes that somebody may read, by database and when
// they were put on.
func frozen(who Caller, h rollout.House, p page) answer {
	now := time.Now()
	list := slices.DeleteFunc(slices.Clone(h.Freezes), func(f rollout.Freeze) bool {
		return !now.Before(f.Until) || !concerns(who, f.Database)
	})
	part, next := cut(list, p, func(f *rollout.Freeze) string { return f.Database + " " + f.At.Format(time.RFC3339Nano) })
	return answer{body: freezeList{part, next}}
}

// concerns reports whether what is said of a database is for somebody to read.
func concerns(who Caller, database string) bool {
	ok, _ := may(who, toRead, database)
	return ok || database == everywhere
}

// disturbances returns what disturbs databases now.
func (s *server) disturbances(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "after", "limit"); err != nil {
		return answer{}, err
	}
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	h, err := s.house(ctx)
	return disturbed(c.who, h, p), err
}

// sayQuiet says that a database is not quiet, or is again.
func (s *server) sayQuiet(ctx context.Context, c *call) (answer, error) {
	if err := permit(may(c.who, toRead, anywhere)); err != nil { // who may not even look is told so first
		return answer{}, err
	}
	w, err := c.wish("reason", "request", "database", "quiet", "what", "until", "for")
	if err != nil {
		return answer{}, err
	}
	cmd := rollout.HouseCommand{Reason: w.Reason, Request: w.Request, Database: w.Database, What: w.What}
	switch {
	case w.Quiet == nil:
		return answer{}, bad("quiet", "", "is missing; true: it is quiet again, false: it is not")
	case *w.Quiet && w.Until+w.For != "":
		return answer{}, bad("until", w.Until+w.For, "is for quiet: false only")
	case *w.Quiet:
		cmd.Verb = rollout.Quiet
	default:
		cmd.Verb = rollout.Disturb
		if cmd.Until, err = w.until(time.Time{}, rollout.LongestDisturbance); err != nil {
			return answer{}, err
		}
	}
	if err := s.admit(ctx, c, action(cmd.Verb)); err != nil {
		s.noteRefusal(ctx, c, action(cmd.Verb), err)
		return answer{}, err
	}
	if err := s.permitOn(ctx, c, action(cmd.Verb), w.Database); err != nil {
		return answer{}, err
	}
	h, err := s.doHouse(ctx, c, cmd)
	return disturbed(c.who, h, page{limit: largestPart}), err
}

// disturbed answers with the disturbances that somebody may read, by database
// and what it is.
func disturbed(who Caller, h rollout.House, p page) answer {
	now := time.Now()
	list := slices.DeleteFunc(slices.Clone(h.Troubles), func(d rollout.Disturbance) bool {
		return !now.Before(d.Until) || !concerns(who, d.Database)
	})
	part, next := cut(list, p, func(d *rollout.Disturbance) string { return d.Database + " " + d.What })
	return answer{body: disturbanceList{part, next}}
}
