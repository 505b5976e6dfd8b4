package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// back says what a rollback would do now.
func (p *page) back() []string {
	s := &p.State
	if s.Phase.Ended() || s.Plan == nil {
		return nil
	}
	if s.Phase.Lowering() {
		return []string{"BACK    under way: tasks go back to " + s.Plan.Source.Host}
	}
	if s.Phase == rollout.RolledBack {
		return p.leftBehind()
	}
	var parts []string
	for i := range s.Lanes {
		if share := p.highest(i); share > flags.None {
			parts = append(parts, fmt.Sprintf("%s %v %s 0%%%s", s.Lanes[i].Name, share, p.arrow, p.leave(i)))
		}
	}
	if len(parts) == 0 {
		return []string{"BACK    nothing to take back: no task should use the target"}
	}
	return []string{"BACK    a rollback takes " + strings.Join(parts, ", ") + " back to " + s.Plan.Source.Host}
}

// leftBehind says which tasks still use the target although all shares are 0.
func (p *page) leftBehind() []string {
	var parts []string
	for i := range p.Lanes {
		if on := p.Lanes[i].Tasks.On; on > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s", count(on, "task", "tasks"), p.Lanes[i].Name))
		}
	}
	if len(parts) == 0 {
		return []string{"BACK    done: no task uses the target"}
	}
	return []string{"BACK    done, and not by all: " + strings.Join(parts, ", ") + " still on the target"}
}

// glass says how a stuck rollback is done by hand, with the flag store alone.
func (p *page) glass() []string {
	if p.State.Phase != rollout.Stuck || p.State.Plan == nil {
		return nil
	}
	lines := []string{"BREAK GLASS   rolloutctl break-glass " + p.State.Name + ", or by hand in the flag store: these to 0%, writes first"}
	for i := range slices.Backward(p.State.Plan.Lanes) {
		lane := &p.State.Plan.Lanes[i]
		lines = append(lines, fmt.Sprintf("  %s (%s)", lane.Flag, lane.Name))
	}
	return lines
}

// highest is the share that a lane may have: the highest that is intended or
// published; where that is none, what tasks use all the same.
func (p *page) highest(i int) flags.Share {
	share := max(p.State.Lanes[i].Intended, p.State.Lanes[i].Confirmed)
	if i >= len(p.Lanes) {
		return share
	}
	if share = max(share, p.Lanes[i].Published); share == flags.None {
		return p.Lanes[i].Tasks.Share
	}
	return share
}

// leave says how many tasks leave the target.
func (p *page) leave(i int) string {
	if i >= len(p.Lanes) || p.Lanes[i].Tasks.Live == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", count(p.Lanes[i].Tasks.On, "task", "tasks"))
}
