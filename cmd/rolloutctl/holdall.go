package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

type holdAllCmd struct{}

// Run holds everything. Where it is not asked about, nothing stands before it.
func (holdAllCmd) Run(ctx context.Context, s *session) error {
	order := rollout.HouseCommand{Verb: rollout.HoldForAll, Reason: s.Reason}
	if s.DryRun || !s.Yes {
		says, err := s.holding(ctx)
		if err != nil {
			return err
		}
		if s.DryRun {
			return s.foresee(ctx, order, says)
		}
		if err := s.confirm(ctx, question{level: askYes, text: "Hold all?", says: says}); err != nil {
			return err
		}
	}
	order.Request = s.request()
	held, err := s.api.HoldAll(ctx, order)
	if err != nil {
		return s.heldAlready(ctx, err)
	}
	return s.toldHouse(ctx, held, "hold-all: everything is held")
}

// holding says what a hold-all would hold. Where that cannot be looked at, it is
// said, and no reason not to hold it.
func (s *session) holding(ctx context.Context) ([]string, error) {
	held, err := s.api.HeldAll(ctx)
	if err == nil && held.Hold != nil && s.RequestID == "" { // a request that is repeated is answered by the server
		return nil, s.heldBy(held.Hold)
	}
	var says []string
	if err == nil {
		says, err = s.everything(ctx)
	}
	switch {
	case err != nil && (s.DryRun || tellsAll(err) || ctx.Err() != nil):
		return nil, err
	case err != nil:
		says = []string{"  " + s.screen.near + " what goes on now cannot be looked at: " + err.Error()}
	}
	return slices.Concat([]string{"this holds every rollout, and blocks each step forward:"}, says, []string{"Nothing is rolled back; gates are still watched, and can still roll back."}), nil
}

// heldBy says that everything is held already, and by whom.
func (s *session) heldBy(h *rollout.Hold) error {
	return failure{
		code:  exitRefused,
		text:  fmt.Sprintf("everything is held already, by %s since %s: %s", h.Owner, moment(h.At, s.now(), s.zone), h.Why),
		lines: []string{"next: rolloutctl release-all   # two people must run it"},
	}
}

// heldAlready tells a hold-all that somebody gave before from what is refused
// otherwise.
func (s *session) heldAlready(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Code != "refused" {
		return err
	}
	if held, asked := s.api.HeldAll(ctx); asked == nil && held.Hold != nil {
		return s.heldBy(held.Hold)
	}
	return err
}

type releaseAllCmd struct{}

// Run ends a hold-all, or is the first of the two people who must.
func (releaseAllCmd) Run(ctx context.Context, s *session) error {
	held, err := s.api.HeldAll(ctx)
	if err != nil {
		return err
	}
	says, err := s.everything(ctx)
	if err != nil {
		return err
	}
	if h := held.Hold; h != nil {
		says = slices.Concat([]string{fmt.Sprintf("everything is held since %s, by %s: %s", moment(h.At, s.now(), s.zone), h.Owner, h.Why)}, says,
			[]string{"Once two people have released it, what has no other hold is proven at its share again, and bakes anew."})
	}
	if held.Releasing != "" {
		says = append(says, held.Releasing+" has asked for it; you would be the second.")
	}
	order := rollout.HouseCommand{Verb: rollout.ReleaseAll, Reason: s.Reason}
	if s.DryRun {
		return s.foresee(ctx, order, says)
	}
	if err := s.confirm(ctx, question{level: askYes, text: "Release all?", says: says}); err != nil {
		return err
	}
	order.Request = s.request()
	if held, err = s.api.ReleaseAll(ctx, order); err != nil {
		return err
	}
	if held.Hold == nil {
		return s.toldHouse(ctx, held, "release-all: released")
	}
	if err := s.toldHouse(ctx, held, "release-all: 1 of 2, by "+held.Releasing+"; nothing is released before a second person runs it too"); err != nil {
		return err
	}
	return ended(exitNotMoved)
}

// toldHouse says what was done to everything, and what is then.
func (s *session) toldHouse(ctx context.Context, held client.HeldAll, done string) error {
	if s.json() {
		return s.encode(held)
	}
	s.done(done)
	if now, err := s.everything(ctx); err == nil { // it is done all the same
		s.done(now...)
	}
	if held.Hold != nil {
		s.done("next: rolloutctl release-all   # two people must run it")
	}
	return nil
}

// everything are the rollouts that go on, each with its shares and what holds it.
func (s *session) everything(ctx context.Context) ([]string, error) {
	states, err := s.api.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"", "", "", "", ""}}
	for i := range states {
		st := &states[i]
		if st.Phase.Active() {
			rows = append(rows, []string{st.Name, s.screen.phaseSign(st.Phase), words(st.Phase), intended(st), holdWords(st.Holds)})
		}
	}
	if len(rows) == 1 {
		return []string{"  no rollout goes on now"}, nil
	}
	return table("  ", rows)[1:], nil
}

// holdWords names holds and their owners.
func holdWords(holds []rollout.Hold) string {
	text := ""
	for _, h := range holds {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("hold %s (%s)", h.Kind, h.Owner)
	}
	return text
}
