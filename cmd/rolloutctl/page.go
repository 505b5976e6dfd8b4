package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// page is a status as text.
type page struct {
	signs
	*rollout.Status
	readings []rollout.Reading // of the gates, for their spark lines; nil if not asked for
	while    time.Duration     // how far back they go; 0: sparkWhile
	wide     bool
	now      time.Time
	zone     *time.Location
}

func (s *session) page(status *rollout.Status) *page {
	return &page{signs: s.screen.signs, Status: status, wide: s.wide(), now: s.now(), zone: s.zone}
}

// whole is all of it; the first lines answer what is and why.
func (p *page) whole() []string {
	return spaced(
		slices.Concat(p.head(), p.facts()), p.shares(), p.ladders(), p.gates(true), p.preflight(),
		p.lagging(), p.people(), p.holds(), p.waits(), slices.Concat(p.back(), p.glass()), p.steps(),
	)
}

// lower is the whole with the gates that pass left out, and without empty lines.
func (p *page) lower() []string {
	return slices.Concat(
		p.head(), p.facts(), p.shares(), p.ladders(), p.gates(false), p.failedChecks(),
		p.people(), p.holds(), p.waits(), p.back(), p.glass(), p.steps(),
	)
}

// small is what a low terminal has room for: all that is waited for, and of the
// rest what is not as it should be.
func (p *page) small() []string {
	return slices.Concat(
		p.head(), p.shares(), p.lines(), p.gates(false), p.failedChecks(),
		p.people(), p.holds(), p.waits(), p.back(), p.glass(), p.steps(),
	)
}

