package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type listCmd struct{}

// Run lists all rollouts.
func (listCmd) Run(ctx context.Context, s *session) error {
	states, err := s.api.Rollouts(ctx)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.State{"rollouts": append([]rollout.State{}, states...)})
	}
	if len(states) == 0 {
		s.print("no rollouts yet", "next: rolloutctl plan apply FILE")
		return nil
	}
	slices.SortStableFunc(states, func(a, b rollout.State) int { return urgency(&a) - urgency(&b) })
	now := s.now()
	rows := [][]string{{"NAME", "", "STATE", "INTENDED", "WAITS FOR", "SINCE"}}
	var need []string
	for i := range states {
		st := &states[i]
		rows = append(rows, []string{
			st.Name, s.screen.phaseSign(st.Phase), words(st.Phase), intended(st), awaits(st), moment(st.Since, now, s.zone),
		})
		if urgency(st) == needsPerson {
			need = append(need, st.Name)
		}
	}
	s.print(table("", rows)...)
	if len(need) == 0 {
		s.print(count(len(states), "rollout; it does not need you", "rollouts; none needs you"))
		return nil
	}
	s.print(fmt.Sprintf("%s; %d of them for you to look at", count(len(states), "rollout", "rollouts"), len(need)))
	s.print("next: rolloutctl status " + need[0])
	return nil
}

// The order of a list: by whether a person has to act.
const (
	needsPerson = iota
	lowering
	moving
	resting
	over
)

// urgency says how soon somebody should look.
func urgency(s *rollout.State) int {
	switch {
	case s.Phase == rollout.Stuck || s.Phase == rollout.Held || s.Phase == rollout.RolledBack:
		return needsPerson
	case slices.ContainsFunc(s.Waits, func(w rollout.Wait) bool { return w.Kind == rollout.WaitGo || w.Kind == rollout.WaitApproval }) &&
		(s.Phase == rollout.Ready || s.Phase == rollout.Waiting || s.Phase == rollout.Soaking):
		return needsPerson
	case s.Phase == rollout.RollingBack:
		return lowering
	case s.Phase == rollout.Draft:
		return resting
	case s.Phase.Ended():
		return over
	default:
		return moving
	}
}

// intended is the intended share of each lane.
func intended(s *rollout.State) string {
	parts := make([]string, len(s.Lanes))
	for i := range s.Lanes {
		parts[i] = fmt.Sprintf("%s %v", s.Lanes[i].Name, s.Lanes[i].Intended)
	}
	return strings.Join(parts, ", ")
}

// awaits names all that a rollout waits for.
func awaits(s *rollout.State) string {
	var parts []string
	for _, h := range s.Holds {
		parts = append(parts, fmt.Sprintf("hold %s (%s)", h.Kind, h.Owner))
	}
	if s.Phase == rollout.Ready || s.Phase == rollout.Waiting || s.Phase == rollout.Soaking {
		for _, w := range s.Waits {
			parts = append(parts, strings.TrimSpace(string(w.Kind)+" "+w.Subject))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
