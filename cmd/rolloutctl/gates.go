package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

type gatesCmd struct {
	Name  string        `arg:"" help:"Name of the rollout."`
	Gate  string        `placeholder:"NAME" help:"Only this gate."`
	While time.Duration `default:"30m" placeholder:"DURATION" help:"How long back the line of values goes."`
}

// Run shows gates with what they measure.
func (c *gatesCmd) Run(ctx context.Context, s *session) error {
	s.name = c.Name
	if c.While <= 0 {
		return usageError{text: fmt.Sprintf("--while %v: must be above 0", c.While)}
	}
	readings, err := s.api.Gates(ctx, c.Name, c.While)
	if err != nil {
		return err
	}
	if c.Gate != "" {
		if readings, err = oneGate(readings, c.Name, c.Gate); err != nil {
			return err
		}
	}
	if s.json() {
		return s.encode(map[string][]rollout.Reading{"gates": append([]rollout.Reading{}, readings...)})
	}
	if len(readings) == 0 {
		s.print(c.Name + " has no gates")
		return nil
	}
	status, err := s.api.Status(ctx, c.Name)
	if err != nil {
		return err
	}
	p := s.page(&status)
	p.readings, p.while = readings, c.While
	s.print(p.measured()...)
	return nil
}

func oneGate(readings []rollout.Reading, name, gate string) ([]rollout.Reading, error) {
	names := make([]string, len(readings))
	for i := range readings {
		if names[i] = readings[i].Gate.Name; names[i] == gate {
			return readings[i : i+1], nil
		}
	}
	return nil, failure{code: exitNotFound, text: fmt.Sprintf("%s has no gate %q; it has %s", name, gate, strings.Join(names, ", "))}
}

// measured are gates as a table; below it, of each that does not pass, why, since
// when, and what that does.
func (p *page) measured() []string {
	head := []string{"", "GATE", "VERDICT", " VALUE", " LIMIT", " MARGIN", " AGE", "ON BREACH"}
	drawn := p.sparkHead() != ""
	if drawn {
		head = append(head, p.sparkHead())
	}
	if p.wide {
		head = append(head, "SCOPE", "SOURCE", "METRIC")
	}
	rows := [][]string{head}
	allowed := 0
	var whys []string
	for i := range p.readings {
		g, v := &p.readings[i].Gate, &p.readings[i].Verdict
		if v.Allows() {
			allowed++
		}
		row := []string{p.verdictSign(v), g.Name, verdictWords(v), p.value(v), p.limit(g), margin(v, g), p.age(v), string(g.OnBreach)}
		if drawn {
			row = append(row, p.spark(g))
		}
		if p.wide {
			row = append(row, scopeWords(g), g.Source, metricWords(&g.Metric))
		}
		rows = append(rows, row)
		if v.Result != gates.Pass {
			whys = append(whys, p.whyGate(&p.readings[i])...)
		}
	}
	seen := p.seen()
	if !p.Looked.IsZero() {
		seen = "seen " + seen
	}
	first := fmt.Sprintf("%s  %d of %d gates let a share rise; %s", p.State.Name, allowed, len(p.readings), seen)
	return slices.Concat([]string{first}, table("  ", rows), whys)
}

// whyGate says why a gate does not pass, since when, and what that does.
func (p *page) whyGate(r *rollout.Reading) []string {
	g, v := &r.Gate, &r.Verdict
	why := cmp.Or(v.Why, string(v.Cause))
	if r.Note != "" && !strings.Contains(why, r.Note) {
		why += " (" + r.Note + ")"
	}
	lines := []string{"  " + g.Name + ": " + why}
	if since, ok := badSince(r); ok {
		lines = append(lines, fmt.Sprintf("    since    %s, %s", p.moment(since), p.ago(since)))
	}
	does := "a breach"
	switch {
	case v.Breach:
		does = "a breach, as this is,"
	case v.Cause == gates.NotStarted:
		lines = append(lines, "    blocks   each raise, but a lane's first")
	case v.Result == gates.Inconclusive:
		lines = append(lines, "    blocks   each raise, until it can be judged")
	}
	return append(lines, "    "+fmt.Sprintf("does     %s %s", does, breachWords(g)))
}

// breachWords says what a breach does.
func breachWords(g *gates.Gate) string {
	switch g.OnBreach {
	case gates.OnBreachZero:
		if g.Scope == gates.ScopeLane && len(g.Lanes) > 0 {
			return "takes " + strings.Join(g.Lanes, ", ") + " to 0%, and holds"
		}
		return "takes all lanes to 0%, and holds"
	case gates.OnBreachPrevious:
		return "takes the lane that was raised last back one stage, and holds"
	default:
		return "holds: nothing rises until a person resumes"
	}
}

// badSince says since when a gate does not pass, as far as its points tell: with
// data, the first of the newest points in a row that are beyond the limit;
// without, the end of the newest point.
func badSince(r *rollout.Reading) (time.Time, bool) {
	period := r.Gate.Metric.Period
	if len(r.Points) == 0 {
		return time.Time{}, false
	}
	if r.Verdict.Result == gates.Inconclusive {
		return r.Points[len(r.Points)-1].Start.Add(period), r.Verdict.Cause == gates.Stale || r.Verdict.Cause == gates.NoData
	}
	var since time.Time
	for _, point := range slices.Backward(r.Points) {
		if !beyond(r.Gate.Limit, point.Value) {
			break
		}
		since = point.Start
	}
	return since, !since.IsZero()
}

func beyond(l gates.Limit, value float64) bool {
	return l.Above != nil && value > *l.Above || l.Below != nil && value < *l.Below
}

func scopeWords(g *gates.Gate) string {
	if g.Scope == gates.ScopeLane {
		return strings.TrimSpace("lane " + strings.Join(g.Lanes, ", "))
	}
	return string(g.Scope)
}

// metricWords names a metric as its source does.
func metricWords(m *gates.Metric) string {
	parts := []string{strings.TrimSpace(m.Namespace + " " + m.Name)}
	for _, name := range slices.Sorted(maps.Keys(m.Dimensions)) {
		parts = append(parts, name+"="+m.Dimensions[name])
	}
	for _, part := range []string{m.Stat, m.Lane, m.Region} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if m.Per != "" {
		parts = append(parts, "per "+m.Per)
	}
	return strings.Join(append(parts, span(m.Period)), ", ")
}