// spaced puts an empty line between parts.
func spaced(parts ...[]string) []string {
	var lines []string
	for _, part := range parts {
		if len(part) > 0 && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return lines
}

// brief is what is, why, and what to do next.
func (p *page) brief() []string {
	return slices.Concat(p.head(), p.failedChecks(), p.people(), p.holds(), p.waits(), p.back(), p.glass(), p.steps())
}

// head is the one line that matters.
func (p *page) head() []string {
	s := &p.State
	shares := make([]string, len(s.Lanes))
	for i := range s.Lanes {
		shares[i] = p.laneNow(i)
	}
	line := fmt.Sprintf("%s  %s %s", s.Name, p.phaseSign(s.Phase), words(s.Phase))
	if len(shares) > 0 {
		line += "  " + strings.Join(shares, ", ")
	}
	lines := []string{line + "  since " + p.moment(s.Since) + ", " + p.ago(s.Since)}
	if s.Why != "" && s.Why != strings.Join(shares, ", ") {
		lines = append(lines, "  why     "+s.Why)
	}
	switch {
	case s.Phase == rollout.Soaking && s.Plan != nil:
		lines = append(lines, fmt.Sprintf("  soak    %s of %s", span(min(p.Bake, s.Plan.Soak.For)), span(s.Plan.Soak.For)))
	case s.Phase == rollout.Baking:
		if i, stage, ok := p.standing(); ok {
			lines = append(lines, fmt.Sprintf("  bake    %s at %s %v", p.progress(i, stage), s.Lanes[i].Name, stage.Share))
		}
	}
	if p.Away != "" {
		lines = append(lines, "  "+p.near+" the journal is away: "+p.Away+"; nothing rises, lowering still works")
	}
	return lines
}

// laneNow is a lane's intended share; on the way down, from where and to where.
func (p *page) laneNow(i int) string {
	lane := &p.State.Lanes[i]
	if !p.State.Phase.Lowering() {
		return fmt.Sprintf("%s %v", lane.Name, lane.Intended)
	}
	from := max(lane.Intended, lane.Confirmed)
	if i < len(p.Lanes) {
		from = max(from, p.Lanes[i].Published)
	}
	if from > lane.Target {
		return fmt.Sprintf("%s %v %s %v", lane.Name, from, p.arrow, lane.Target)
	}
	text := fmt.Sprintf("%s %v", lane.Name, lane.Target)
	if i < len(p.Lanes) && p.Lanes[i].Tasks.Stray > 0 {
		text += fmt.Sprintf(" (%s not back yet)", count(p.Lanes[i].Tasks.Stray, "task", "tasks"))
	}
	return text
}

// facts are what the rest is read against.
func (p *page) facts() []string {
	s := &p.State
	var lines []string
	if s.Plan != nil {
		lines = append(
			lines,
			fmt.Sprintf("  from    %s:%d (%s)", s.Plan.Source.Host, s.Plan.Source.Port, s.Plan.Source.Kind),
			fmt.Sprintf("  to      %s:%d (%s)", s.Plan.Target.Host, s.Plan.Target.Port, s.Plan.Target.Kind),
			fmt.Sprintf("  plan    version %d, %s, by %s; attempt %d; revision %d", s.PlanVersion, short(s.PlanHash), s.Planner, s.Attempt, s.Version),
		)
	}
	if s.Owner != "" {
		lines = append(lines, "  owner   "+s.Owner)
	}
	if p.wide {
		lines = append(lines, p.more()...)
	}
	return append(lines, "  seen    "+p.seen())
}

// more are the facts that only some want to know.
func (p *page) more() []string {
	s := &p.State
	lines := []string{
		"  hash    " + dash(s.PlanHash),
		"  proof   " + dash(s.Evidence),
		fmt.Sprintf("  epoch   %d", s.Epoch),
	}
	if s.Plan != nil {
		lines = append(lines, fmt.Sprintf("  on      database %s, by the team %s", s.Plan.Database.Name, s.Plan.Owner))
	}
	for i := range s.Lanes {
		if lane := &s.Lanes[i]; lane.Revision != "" && s.Plan != nil {
			lines = append(lines, fmt.Sprintf("  flag    %s at %v, revision %s, stamp %d", s.Plan.Lanes[i].Flag, lane.Confirmed, short(lane.Revision), lane.Seq))
		}
	}
	return lines
}

// seen says how old all of this is.
func (p *page) seen() string {
	if p.Looked.IsZero() {
		return "the controller has not looked yet"
	}
	text := p.moment(p.Looked) + ", " + p.ago(p.Looked) + " ago"
	if !p.Next.IsZero() {
		text += "; next look " + p.moment(p.Next)
	}
	if late := p.now.Sub(p.Next); !p.Next.IsZero() && late > 30*time.Second {
		text += "  " + p.near + " late by " + span(late) + ": does the controller run?"
	}
	return text
}

// steps are the commands that can be pasted.
func (p *page) steps() []string {
	var lines []string
	for i, step := range nextSteps(p.Status) {
		head := "      "
		if i == 0 {
			head = "next: "
		}
		line := head + step.command
		if step.why != "" {
			line += "   # " + step.why
		}
		lines = append(lines, line)
	}
	return lines
}

func (p *page) moment(t time.Time) string { return moment(t, p.now, p.zone) }

// ago is how long ago something was, in whole seconds.
func (p *page) ago(t time.Time) string { return span(p.now.Sub(t).Truncate(time.Second)) }

// phaseSign is the shape of a state.
func (g *signs) phaseSign(phase rollout.Phase) string {
	switch phase {
	case rollout.Advancing, rollout.Baking:
		return g.present
	case rollout.Preflight, rollout.Ready, rollout.Waiting:
		return g.coming
	case rollout.Held:
		return g.held
	case rollout.RollingBack, rollout.RolledBack, rollout.Stuck:
		return g.bad
	case rollout.Soaking, rollout.Completed:
		return g.ok
	default:
		return g.later
	}
}

// words writes a state as people say it.
func words(phase rollout.Phase) string { return strings.ReplaceAll(string(phase), "_", " ") }

// short is enough of a hash to tell it from others.
func short(hash string) string { return hash[:min(len(hash), 8)] }
