package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How far back spark lines go if nobody says how far, and how wide they are at most.
const (
	sparkWhile = 30 * time.Minute
	sparkCells = 12
)

// sparkHead is the head of the column of spark lines; empty without one.
func (p *page) sparkHead() string {
	if len(p.readings) == 0 || p.sparks == "" {
		return ""
	}
	return "LAST " + span(cmp.Or(p.while, sparkWhile))
}

// spark draws the last points of a gate. The full height is the limit, where the
// gate has one above; each cell shows the worst of its points.
func (p *page) spark(g *gates.Gate) string {
	at := slices.IndexFunc(p.readings, func(r rollout.Reading) bool { return r.Gate.Name == g.Name })
	if at < 0 || p.sparks == "" {
		return ""
	}
	while := cmp.Or(p.while, sparkWhile)
	cells := min(sparkCells, max(1, int(while/max(g.Metric.Period, 1)))) // a point fills one
	worst := make([]*float64, cells)
	points := p.readings[at].Points
	for i := range points {
		age := p.now.Sub(points[i].Start.Add(g.Metric.Period)) // of its end
		cell := cells - 1 - int(age*time.Duration(cells)/while)
		if cell < 0 || cell >= cells {
			continue
		}
		value := points[i].Value
		if worst[cell] == nil || (g.Limit.Above == nil) == (value < *worst[cell]) {
			worst[cell] = &value
		}
	}
	return p.bars(worst, g)
}

// bars draws values between the lowest of them, or 0, and the highest, or the limit.
func (p *page) bars(values []*float64, g *gates.Gate) string {
	low, high := 0.0, 0.0
	if g.Limit.Above != nil {
		high = *g.Limit.Above
	}
	for _, v := range values {
		if v != nil {
			low, high = min(low, *v), max(high, *v)
		}
	}
	signs := []rune(p.sparks)
	var b strings.Builder
	for _, v := range values {
		switch {
		case v == nil:
			b.WriteRune(' ')
		case high == low:
			b.WriteRune(signs[0])
		default:
			b.WriteRune(signs[min(int((*v-low)/(high-low)*float64(len(signs))), len(signs)-1)])
		}
	}
	return b.String()
}
