package main

import (
	"fmt"
	"slices"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// step is something that can be done now.
type step struct {
	command string
	why     string
}

// commands are the steps, to be pasted.
func commands(steps []step) []string {
	list := make([]string, 0, len(steps))
	for _, s := range steps {
		list = append(list, s.command)
	}
	return list
}

// nextSteps says what can be done next, the likeliest first. Whether it is
// obeyed, the server says.
func nextSteps(status *rollout.Status) []step {
	s := &status.State
	do := func(verb rollout.Verb, why string) step {
		return step{"rolloutctl " + string(verb) + " " + s.Name, why}
	}
	watch := step{"rolloutctl status " + s.Name + " -w", ""}
	steps := agreed(s, do)
	switch s.Phase {
	case rollout.Draft:
		why := ""
		if s.Report != nil && !s.Report.Passed() {
			why = "once what failed is right"
		}
		return []step{do(rollout.Start, why)}
	case rollout.Ready, rollout.Waiting:
		steps = append(steps, asked(status, do)...)
	case rollout.Held:
		steps = append(steps, unheld(s, do)...)
	case rollout.Stuck:
		return []step{watch, do(rollout.Acknowledge, "once you have made sure that no task uses the target")}
	case rollout.RolledBack:
		return []step{{"rolloutctl note " + s.Name + ` "what the cause was"`, ""}, do(rollout.Retry, "once the cause is gone"), do(rollout.Withdraw, "to give up")}
	case rollout.Soaking:
		if s.Soaked && len(s.Approvals) == 0 {
			steps = append(steps, do(rollout.Approve, "the completion"))
		} else if s.Soaked {
			steps = append(steps, do(rollout.Complete, "the old path may go then; there is no way back"))
		}
	case rollout.Completed, rollout.Withdrawn:
		return []step{{"rolloutctl events " + s.Name, "what came to pass"}}
	default: // it goes on by itself
	}
	if len(steps) == 0 {
		steps = []step{watch}
	}
	if !s.Phase.Lowering() && slices.ContainsFunc(s.Lanes, func(l rollout.Lane) bool { return max(l.Intended, l.Confirmed) > flags.None }) {
		steps = append(steps, do(rollout.Rollback, ""))
	}
	return steps
}

// agreed are the steps for what people must agree on.
func agreed(s *rollout.State, do func(rollout.Verb, string) step) []step {
	var steps []step
	if s.Proposal != nil {
		steps = append(steps, do(rollout.Approve, "the amendment"), step{"rolloutctl reject " + s.Name + ` --reason "why"`, "or so"})
	}
	if s.Offer != nil {
		steps = append(steps, do(rollout.Accept, "by "+s.Offer.To))
	}
	return steps
}

// asked are the steps for what is waited for from people.
func asked(status *rollout.Status, do func(rollout.Verb, string) step) []step {
	give := func(verb rollout.Verb) step {
		todo := do(verb, "")
		if next, ok := status.State.Next(); ok {
			todo.command += fmt.Sprintf(" --to %s:%d", status.State.Lanes[next.Lane].Name, int(next.Stage.Share))
		}
		return todo
	}
	waits := status.Waits
	if len(waits) == 0 {
		waits = status.State.Waits
	}
	var steps []step
	for _, w := range waits {
		switch w.Kind {
		case rollout.WaitGo:
			steps = append(steps, give(rollout.Advance))
		case rollout.WaitApproval:
			steps = append(steps, give(rollout.Approve))
		default: // nothing that a person gives
		}
	}
	return slices.Compact(steps)
}

// unheld are the steps that end holds.
func unheld(s *rollout.State, do func(rollout.Verb, string) step) []step {
	for _, h := range s.Holds {
		if h.Kind == rollout.HoldAll {
			return []step{{"rolloutctl release-all", "two people"}}
		}
	}
	for _, h := range s.Holds {
		switch h.Kind {
		case rollout.HoldPerson, rollout.HoldGate, rollout.HoldDrift:
			return []step{do(rollout.Resume, "once the reason is gone")}
		default: // ends without a command of ours
		}
	}
	return nil
}
