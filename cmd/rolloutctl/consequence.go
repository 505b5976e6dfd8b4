package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// questionOf is what is asked before a command, with what it will do.
func (s *session) questionOf(c *rollout.Command, status *rollout.Status) question {
	p := s.page(status)
	q := question{level: levelOf(c, &status.State), name: status.State.Name, rev: status.State.Version, text: asking(c, &status.State)}
	if status.State.Plan == nil {
		return q
	}
	q.says = slices.Concat(p.head(), p.consequence(c))
	return q
}

// asking is the question.
func asking(c *rollout.Command, s *rollout.State) string {
	step := "the next step"
	if len(c.To) == 1 {
		step = fmt.Sprintf("%s %v", c.To[0].Lane, c.To[0].Share)
	}
	switch c.Verb {
	case rollout.Start:
		return "Start?"
	case rollout.Adopt:
		return "Take it over?"
	case rollout.Advance:
		return "Advance to " + step + "?"
	case rollout.Approve:
		switch {
		case s.Proposal != nil:
			return "Approve the amendment?"
		case s.Phase == rollout.Soaking:
			return "Approve the completion?"
		}
		return "Approve " + step + "?"
	case rollout.Resume:
		return "Resume?"
	case rollout.Rollback:
		return "Roll back now?"
	case rollout.Retry:
		return "Retry?"
	case rollout.Complete:
		return "Complete it, and close the way back?"
	case rollout.Withdraw:
		return "Give it up?"
	case rollout.Acknowledge:
		return "Take the stuck rollback over?"
	default:
		return "Go on?"
	}
}

// consequence says what a command does: what moves, how many tasks, and what a
// rollback would do then.
func (p *page) consequence(c *rollout.Command) []string {
	s := &p.State
	switch c.Verb {
	case rollout.Start, rollout.Retry:
		return p.beginning()
	case rollout.Adopt:
		return p.takingOver(c.To)
	case rollout.Advance:
		return slices.Concat([]string{"  gives the go for a step:"}, p.stepping())
	case rollout.Approve:
		return p.approving()
	case rollout.Resume:
		return []string{"  ends the holds that wait for a person; shares stay, are proven again, and the bake begins anew"}
	case rollout.Rollback:
		return p.lowering(c.To)
	case rollout.Complete:
		return []string{
			"  ends the rollout: nothing is watched any more, and the target is the safe value of every lane",
			fmt.Sprintf("  a rollback is not possible then; %s is not needed any more", s.Plan.Source.Host),
		}
	case rollout.Withdraw:
		return []string{"  gives the rollout up: it ends, its database is free for another, its flags stay at 0%"}
	case rollout.Acknowledge:
		return []string{"  ends the rollback although it is not proven: you have made sure that no task uses the target"}
	case rollout.HoldIt:
		return []string{"  shares stay where they are; gates are still watched, and can still roll it back"}
	case rollout.Reject:
		return []string{"  says no to what waits for approval; the others read the reason"}
	case rollout.HandOver:
		return []string{"  offers the rollout to " + c.Person + ", who has to accept it"}
	case rollout.Accept:
		return []string{"  makes you the owner of the rollout"}
	case rollout.Note:
		return []string{"  puts a remark into the journal; nothing changes"}
	default:
		return nil
	}
}

// beginning says how an attempt begins.
func (p *page) beginning() []string {
	lines := []string{"  runs the preflight; it locks the database " + p.State.Plan.Database.Name + " and the flags"}
	next, ok := p.State.Next()
	if !ok {
		return lines
	}
	asked := people(next.Stage)
	first := fmt.Sprintf("  then the first stage: %s 0%% %s %v, %s", p.State.Lanes[next.Lane].Name, p.arrow, next.Stage.Share, p.affected(next.Lane, flags.None, next.Stage.Share))
	if asked != "" {
		first += ", once there is " + asked
	}
	return append(lines, first)
}

// takingOver says what an adoption takes for ours.
func (p *page) takingOver(to []rollout.LaneShare) []string {
	parts := make([]string, 0, len(to))
	for _, t := range to {
		parts = append(parts, fmt.Sprintf("%s %v", t.Lane, t.Share))
	}
	return []string{
		"  locks the database " + p.State.Plan.Database.Name + " and the flags, and takes them over as they are: " + strings.Join(parts, ", "),
		"  writes no flag; the preflight proves that tasks are where the flags say, and it is held then",
		"  resume has it proven again, and baked in full",
	}
}

// approving says what an approval is for.
func (p *page) approving() []string {
	s := &p.State
	switch {
	case s.Proposal != nil:
		return append([]string{"  approves a new version of the plan, by " + s.Proposal.By + ", which loosens:"}, indented("    ", s.Proposal.Loosens)...)
	case s.Phase == rollout.Soaking:
		return []string{"  approves that the rollout is completed: the old path may go then"}
	default:
		return slices.Concat([]string{"  approves a step:"}, p.stepping())
	}
}

// stepping says what the next step moves, and what would lead back.
func (p *page) stepping() []string {
	s := &p.State
	next, ok := s.Next()
	if !ok {
		return []string{"  there is no next step"}
	}
	name := s.Lanes[next.Lane].Name
	return []string{
		fmt.Sprintf("    %s %v %s %v: %s", name, next.From, p.arrow, next.Stage.Share, p.affected(next.Lane, next.From, next.Stage.Share)),
		fmt.Sprintf("    bake %s; a rollback takes them back to %s", span(next.Stage.Bake), s.Plan.Source.Host),
	}
}

// lowering says what a rollback takes down.
func (p *page) lowering(to []rollout.LaneShare) []string {
	s := &p.State
	var lines []string
	for i := range s.Lanes {
		target := flags.None
		if len(to) > 0 {
			at := slices.IndexFunc(to, func(t rollout.LaneShare) bool { return t.Lane == s.Lanes[i].Name })
			if at < 0 {
				continue
			}
			target = to[at].Share
		}
		if from := p.highest(i); from > target {
			lines = append(lines, fmt.Sprintf("  %s %v %s %v%s: back to %s", s.Lanes[i].Name, from, p.arrow, target, p.leave(i), s.Plan.Source.Host))
		}
	}
	if len(lines) == 0 {
		return []string{"  nothing to take back: no task should use the target"}
	}
	return append(lines, "  writes go down with their reads, and first; it does not go up again by itself")
}

// affected says how many tasks move between two shares, about.
func (p *page) affected(lane int, from, to flags.Share) string {
	tasks := 0
	if lane < len(p.Lanes) {
		tasks = p.Lanes[lane].Tasks.Live
	}
	if tasks == 0 {
		for _, service := range p.State.Plan.Services {
			if slices.Contains(p.State.Plan.Lanes[lane].Services, service.Name) {
				tasks += service.Tasks
			}
		}
	}
	moved := (int(to-from)*tasks + 99) / 100
	return fmt.Sprintf("about %d more of %s go to %s", moved, count(tasks, "task", "tasks"), p.State.Plan.Target.Host)
}

// people names what a stage asks of people.
func people(stage rollout.Stage) string {
	var parts []string
	if stage.Approvals > 0 {
		parts = append(parts, count(stage.Approvals, "approval", "approvals"))
	}
	if stage.Manual {
		parts = append(parts, "a go")
	}
	return strings.Join(parts, " and ")
}

func indented(indent string, lines []string) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i] = indent + line
	}
	return list
}
