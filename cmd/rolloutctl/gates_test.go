package main

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// readingOf is a gate of minutes with a limit of 50 above, or below.
func readingOf(g gates.Gate, v gates.Verdict, values ...float64) rollout.Reading {
	g.Name, g.Metric.Period = "borrow-wait", time.Minute
	r := rollout.Reading{Gate: g, Verdict: v}
	for i, value := range values {
		r.Points = append(r.Points, gates.Point{Start: ago(time.Duration(len(values)-i) * time.Minute), Value: value})
	}
	return r
}

func TestAGateThatDoesNotPassSaysWhySinceWhenAndWhatThatDoes(t *testing.T) {
	fifty := 50.0
	above, below := gates.Gate{Limit: gates.Limit{Above: &fifty}}, gates.Gate{Limit: gates.Limit{Below: &fifty}}
	lane := gates.Gate{Limit: gates.Limit{Above: &fifty}, OnBreach: gates.OnBreachZero, Scope: gates.ScopeLane, Lanes: []string{"reads"}}
	previous := gates.Gate{Limit: gates.Limit{Above: &fifty}, OnBreach: gates.OnBreachPrevious}
	for name, tt := range map[string]struct {
		reading rollout.Reading
		want    string
	}{
		"the newest bad ones in a row count": {
			readingOf(above, gates.Verdict{Result: gates.Fail, Breach: true, Why: "412 > 50 in 2 of 3"}, 90, 12, 60, 412),
			"  borrow-wait: 412 > 50 in 2 of 3\n" +
				"    since    03:14:30 UTC, 2m\n" +
				"    does     a breach, as this is, holds: nothing rises until a person resumes",
		},
		"a limit below is one, too": {
			readingOf(below, gates.Verdict{Result: gates.Fail, Why: "12 < 50"}, 60, 12),
			"  borrow-wait: 12 < 50\n    since    03:15:30 UTC, 1m\n    does     a breach holds: nothing rises until a person resumes",
		},
		"near the limit there is no since": {
			readingOf(previous, gates.Verdict{Result: gates.Marginal, Why: "49 ≤ 50, nearly at the limit"}, 49),
			"  borrow-wait: 49 ≤ 50, nearly at the limit\n    does     a breach takes the lane that was raised last back one stage, and holds",
		},
		"without data it is since the newest point": {
			readingOf(lane, gates.Verdict{Result: gates.Inconclusive, Cause: gates.Stale, Why: "newest 03:10 is 6m late"}, 12, 12, 12),
			"  borrow-wait: newest 03:10 is 6m late\n    since    03:16:30 UTC, 0s\n    blocks   each raise, until it can be judged\n    does     a breach takes reads to 0%, and holds",
		},
		"what the source says is told": {
			rollout.Reading{
				Gate:    gates.Gate{Name: "borrow-wait", OnBreach: gates.OnBreachZero},
				Verdict: gates.Verdict{Result: gates.Inconclusive, Cause: gates.Forbidden, Why: "it may not be read"}, Note: "AccessDenied",
			},
			"  borrow-wait: it may not be read (AccessDenied)\n    blocks   each raise, until it can be judged\n    does     a breach takes all lanes to 0%, and holds",
		},
		"what has not begun stands only against a second stage": {
			readingOf(above, gates.Verdict{Result: gates.Inconclusive, Cause: gates.NotStarted}),
			"  borrow-wait: not_started\n    blocks   each raise, but a lane's first\n    does     a breach holds: nothing rises until a person resumes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{signs: unicodeSigns(), now: noon, zone: time.UTC}
			if got := strings.Join(p.whyGate(&tt.reading), "\n"); got != tt.want {
				t.Errorf("said:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestALineOfValuesGoesAsFarBackAsIsAskedFor(t *testing.T) {
	fifty := 50.0
	r := readingOf(gates.Gate{Limit: gates.Limit{Above: &fifty}}, gates.Verdict{}, 0, 10, 20, 30, 40, 50)
	for while, want := range map[time.Duration]string{
		6 * time.Minute: "▁▂▄▅▇█", 3 * time.Minute: "▅▇█", time.Minute: "█", 24 * time.Minute: "         ▂▅█",
	} {
		p := &page{signs: unicodeSigns(), readings: []rollout.Reading{r}, while: while, now: noon, zone: time.UTC}
		if got := p.spark(&r.Gate); got != want {
			t.Errorf("in %v %q is drawn, want %q", while, got, want)
		}
	}
}
