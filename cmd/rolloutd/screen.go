package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// screen draws a rollout's ladder: in place on a terminal, elsewhere a line for
// each thing that comes to pass.
type screen struct {
	w     io.Writer
	live  bool
	lines int // drawn, and to be drawn over
	told  uint64
	story []rollout.Event
	began time.Time
}

func newScreen(w io.Writer) *screen { return &screen{w: w, live: terminal(w)} }

// say prints a line for good.
func (s *screen) say(format string, args ...any) {
	fmt.Fprintf(s.w, format+"\n", args...)
	s.lines, s.told, s.story, s.began = 0, 0, nil, time.Now()
}

// draw shows where a rollout stands, and what has come to pass since.
func (s *screen) draw(status *rollout.Status, events []rollout.Event) {
	for _, e := range events {
		s.told = e.Seq
		if line := tell(&e); line != "" {
			s.story = append(s.story, e)
			if !s.live {
				fmt.Fprintf(s.w, "   %5.1fs  %s\n", e.At.Sub(s.began).Seconds(), line)
			}
		}
	}
	if !s.live {
		return
	}
	if s.lines > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", s.lines)
	}
	text := s.picture(status)
	s.lines = strings.Count(text, "\n")
	io.WriteString(s.w, text)
}

// recent is how many of the last events a picture shows.
const recent = 6

func (s *screen) picture(status *rollout.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "   %s · %s\n", status.State.Name, status.State.Phase)
	for i := range status.Lanes {
		lane := &status.Lanes[i]
		fmt.Fprintf(&b, "   %-7s %s intended %4v  published %4v  observed %4v  (%d of %d tasks)\n",
			lane.Name, bar(lane.Published, lane.Tasks.Share), lane.Intended, lane.Published, lane.Tasks.Share, lane.Tasks.On, lane.Tasks.Live)
	}
	for _, v := range status.Verdicts {
		fmt.Fprintf(&b, "   gate %-13s %-12s %s\n", v.Gate, v.Result, v.Why)
	}
	for _, w := range status.Waits {
		fmt.Fprintf(&b, "   waits for %s %s: %s\n", w.Kind, w.Subject, w.Why)
	}
	for _, e := range s.story[max(0, len(s.story)-recent):] {
		fmt.Fprintf(&b, "   %5.1fs  %s\n", e.At.Sub(s.began).Seconds(), tell(&e))
	}
	return b.String()
}

// bar draws a lane: what tasks use, and what is published beyond it.
func bar(published, observed flags.Share) string {
	const width = 40
	used, served := int(observed)*width/100, int(published)*width/100
	if observed > 0 {
		used = max(1, used)
	}
	return strings.Repeat("█", used) + strings.Repeat("▒", max(0, served-used)) + strings.Repeat("·", width-max(used, served))
}

// tell says an event in a line; nothing of those that matter to machines only.
func tell(e *rollout.Event) string {
	switch e.Kind {
	case rollout.Raised:
		return fmt.Sprintf("%s %v → %v", e.Lane, e.From, e.To)
	case rollout.Settled:
		return "tasks have followed, for a whole metric period: " + e.Why
	case rollout.Baked:
		return "baked, all gates pass"
	case rollout.Lowered:
		return "ROLLBACK: " + e.Why
	case rollout.Proven:
		return "proven by the tasks' reports: " + e.Why
	case rollout.Started, rollout.SoakBegan:
		return string(e.Kind)
	case rollout.Checked:
		if e.Report.Passed() {
			return fmt.Sprintf("preflight: %d checks, none failed", len(e.Report.Checks))
		}
		return "preflight failed"
	case rollout.HeldOn:
		return "held: " + e.Why
	default:
		return ""
	}
}

// end says how a rollout ended, and how fast.
func (s *screen) end(status *rollout.Status, f *fleet) {
	switch status.State.Phase {
	case rollout.Soaking:
		fmt.Fprintf(s.w, "   => all lanes baked at 100%%: soaking. %d of %d tasks read and %d write through the proxy; the way back stays open.\n",
			f.on[0].Load(), f.Tasks, f.on[1].Load())
	default:
		var lowered, proven time.Time
		for _, e := range s.story {
			if e.Kind == rollout.Lowered {
				lowered = e.At
			}
			if e.Kind == rollout.Proven {
				proven = e.At
			}
		}
		felt := "Nobody had to wait for a connection."
		if f.waited.Load() {
			felt = "Some had to wait for a connection until then."
		}
		fmt.Fprintf(s.w, "   => rolled back by itself: %.1f s from the decision until every task was proven back on the source. %s\n",
			proven.Sub(lowered).Seconds(), felt)
	}
}
