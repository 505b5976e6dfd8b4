package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// breakGlassCmd sets lanes to their safe value with nothing but the flag store.
type breakGlassCmd struct {
	glassOptions

	As     string `placeholder:"WHO" help:"Who does it; by default you at this host."`
	Record string `placeholder:"DIR" help:"Where the record is written; by default $XDG_STATE_HOME/rolloutctl or ~/.local/state/rolloutctl."`
	Check  bool   `help:"Check that it would work, and change nothing."`
}

func (*breakGlassCmd) offline() {}

// Help is said before the flags.
func (*breakGlassCmd) Help() string {
	return `For the day when rolloutd, its database and the API are gone: it speaks to the flag store and to nothing else.
The lanes of NAME are the flags that bear its mark. Lanes go to 0%, writes before reads, unconditionally; those of a
completed rollout go up to 100%, as their source may be gone. When rolloutd is back, it adopts what it finds and puts it
into the journal; it never raises these lanes again by itself. Check the path before the bad day: --check.

Exit codes: 0 all are at their safe value, read back; 1 some are not; 3 no such flags.`
}

// Run breaks the glass.
func (c *breakGlassCmd) Run(ctx context.Context, s *session) error {
	if c.Check || s.DryRun {
		return s.showGlass(ctx, c.glassOptions)
	}
	g, err := s.openGlass(ctx, &c.glassOptions)
	if err != nil {
		return err
	}
	defer g.close()
	panes, doubts, err := g.find(ctx, c.glassOptions)
	if err != nil {
		return err
	}
	if !s.json() || len(panes) == 0 {
		s.errors.print(s.err, doubts)
	}
	if len(panes) == 0 {
		return c.noPanes(g, doubts)
	}
	says := []string{c.title(g)}
	for i := range panes {
		says = append(says, "  "+panes[i].says()+"  "+panes[i].intends())
	}
	err = s.confirm(ctx, question{level: askLightly, text: "Set " + count(len(panes), "lane", "lanes") + " to the safe value?", says: says})
	if err != nil {
		return err
	}
	record := glassRecord{
		At: time.Now().UTC(), By: cmp.Or(c.As, whoami()), Reason: s.Reason, Store: g.where, Rollout: c.Name, Doubts: doubts,
	}
	if !s.json() {
		s.print(c.title(g))
	}
	record.Lanes = g.setAll(ctx, panes, record.signature(), func(o *outcome) {
		if !s.json() {
			s.print("  " + o.says(s.screen.signs))
		}
	})
	return s.endGlass(&c.glassOptions, g, &record, c.Record)
}

func (o *glassOptions) title(g *glass) string {
	return strings.TrimSpace("break-glass "+o.Name) + " at " + g.where
}

// whoami is who runs this, at which host.
func whoami() string {
	name := os.Getenv("USER")
	if me, err := user.Current(); name == "" && err == nil {
		name = me.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return cmp.Or(name, "somebody") + "@" + host
}

// noPanes says that there is nothing to set, and what to try.
func (o *glassOptions) noPanes(g *glass, doubts []string) error {
	none := failure{code: exitNotFound, text: fmt.Sprintf("no flag at %s bears the mark of rollout %s", g.where, o.Name)}
	if len(doubts) > 0 {
		none.code, none.text = exitError, none.text+", as far as it could be looked at"
	}
	if found := g.rollouts(); len(found) > 0 {
		none.lines = append(none.lines, "  there are marks of "+strings.Join(found, ", "))
	}
	none.lines = append(none.lines, "next: name the flags: rolloutctl break-glass … --flag NAMESPACE/KEY")
	return none
}

// endGlass writes the record, and says what is left to do.
func (s *session) endGlass(o *glassOptions, g *glass, record *glassRecord, folder string) error {
	path, err := record.write(folder)
	if err != nil {
		s.errors.print(s.err, []string{"the record could not be written: " + err.Error()})
	}
	failed := slices.DeleteFunc(slices.Clone(record.Lanes), func(o outcome) bool { return o.OK })
	if s.json() {
		record.File = path
		if err := s.encode(record); err != nil {
			return err
		}
		if len(failed) > 0 || g.blind > 0 {
			return ended(exitError)
		}
		return nil
	}
	if path != "" {
		s.print("record: " + path)
	}
	if len(failed) > 0 {
		left := failure{code: exitError, text: count(len(failed), "lane is", "lanes are") + " not at the safe value"}
		for _, f := range failed {
			left.lines = append(left.lines, "  "+f.Key.String()+": "+f.todo())
		}
		left.lines = append(left.lines, "next: "+o.command())
		return left
	}
	if g.blind > 0 {
		return failure{
			exitError, "these lanes are at the safe value, but " + o.Name + " may have others where nothing could be looked at",
			[]string{"next: a token that may list all flags; or --namespace, or --flag, so that no others are looked for"},
		}
	}
	s.print(o.afterwards(record.Lanes)...)
	return nil
}

// afterwards says what comes next.
func (o *glassOptions) afterwards(lanes []outcome) []string {
	lines := []string{"Tasks follow within their polling time."}
	if o.Embedded != "" {
		lines = []string{"Nothing serves this file while rolloutd is stopped: tasks keep their last value until it serves it again."}
	}
	if slices.ContainsFunc(lanes, func(l outcome) bool { return l.Rollout == "" }) {
		lines = append(lines, "A flag without a mark belongs to no rollout here: tell who uses it.")
	}
	at := slices.IndexFunc(lanes, func(l outcome) bool { return l.Rollout != "" && l.Safe == flags.None })
	if at < 0 {
		return lines
	}
	return append(lines,
		"rolloutd adopts this once it is back, and puts who and why into the journal; it never raises these lanes again by itself.",
		"next: rolloutctl status "+quoted(lanes[at].Rollout)+", once rolloutd is back")
}
