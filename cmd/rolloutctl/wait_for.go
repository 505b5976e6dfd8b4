package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type waitCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
	For  []aim  `required:"" placeholder:"WHAT" help:"stage=LANE:SHARE, proven by the tasks, or state=STATE; the first of several ends it."`
}

// Run waits, for pipelines: 0 once it is so, 8 if it was rolled back, 9 when the
// time is over.
func (c *waitCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	limit := 30 * time.Minute
	if s.Timeout != nil {
		limit = *s.Timeout
	}
	status, err := s.await(ctx, c.Name, anyOf(c.For), limit)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(view{Status: status, NextSteps: commands(nextSteps(&status))})
	}
	s.done(s.page(&status).head()...)
	return nil
}

// aim reads what to wait for.
type aim struct {
	stage *rollout.LaneShare
	state rollout.Phase
}

// UnmarshalText reads stage=reads:50 or state=held.
func (a *aim) UnmarshalText(text []byte) error {
	kind, value, _ := strings.Cut(string(text), "=")
	switch kind {
	case "stage":
		var to laneShare
		if err := to.UnmarshalText([]byte(value)); err != nil {
			return err
		}
		step := rollout.LaneShare(to)
		a.stage = &step
		return nil
	case "state":
		a.state = rollout.Phase(strings.ReplaceAll(value, "-", "_"))
		if !slices.Contains(rollout.Phases(), a.state) {
			return fmt.Errorf("%q: must be one of %s", text, phaseNames())
		}
		return nil
	default:
		return fmt.Errorf("%q: must be stage=LANE:SHARE or state=STATE, such as stage=reads:50 or state=held", text)
	}
}

// goal is what it is to be waited for.
func (a *aim) goal() goal {
	if a.stage != nil {
		return atStage(*a.stage)
	}
	return goal{
		reached: func(st *rollout.Status) bool { return st.State.Phase == a.state },
		fails: func(st *rollout.Status) error {
			if a.state == rollout.RolledBack || a.state == rollout.RollingBack || a.state == rollout.Stuck {
				if st.State.Phase.Lowering() {
					return nil // it comes to that
				}
			}
			return onTheWayUp(st)
		},
	}
}

// anyOf is reached by the first of several, and missed when all of them are.
func anyOf(aims []aim) goal {
	goals := make([]goal, len(aims))
	for i := range aims {
		goals[i] = aims[i].goal()
	}
	if len(goals) == 1 {
		return goals[0]
	}
	return goal{
		reached: func(st *rollout.Status) bool {
			return slices.ContainsFunc(goals, func(g goal) bool { return g.reached(st) })
		},
		fails: func(st *rollout.Status) (last error) {
			missed := 0
			for _, g := range goals {
				err := g.fails(st)
				if _, wrong := errors.AsType[usageError](err); wrong {
					return err
				}
				if err != nil {
					last, missed = err, missed+1
				}
			}
			if missed < len(goals) {
				return nil
			}
			return last
		},
	}
}

func phaseNames() string {
	var names []string
	for _, phase := range rollout.Phases() {
		names = append(names, string(phase))
	}
	return strings.Join(names, ", ")
}
