package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// ladders draws each lane's stages; the length of a bar is the share.
func (p *page) ladders() []string {
	if p.State.Plan == nil {
		return nil
	}
	var rows [][]string
	for i := range p.State.Plan.Lanes {
		if i >= len(p.State.Lanes) {
			break
		}
		name := p.State.Plan.Lanes[i].Name
		for n := range p.State.Plan.Lanes[i].Stages {
			row := append([]string{name}, p.rung(i, n)...)
			rows = append(rows, row)
			name = ""
		}
	}
	head := []string{"LADDER", " ", " ", "", ""}
	return table("  ", append([][]string{head}, rows...))
}

// lines draws each lane's ladder in a line.
func (p *page) lines() []string {
	if p.State.Plan == nil {
		return nil
	}
	var rows [][]string
	for i := range p.State.Plan.Lanes {
		if i >= len(p.State.Lanes) {
			break
		}
		row := []string{p.State.Plan.Lanes[i].Name}
		for n := range p.State.Plan.Lanes[i].Stages {
			rung := p.rung(i, n)
			row = append(row, rung[0]+rung[1])
		}
		rows = append(rows, row)
	}
	longest := slices.MaxFunc(rows, func(a, b []string) int { return len(a) - len(b) })
	return table("  ", append([][]string{make([]string, len(longest))}, rows...))[1:]
}

// standing is the lane and stage that bake: those of the last lane above 0.
func (p *page) standing() (lane int, stage rollout.Stage, ok bool) {
	if p.State.Plan == nil {
		return 0, rollout.Stage{}, false
	}
	for i := range slices.Backward(p.State.Lanes) {
		if n := p.at(i); n >= 0 && !p.State.Lanes[i].Baked {
			return i, p.State.Plan.Lanes[i].Stages[n], true
		}
	}
	return 0, rollout.Stage{}, false
}

// rung draws one stage: its sign, share, bar, and what is to be said of it.
func (p *page) rung(i, n int) []string {
	stage := p.State.Plan.Lanes[i].Stages[n]
	lane := &p.State.Lanes[i]
	sign, mark, said := p.later, p.light, asks(stage)
	next, more := p.State.Next()
	switch {
	case lane.Intended >= stage.Share && p.at(i) == n && !lane.Baked:
		sign, mark, said = p.presentSign(), p.full, p.progress(i, stage)
	case lane.Intended >= stage.Share:
		sign, mark, said = p.ok, p.full, ""
	case more && next.Lane == i && next.Stage.Share == stage.Share && p.rises():
		sign = p.coming
	}
	const cells = 20
	width := max(1, int(stage.Share)*cells/int(flags.All))
	return []string{sign, stage.Share.String(), strings.Repeat(mark, width), said}
}

// at is the stage that a lane stands on: the highest at or below its intended share.
func (p *page) at(i int) int {
	at := -1
	for n, stage := range p.State.Plan.Lanes[i].Stages {
		if stage.Share <= p.State.Lanes[i].Intended {
			at = n
		}
	}
	return at
}

// presentSign is the sign of the stage where a lane stands.
func (p *page) presentSign() string {
	if p.State.Phase == rollout.Waiting {
		return p.present
	}
	return p.phaseSign(p.State.Phase)
}

// progress says how far the bake of the present stage is.
func (p *page) progress(i int, stage rollout.Stage) string {
	switch p.State.Phase {
	case rollout.Baking:
		return fmt.Sprintf("%s of %s", span(min(p.Bake, stage.Bake)), span(stage.Bake))
	case rollout.Advancing:
		if p.State.Pending != nil && p.State.Pending.Lane == p.State.Lanes[i].Name {
			return "is being written"
		}
		return "is being proven"
	case rollout.Waiting:
		if next, ok := p.State.Next(); ok && (next.Lane == i || next.Lane == i+1) {
			return fmt.Sprintf("baked, %s", span(stage.Bake))
		}
		return ""
	default:
		return ""
	}
}

// asks says what a stage that is still to come asks for.
func asks(stage rollout.Stage) string {
	parts := []string{"bake " + span(stage.Bake)}
	if len(stage.Contains) > 0 {
		parts = append(parts, "contains "+strings.Join(stage.Contains, ", "))
	}
	if stage.Approvals > 0 {
		parts = append(parts, count(stage.Approvals, "approval", "approvals"))
	}
	if stage.Manual {
		parts = append(parts, "a go")
	}
	return strings.Join(parts, ", ")
}

// rises reports whether a next stage is in sight.
func (p *page) rises() bool {
	phase := p.State.Phase
	return phase.Active() && !phase.Lowering() && phase != rollout.RolledBack || phase == rollout.Draft
}
