package main

import (
	"cmp"
	"fmt"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// shares are the three shares of each lane, and how tasks follow.
func (p *page) shares() []string {
	if len(p.Lanes) == 0 {
		return nil
	}
	rows := [][]string{{"LANE", " INTENDED", " PUBLISHED", " OBSERVED", "TASKS"}}
	for i := range p.Lanes {
		lane := &p.Lanes[i]
		published := lane.Published.String()
		if lane.Unread != "" {
			published = p.unknown
		}
		rows = append(rows, []string{lane.Name, lane.Intended.String(), published, p.observed(&lane.Tasks), p.tasks(&lane.Tasks)})
	}
	lines := table("  ", rows)
	for i := range p.Lanes {
		if lane := &p.Lanes[i]; lane.Unread != "" {
			lines = append(lines, fmt.Sprintf("  %s the flag of %s cannot be read: %s", p.near, lane.Name, lane.Unread))
		}
	}
	return lines
}

func (p *page) observed(o *rollout.Observation) string {
	if o.Live == 0 {
		return p.unknown
	}
	return o.Share.String()
}

func (p *page) tasks(o *rollout.Observation) string {
	text := fmt.Sprintf("%d on target, %d due; %d of %d report", o.On, o.Cohort, o.Live, o.Inventory)
	if o.Stray > 0 {
		text += fmt.Sprintf("; %d stray", o.Stray)
	}
	return text
}

// lagging names the tasks that do not follow.
func (p *page) lagging() []string {
	var lines []string
	for i := range p.Lanes {
		lane := &p.Lanes[i]
		if len(lane.Tasks.Lagging) == 0 && (lane.Tasks.Converged || lane.Tasks.Why == "") {
			continue
		}
		text := fmt.Sprintf("  %s: %s", lane.Name, cmp.Or(lane.Tasks.Why, "not converged"))
		lines = append(lines, text)
		const shown = 5
		for n, task := range lane.Tasks.Lagging {
			if n == shown {
				lines = append(lines, fmt.Sprintf("    and %d more", len(lane.Tasks.Lagging)-shown))
				break
			}
			lines = append(lines, "    "+task)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"TASKS LAGGING"}, lines...)
}
