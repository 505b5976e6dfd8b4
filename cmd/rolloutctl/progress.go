package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// progress shows on stderr how far something is: in place on a terminal, else a
// line for each change and one a minute.
type progress struct {
	session *session
	drawn   bool
	lines   *lines // where there is no terminal
	began   time.Time
}

func (s *session) progress() *progress {
	p := &progress{session: s, began: time.Now()}
	if !s.errors.terminal {
		p.lines = &lines{session: s, print: func(text ...string) { s.errors.print(s.err, text) }}
	}
	return p
}

func (p *progress) status(ctx context.Context, status *rollout.Status) {
	if p.session.Quiet || p.session.json() {
		return
	}
	if p.lines != nil {
		p.lines.status(ctx, status)
		return
	}
	p.draw(soFar(status))
}

func (p *progress) silent(why error, since time.Duration) {
	if p.session.Quiet || p.session.json() {
		return
	}
	if p.lines != nil {
		p.lines.silent(why, since)
		return
	}
	p.draw(p.session.errors.near + " asking again: " + why.Error())
}

func (p *progress) draw(text string) {
	width, _ := p.session.errors.size()
	text = fmt.Sprintf("  %s, %s", text, span(time.Since(p.began)))
	_, _ = io.WriteString(p.session.err, "\r\x1b[2K"+cut(p.session.errors.clean(text), width-1))
	p.drawn = true
}

// end takes away what was drawn.
func (p *progress) end() {
	if p.drawn {
		_, _ = io.WriteString(p.session.err, "\r\x1b[2K")
		p.drawn = false
	}
}

// soFar says how far a rollout is, in a line.
func soFar(status *rollout.Status) string {
	var parts []string
	s := &status.State
	for i := range status.Lanes {
		o := &status.Lanes[i].Tasks
		name := status.Lanes[i].Name
		switch {
		case s.Phase.Lowering() && o.Live > 0 && s.Lanes[i].Target == flags.None:
			parts = append(parts, fmt.Sprintf("%s: %d of %d tasks back", name, o.Live-o.On, o.Live))
		case o.Cohort > 0 && !o.Converged:
			parts = append(parts, fmt.Sprintf("%s: %d of %d tasks follow", name, o.On, o.Cohort))
		}
	}
	return strings.Join(append([]string{words(s.Phase)}, parts...), ", ")
}
