package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// waiting is the flag of commands that can be waited for.
type waiting struct {
	Wait *time.Duration `placeholder:"DURATION" help:"Wait so long until it is so, such as 10m; 0s answers at once."`
}

// goal is what somebody waits for.
type goal struct {
	text    string                      // such as "reads 50% is proven"
	reached func(*rollout.Status) bool  // it is so
	fails   func(*rollout.Status) error // why it will not be so; nil while it may
}

// begun is the goal of start and retry: the first stage is on its way.
func begun() goal {
	return goal{
		text: "the first stage is on its way",
		reached: func(st *rollout.Status) bool {
			return above(&st.State) || st.State.Pending != nil
		},
		fails: func(st *rollout.Status) error {
			if st.State.Phase == rollout.Draft && st.State.Report != nil && !st.State.Report.Passed() {
				return failure{code: exitRefused, text: "the preflight of " + st.State.Name + " has failed"}
			}
			return onTheWayUp(st)
		},
	}
}

// atStage is the goal of a step: its share is written, and the tasks follow.
func atStage(to rollout.LaneShare) goal {
	return goal{
		text: fmt.Sprintf("%s %v is proven by the tasks", to.Lane, to.Share),
		reached: func(st *rollout.Status) bool {
			for _, lane := range st.State.Lanes {
				if lane.Name == to.Lane && noStage(&st.State, to) == nil {
					return lane.Confirmed > to.Share || lane.Confirmed == to.Share && !st.State.Settled.IsZero()
				}
			}
			return false
		},
		fails: func(st *rollout.Status) error {
			if !slices.ContainsFunc(st.State.Lanes, func(l rollout.Lane) bool { return l.Name == to.Lane }) {
				return usageError{text: fmt.Sprintf("there is no lane %q; there are %s", to.Lane, intended(&st.State))}
			}
			if err := noStage(&st.State, to); err != nil {
				return err
			}
			return onTheWayUp(st)
		},
	}
}

// noStage refuses a share that is no stage of its lane: it would never be reached.
func noStage(s *rollout.State, to rollout.LaneShare) error {
	if s.Plan == nil {
		return nil
	}
	for i := range s.Plan.Lanes {
		lane := &s.Plan.Lanes[i]
		if lane.Name != to.Lane || slices.ContainsFunc(lane.Stages, func(stage rollout.Stage) bool { return stage.Share == to.Share }) {
			continue
		}
		var shares []string
		for _, stage := range lane.Stages {
			shares = append(shares, stage.Share.String())
		}
		return usageError{text: fmt.Sprintf("%s %v is no stage of %s; there are %s", to.Lane, to.Share, s.Name, strings.Join(shares, ", "))}
	}
	return nil
}

// proven is the goal of resume: the present shares are proven again.
func proven() goal {
	return goal{
		text: "the present shares are proven",
		reached: func(st *rollout.Status) bool {
			return st.State.Phase != rollout.Held && (!st.State.Settled.IsZero() || !above(&st.State))
		},
		fails: onTheWayUp,
	}
}

// lowered is the goal of a rollback that was obeyed at a version: it is proven by
// what tasks use.
func lowered(version uint64) goal {
	proven := []rollout.Phase{rollout.RolledBack, rollout.Held, rollout.Ready, rollout.Advancing} // the latter two where somebody has resumed meanwhile
	return goal{
		text: "the rollback is proven by the tasks",
		reached: func(st *rollout.Status) bool {
			return st.State.Version >= version && slices.Contains(proven, st.State.Phase)
		},
		fails: func(st *rollout.Status) error {
			if st.State.Phase == rollout.Stuck {
				return failure{code: exitError, text: st.State.Name + " is stuck: the rollback is not proven; it goes on lowering, and needs a person"}
			}
			return nil
		},
	}
}

// onTheWayUp says why a goal that needs shares to rise, or to stay, is missed.
func onTheWayUp(st *rollout.Status) error {
	switch {
	case st.State.Phase.Lowering():
		return failure{code: exitRolledBack, text: st.State.Name + " is rolling back"}
	case st.State.Phase == rollout.RolledBack:
		return failure{code: exitRolledBack, text: st.State.Name + " was rolled back"}
	case st.State.Phase.Ended():
		return failure{code: exitError, text: st.State.Name + " is " + string(st.State.Phase)}
	}
	return nil
}

// finish says what was done and, where that is wanted, waits until it has come
// about; it then says what is.
func (s *session) finish(ctx context.Context, state rollout.State, w waiting, g goal, done string) error {
	if w.Wait == nil || *w.Wait <= 0 {
		return s.after(ctx, state, done)
	}
	if !s.json() {
		s.done(done)
	}
	status, err := s.await(ctx, state.Name, g, *w.Wait)
	if err != nil {
		return err
	}
	return s.tell(&status, g.text)
}

// await looks until a goal is reached, cannot be reached any more, or time is
// over. Whatever ends it, the rollout goes on.
func (s *session) await(ctx context.Context, name string, g goal, limit time.Duration) (rollout.Status, error) {
	const every = 500 * time.Millisecond
	over := time.NewTimer(limit)
	defer over.Stop()
	show := s.progress()
	var status rollout.Status
	err := s.follow(ctx, name, every, over.C, show.silent, func(now *rollout.Status) (bool, error) {
		status = *now
		if g.reached(now) {
			return true, nil
		}
		if err := g.fails(now); err != nil {
			return true, s.missed(ctx, err, now)
		}
		show.status(ctx, now)
		return false, nil
	})
	show.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return status, s.leave(name)
	case errors.Is(err, errLate):
		return status, s.tooLate(name, limit, &status)
	}
	return status, err
}

// missed adds to an outcome why, where the state does not say it, and what is now.
func (s *session) missed(ctx context.Context, err error, status *rollout.Status) error {
	out, ok := errors.AsType[failure](err)
	if !ok {
		return err
	}
	if out.code == exitRolledBack {
		out.text += s.cause(ctx, &status.State)
	}
	out.lines = s.page(status).brief()
	return out
}

// cause says when and why a rollback began, as far as its last events tell.
func (s *session) cause(ctx context.Context, state *rollout.State) string {
	const back = 100
	events, _, err := s.api.Events(ctx, state.Name, max(state.Version, back)-back, 2*back)
	if err != nil {
		return ""
	}
	for i := range slices.Backward(events) {
		if e := &events[i]; e.Kind == rollout.Lowered || e.Kind == rollout.Late {
			return fmt.Sprintf(" since %s: %s", moment(e.At, s.now(), s.zone), cmp.Or(e.Why, "by "+e.By))
		}
	}
	return ""
}

// tooLate says that only the waiting is over.
func (s *session) tooLate(name string, limit time.Duration, status *rollout.Status) error {
	return failure{
		code:  exitStopped,
		text:  fmt.Sprintf("stopped waiting after %v: %s is still %s, which goes on", limit, name, words(status.State.Phase)),
		lines: s.page(status).brief(),
	}
}
