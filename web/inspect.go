package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How far back the points of gates go.
const (
	usualWhile   = 30 * time.Minute
	longestWhile = 8 * 24 * time.Hour // no reader looks further back
)

// gateList is a rollout's gates.
type gateList struct {
	Gates []rollout.Reading `json:"gates"`
}

// gates returns a rollout's gates, what they say, and their points.
func (s *server) gates(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "while"); err != nil {
		return answer{}, err
	}
	while, err := span(query, "while", usualWhile, time.Minute, longestWhile)
	if err != nil {
		return answer{}, err
	}
	if _, err := s.find(ctx, c); err != nil {
		return answer{}, err
	}
	readings, err := s.Inspector.Gates(ctx, c.name(), while)
	if err != nil {
		return answer{}, fmt.Errorf("reading the gates of %s: %w", c.name(), err)
	}
	body := gateList{Gates: make([]rollout.Reading, len(readings))}
	for i, r := range readings {
		r.Verdict = speakable([]gates.Verdict{r.Verdict})[0]
		r.Points = slices.DeleteFunc(slices.Clone(r.Points), func(p gates.Point) bool { return !finite(p.Value) })
		r.Points = append([]gates.Point{}, r.Points...)
		body.Gates[i] = r
	}
	return answer{body: body}, nil
}

// taskList is a part of a rollout's tasks.
type taskList struct {
	Tasks  []rollout.TaskStatus               `json:"tasks"`
	Counts map[string]map[rollout.TaskUse]int `json:"counts"` // of all tasks, by lane and use
	Next   string                             `json:"next"`
}

// uses returns all places where a task may stand.
func uses() []rollout.TaskUse {
	return []rollout.TaskUse{rollout.OnTarget, rollout.OnSource, rollout.Lagging, rollout.Stray, rollout.Silent, rollout.Mute}
}

// tasks returns where each task of a rollout stands, by service and name.
func (s *server) tasks(ctx context.Context, c *call) (answer, error) {
	query := c.r.URL.Query()
	if err := queries(query, "lane", "use", "after", "limit"); err != nil {
		return answer{}, err
	}
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	wanted, err := choices(query, "use", uses())
	if err != nil {
		return answer{}, err
	}
	seen, err := s.find(ctx, c)
	if err != nil {
		return answer{}, err
	}
	lane, err := choices(query, "lane", lanesOf(&seen.State))
	if err != nil {
		return answer{}, err
	}
	tasks, err := s.Inspector.Tasks(ctx, c.name())
	if err != nil {
		return answer{}, fmt.Errorf("looking at the tasks of %s: %w", c.name(), err)
	}
	body := taskList{Counts: counted(&seen.State, tasks)}
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t rollout.TaskStatus) bool {
		return !slices.ContainsFunc(t.Lanes, func(l rollout.TaskLane) bool {
			return (len(lane) == 0 || slices.Contains(lane, l.Lane)) && (len(wanted) == 0 || slices.Contains(wanted, l.Use))
		})
	})
	body.Tasks, body.Next = cut(tasks, p, func(t *rollout.TaskStatus) string { return t.Service + " " + t.Task })
	return answer{body: body}, nil
}

func lanesOf(s *rollout.State) []string {
	names := make([]string, len(s.Lanes))
	for i := range s.Lanes {
		names[i] = s.Lanes[i].Name
	}
	return names
}

// counted counts the tasks of each lane by where they stand.
func counted(s *rollout.State, tasks []rollout.TaskStatus) map[string]map[rollout.TaskUse]int {
	counts := map[string]map[rollout.TaskUse]int{}
	for _, lane := range lanesOf(s) {
		counts[lane] = map[rollout.TaskUse]int{}
	}
	for i := range tasks {
		for _, l := range tasks[i].Lanes {
			if counts[l.Lane] != nil {
				counts[l.Lane][l.Use]++
			}
		}
	}
	return counts
}

// holdList is what holds a rollout: at most one hold of a kind.
type holdList struct {
	Holds []rollout.Hold `json:"holds"`
}

// holds returns what holds a rollout.
func (s *server) holds(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	seen, err := s.find(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return answer{body: holdList{append([]rollout.Hold{}, seen.State.Holds...)}}, nil
}

// reportOf is what a preflight found; none if there was none.
type reportOf struct {
	Report *rollout.Report `json:"report"`
}

// lastPreflight returns what a rollout's last preflight found.
func (s *server) lastPreflight(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	seen, err := s.find(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return answer{body: reportOf{seen.State.Report}}, nil
}

// preflight runs a rollout's preflight. It starts nothing.
func (s *server) preflight(ctx context.Context, c *call) (answer, error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return answer{}, err
	}
	if _, err := s.find(ctx, c); err != nil {
		return answer{}, err
	}
	report, err := s.Inspector.Preflight(ctx, c.name())
	if err != nil {
		return answer{}, fmt.Errorf("running the preflight of %s: %w", c.name(), err)
	}
	return answer{body: reportOf{report}}, nil
}
