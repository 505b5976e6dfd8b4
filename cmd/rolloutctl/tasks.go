package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

type tasksCmd struct {
	Name   string `arg:"" help:"Name of the rollout."`
	Lane   string `placeholder:"NAME" help:"Only this lane."`
	Use    string `enum:",target,source,lagging,stray,silent,mute" default:"" placeholder:"USE" help:"Only tasks that stand so: target, source, lagging (should use the target), stray (should not), silent (not heard lately) or mute (says nothing of the lane)."`
	Behind bool   `help:"Only tasks that do not do what their flag asks: lagging, stray, silent or mute."`
}

// Run shows where tasks stand.
func (c *tasksCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	if c.Behind && c.Use != "" {
		return usageError{text: "--use and --behind: give one of the two"}
	}
	tasks, counts, err := s.allTasks(ctx, c.Name, client.TaskFilter{Lane: c.Lane, Use: rollout.TaskUse(c.Use)})
	if err != nil {
		return err
	}
	tasks = c.pick(tasks)
	if s.json() {
		return s.encode(map[string]any{"tasks": append([]rollout.TaskStatus{}, tasks...), "counts": counts})
	}
	status, err := s.api.Status(ctx, c.Name)
	if err != nil {
		return err
	}
	p := s.page(&status)
	s.print(p.taskCounts(counts, c.Lane)...)
	s.print("")
	if len(tasks) == 0 && c.Lane == "" && c.Use == "" && !c.Behind {
		s.print("no task has reported yet")
		return nil
	}
	s.print(p.taskTable(tasks)...)
	return nil
}

// allTasks reads all pages.
func (s *session) allTasks(ctx context.Context, name string, f client.TaskFilter) ([]rollout.TaskStatus, map[string]map[rollout.TaskUse]int, error) {
	const most = 1000
	var all []rollout.TaskStatus
	for after := ""; ; {
		page, err := s.api.Tasks(ctx, name, f, after, most)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, page.Tasks...)
		if page.Next <= after { // the end, or a server that does not go on
			return all, page.Counts, nil
		}
		after = page.Next
	}
}

// uses are all ways that a task may stand, those first that are as they should be.
func uses() []rollout.TaskUse {
	return []rollout.TaskUse{rollout.OnTarget, rollout.OnSource, rollout.Lagging, rollout.Stray, rollout.Silent, rollout.Mute}
}

func isBehind(use rollout.TaskUse) bool { return use != rollout.OnTarget && use != rollout.OnSource }

// pick keeps of each task the lanes that are asked for, and the tasks that have any.
func (c *tasksCmd) pick(tasks []rollout.TaskStatus) []rollout.TaskStatus {
	var kept []rollout.TaskStatus
	for _, t := range tasks {
		t.Lanes = slices.DeleteFunc(slices.Clone(t.Lanes), func(l rollout.TaskLane) bool {
			return c.Lane != "" && l.Lane != c.Lane || c.Use != "" && string(l.Use) != c.Use || c.Behind && !isBehind(l.Use)
		})
		if len(t.Lanes) > 0 {
			kept = append(kept, t)
		}
	}
	return kept
}

// taskCounts are how many tasks stand how, in the lanes' order.
func (p *page) taskCounts(counts map[string]map[rollout.TaskUse]int, only string) []string {
	head := []string{"LANE", " PUBLISHED"}
	for _, use := range uses() {
		head = append(head, " "+strings.ToUpper(string(use)))
	}
	rows := [][]string{head}
	for i := range p.State.Lanes {
		name := p.State.Lanes[i].Name
		if only != "" && name != only {
			continue
		}
		published := p.unknown
		if i < len(p.Lanes) && p.Lanes[i].Unread == "" {
			published = p.Lanes[i].Published.String()
		}
		row := []string{name, published}
		for _, use := range uses() {
			row = append(row, fmt.Sprint(counts[name][use]))
		}
		rows = append(rows, row)
	}
	return table("", rows)
}

// taskTable are tasks, a row for each lane.
func (p *page) taskTable(tasks []rollout.TaskStatus) []string {
	if len(tasks) == 0 {
		return []string{"no such task"}
	}
	rows := [][]string{{"", "TASK", "SERVICE", "VERSION", "LANE", " BUCKET", "USE", "ENDPOINT", " OPEN", " OLDEST OLD", " HEARD", "FOLLOWS"}}
	for i := range tasks {
		t := &tasks[i]
		for j := range t.Lanes {
			l := &t.Lanes[j]
			rows = append(rows, []string{
				p.useSign(l.Use), t.Task, t.Service, dash(t.Version), l.Lane, fmt.Sprint(l.Bucket), string(l.Use),
				dash(l.Endpoint), fmt.Sprintf("%d", l.Open), oldest(l), p.ago(t.HeardAt), p.follows(t.Service, l),
			})
		}
	}
	return table("", rows)
}

func (p *page) useSign(use rollout.TaskUse) string {
	switch use {
	case rollout.OnTarget, rollout.OnSource:
		return p.ok
	case rollout.Lagging, rollout.Stray:
		return p.near
	default:
		return p.unknown
	}
}

// oldest is the age of the oldest connection to the endpoint that a task should
// have left.
func oldest(l *rollout.TaskLane) string {
	if l.OldestOldSecond <= 0 {
		return "-"
	}
	return span(seconds(l.OldestOldSecond).Truncate(time.Second))
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// follows says when a task that has old connections will have none: a pool keeps
// none longer than its lifetime.
func (p *page) follows(service string, l *rollout.TaskLane) string {
	if l.OldestOldSecond <= 0 || p.State.Plan == nil {
		return ""
	}
	for i := range p.State.Plan.Services {
		of := &p.State.Plan.Services[i]
		if of.Name != service || of.PoolLifetime == 0 {
			continue
		}
		if left := of.PoolLifetime - seconds(l.OldestOldSecond); left > 0 {
			return "in " + span(left.Round(time.Second))
		}
		return "late: older than pool_lifetime, " + span(of.PoolLifetime)
	}
	return "unknown: no pool_lifetime in the plan"
}
