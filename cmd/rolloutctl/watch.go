package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// watch shows a rollout until it rests or the person goes.
func (s *session) watch(ctx context.Context, name string, every time.Duration) error {
	const fastest = 250 * time.Millisecond // to the eye it is at once
	show := s.viewer()
	err := s.follow(ctx, name, max(every, fastest), nil, show.silent, func(status *rollout.Status) (bool, error) {
		show.status(ctx, status)
		if s.broken != nil {
			return true, s.broken
		}
		end, over := rested(status.State.Phase)
		return over, end
	})
	if ctx.Err() != nil {
		return s.leave(name)
	}
	return err
}

// errLate says that the time is over.
var errLate = errors.New("the time is over")

// follow looks at a rollout until what is seen ends it, time is over or the
// person goes. A server that gives no answer, of whatever kind, is said, and asked
// again; only if it still gives none in the end, that is the error.
func (s *session) follow(
	ctx context.Context, name string, every time.Duration, over <-chan time.Time,
	silence func(why error, since time.Duration), seen func(*rollout.Status) (bool, error),
) error {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	var silent time.Time // since when
	for {
		status, err := s.api.Status(ctx, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case noAnswer(err):
			if silent.IsZero() {
				silent = time.Now()
			}
			silence(err, time.Since(silent))
		case err != nil:
			return err
		default:
			silent = time.Time{}
			if end, err := seen(&status); end {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return cmp.Or(err, errLate)
		case <-ticks.C:
		}
	}
}

// rested reports whether there is nothing more to watch, and how that ends.
func rested(phase rollout.Phase) (error, bool) {
	switch phase {
	case rollout.RolledBack:
		return ended(exitRolledBack), true
	case rollout.Completed, rollout.Withdrawn:
		return nil, true
	default:
		return nil, false
	}
}

// leave says that only the watching is over.
func (s *session) leave(name string) error {
	s.errors.print(s.err, []string{"stopped watching; " + name + " goes on", "next: rolloutctl status " + name})
	return ended(exitInterrupted)
}

// viewer shows one status after another.
type viewer interface {
	status(context.Context, *rollout.Status)
	silent(why error, since time.Duration)
}

func (s *session) viewer() viewer {
	switch {
	case s.json():
		return &objects{session: s}
	case s.screen.terminal:
		return &drawing{session: s}
	default:
		return &lines{session: s, print: s.print}
	}
}

// objects writes a status as one line of JSON for each change.
type objects struct {
	*session
	last string
}

func (o *objects) status(_ context.Context, status *rollout.Status) {
	if is := gist(status); is != o.last {
		o.last = is
		o.wrote(json.NewEncoder(o.out).Encode(view{Status: *status, NextSteps: commands(nextSteps(status))}))
	}
}

func (o *objects) silent(error, time.Duration) {}

// lines writes a line of text for each change, and one a minute.
type lines struct {
	*session
	print func(...string)
	last  string
	told  time.Time // when
}

func (l *lines) status(_ context.Context, status *rollout.Status) { l.line(gist(status)) }

func (l *lines) silent(why error, _ time.Duration) { l.line("no answer, asking again: " + why.Error()) }

// line writes a line, if it is another than the last or that is a minute ago:
// whoever reads the log of a pipeline sees that it lives.
func (l *lines) line(text string) {
	const alive = time.Minute
	now := l.now()
	if text == l.last && now.Sub(l.told) < alive {
		return
	}
	l.last, l.told = text, now
	l.print(now.In(l.zone).Format(time.RFC3339) + " " + text)
}

// gist is a status in a line, without what changes by itself as time goes by.
func gist(status *rollout.Status) string {
	s := &status.State
	parts := []string{s.Name, "state=" + string(s.Phase)}
	for i := range s.Lanes {
		part := fmt.Sprintf("%s=%d", s.Lanes[i].Name, int(s.Lanes[i].Intended))
		if i < len(status.Lanes) {
			part += fmt.Sprintf("/%d/%d", int(status.Lanes[i].Published), int(status.Lanes[i].Tasks.Share))
		}
		parts = append(parts, part)
	}
	allowed := 0
	for _, v := range status.Verdicts {
		if v.Allows() {
			allowed++
		}
	}
	parts = append(parts, fmt.Sprintf("gates=%d/%d", allowed, len(status.Verdicts)))
	for _, v := range status.Verdicts {
		if v.Result == gates.Fail || v.Breach {
			parts = append(parts, "breach="+v.Gate)
		}
	}
	for _, h := range s.Holds {
		parts = append(parts, "hold="+string(h.Kind))
	}
	for _, w := range status.Waits {
		parts = append(parts, strings.TrimSuffix("waits="+string(w.Kind)+":"+w.Subject, ":"))
	}
	if status.Away != "" {
		parts = append(parts, "journal=away")
	}
	parts = append(parts, fmt.Sprintf("rev=%d", s.Version))
	if s.Why != "" && (s.Phase == rollout.Held || s.Phase == rollout.RolledBack || s.Phase.Lowering()) {
		parts = append(parts, fmt.Sprintf("why=%q", s.Why))
	}
	return strings.Join(parts, " ")
}

// drawing draws a status over the one before.
type drawing struct {
	*session
	shown    *page
	readings []rollout.Reading
	read     time.Time // when
	drawn    int       // lines that are on the screen
}

func (d *drawing) status(ctx context.Context, status *rollout.Status) {
	const often = 10 * time.Second
	d.shown = d.page(status)
	if time.Since(d.read) > often {
		d.readings, d.read = d.session.readings(ctx, status), time.Now()
	}
	d.shown.readings = d.readings
	d.draw("Ctrl-C stops watching; the rollout goes on")
}

func (d *drawing) silent(why error, since time.Duration) {
	d.draw(fmt.Sprintf("%s no answer for %s, asking again: %v", d.screen.near, span(since), why))
}

// draw puts the frame and a last line on the screen, cut to what fits: a line
// that wraps or scrolls could not be drawn over.
func (d *drawing) draw(last string) {
	width, height := d.screen.size()
	frame := append(d.fit(max(height-2, 1)), last)
	var b strings.Builder
	if d.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", d.drawn)
	}
	for _, line := range frame {
		b.WriteString("\r\x1b[2K" + d.screen.paint(cut(d.screen.clean(line), width-1)) + "\n")
	}
	b.WriteString("\x1b[J")
	d.drawn = len(frame)
	_, err := io.WriteString(d.out, b.String())
	d.wrote(err)
}

// fit returns as much as there is room for: first the gates that pass are left
// out, then the ladders are drawn in a line each; the rest is cut from the bottom.
func (d *drawing) fit(room int) []string {
	if d.shown == nil {
		return nil
	}
	var frame []string
	for _, draw := range []func() []string{d.shown.whole, d.shown.lower, d.shown.small} {
		if frame = draw(); len(frame) <= room {
			return frame
		}
	}
	more := len(frame) - room + 1
	return append(frame[:room-1], fmt.Sprintf("… %s: make the terminal higher", count(more, "more line", "more lines")))
}

// cut shortens a line to a width.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width || width < 1 {
		return line
	}
	runes := []rune(line)
	return string(runes[:width-1]) + "…"
}
