package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// rollouts looks at what the server sees of journal, controller, metrics and
// flags, by the rollouts that go on.
func (e *examination) rollouts(ctx context.Context) {
	states, err := e.api.Rollouts(ctx)
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Code == "away" {
		e.add(bad("journal", "is its database up, and may rolloutd's user use it? --journal-file FILE looks. Flags stay as they are", "%v", err))
		e.unseen("without the journal nobody says which rollouts there are", "controller", "metrics", "flag store")
		return
	} else if err != nil {
		e.add(bad("journal", "ask again; the server's log knows more", "%v", err))
		e.unseen("nobody says which rollouts there are", "controller", "metrics", "flag store")
		return
	}
	var seen []rollout.Status
	for i := range states {
		if !states[i].Phase.Active() {
			continue
		}
		status, err := e.api.Status(ctx, states[i].Name)
		if err != nil {
			e.add(bad("rollout "+states[i].Name, "ask again; the server's log knows more", "%v", err))
			continue
		}
		seen = append(seen, status)
	}
	e.add(e.journal(seen, len(states)))
	if len(seen) == 0 {
		e.unseen("no rollout goes on, so the server does not look", "controller", "metrics", "flag store")
		return
	}
	e.add(e.controller(seen))
	e.add(e.metrics(ctx, seen)...)
	e.add(e.flagStore(seen)...)
}

// journal says whether the server reaches its journal.
func (e *examination) journal(seen []rollout.Status, all int) diagnosis {
	for i := range seen {
		if away := seen[i].Away; away != "" {
			fix := "is its database up? Nothing rises meanwhile; rollback is obeyed"
			if grant := missingGrant(away); grant != "" {
				fix = "run on it: " + grant
			}
			return bad("journal", fix, "%s", away)
		}
	}
	return well("journal", "the server reads it; it has %s", count(all, "rollout", "rollouts"))
}

// controller says whether somebody looks at the rollouts.
func (e *examination) controller(seen []rollout.Status) diagnosis {
	now := e.now()
	for i := range seen {
		status := &seen[i]
		switch late := now.Sub(status.Next); {
		case status.Looked.IsZero():
			return bad("controller", "does rolloutd run, and does it lead? See its log", "nobody has looked at %s yet", status.State.Name)
		case !status.Next.IsZero() && late > lateAfter:
			return bad("controller", "does rolloutd run? See its log", "the look at %s is late by %s", status.State.Name, span(late))
		}
	}
	return well("controller", "it looks at %s", count(len(seen), "rollout", "rollouts"))
}

// metrics says whether the server may read metrics. Each trouble is told once,
// with the gates that it makes blind.
func (e *examination) metrics(ctx context.Context, seen []rollout.Status) []diagnosis {
	type trouble struct {
		cause gates.Cause
		why   string
		where string
	}
	blind := map[trouble][]string{}
	var order []trouble
	read := 0
	for i := range seen {
		name := seen[i].State.Name
		readings, err := e.api.Gates(ctx, name, 0)
		if err != nil {
			return []diagnosis{bad("metrics", "ask again; the server's log knows more", "the gates of %s: %v", name, err)}
		}
		for j := range readings {
			r := &readings[j]
			switch r.Verdict.Cause {
			case gates.Forbidden, gates.Throttled, gates.Config, gates.Failed:
				t := trouble{r.Verdict.Cause, r.Verdict.Why, strings.TrimSpace(r.Gate.Metric.Account + " " + r.Gate.Metric.Region)}
				if blind[t] == nil {
					order = append(order, t)
				}
				blind[t] = append(blind[t], name+"/"+r.Gate.Name)
			default:
				read++
			}
		}
	}
	var found []diagnosis
	for _, t := range order {
		of := strings.Join(blind[t], ", ")
		found = append(found, bad("metrics", metricFix(t.cause, t.why, t.where), "%s, of %s: %s", t.cause, of, t.why))
	}
	if len(found) == 0 {
		return []diagnosis{well("metrics", "%s can be read", count(read, "gate", "gates"))}
	}
	return found
}

// metricFix says what lets metrics be read again.
func metricFix(cause gates.Cause, why, where string) string {
	switch cause {
	case gates.Forbidden:
		fix := `allow {"Effect": "Allow", "Action": "cloudwatch:GetMetricData", "Resource": "*"} to ` + roleIn(why)
		if where != "" {
			fix += "; the plan reads " + where + ", another account needs rolloutd --cross-account"
		}
		return fix
	case gates.Throttled:
		return "ask less often (rolloutd --read-every), or raise the quota of cloudwatch:GetMetricData for the account"
	case gates.Config:
		return "mend the gate in the plan: rolloutctl plan amend"
	default:
		return "can rolloutd reach the source of these metrics? See its log"
	}
}

// roleIn returns whom a refusal of AWS is about.
func roleIn(why string) string {
	if arn := regexp.MustCompile(`arn:aws[a-z-]*:(sts|iam)::\d*:[^\s,;)]+`).FindString(why); arn != "" {
		return strings.TrimRight(arn, ".:")
	}
	return "the role that rolloutd runs as"
}

// flagStore says whether the server can read and write the flags.
func (e *examination) flagStore(seen []rollout.Status) []diagnosis {
	var found []diagnosis
	lanes := 0
	for i := range seen {
		status := &seen[i]
		for j := range status.Lanes {
			lanes++
			if lane := &status.Lanes[j]; lane.Unread != "" {
				found = append(found, bad("flag store", "is it up, and may rolloutd's token read that flag? --flipt URL looks from here", "%s, %s: %s", status.State.Name, lane.Name, lane.Unread))
			}
		}
		for _, w := range status.Waits {
			if w.Kind == rollout.WaitFlag && !slices.ContainsFunc(found, func(d diagnosis) bool { return strings.Contains(d.Why, w.Why) }) {
				found = append(found, bad("flag store", "may rolloutd's token write that flag? --flipt URL looks from here", "%s, %s: %s", status.State.Name, w.Subject, w.Why))
			}
		}
	}
	if len(found) == 0 {
		return []diagnosis{well("flag store", "the server reads and writes %s", count(lanes, "flag", "flags"))}
	}
	return found
}
