package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
)

// finding is what came of one check.
type finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Why  string `json:"why"`
	Fix  string `json:"fix,omitempty"` // what to do where it is not well
}

// checkGlass checks that break-glass would work, and writes nothing: the store
// is reached, flags are found, and the token may do what it will have to.
// Without a name and a flag, all flags that bear a mark of ours are looked at.
func (s *session) checkGlass(ctx context.Context, o glassOptions) []finding {
	all := o.Name == "" && len(o.Flag) == 0
	if all {
		o.Name = anyRollout
	}
	g, err := s.openGlass(ctx, &o)
	if err != nil {
		fix := "" // of a store that is named, the error says what to do
		if o.Flipt == "" && o.Embedded == "" {
			fix = "say where it is: --flipt URL, or --embedded FILE"
		}
		return []finding{unwell("flag store", err, fix)}
	}
	defer g.close()
	var findings []finding
	if g.flipt != nil {
		one := reach(ctx, g, &o)
		if findings = append(findings, one); !one.OK {
			return findings
		}
	} else {
		findings = append(findings, finding{Name: "flag store", OK: true, Why: g.where + " can be opened: rolloutd does not hold it now"})
	}
	panes, doubts, err := g.find(ctx, o)
	for _, doubt := range doubts {
		findings = append(findings, finding{
			Name: "list", Why: doubt, Fix: "give the token the permission that is missing, or name the flags: --flag NAMESPACE/KEY",
		})
	}
	switch {
	case err != nil:
		return append(findings, unwell("flags", err, "name the flags: --flag NAMESPACE/KEY"))
	case len(panes) == 0:
		return append(findings, finding{
			Name: "flags", Why: noFlagBears + o.aim(),
			Fix: "a rollout's flags get their marks when it has started; until then name them: --flag NAMESPACE/KEY",
		})
	}
	findings = append(findings, g.seenPanes(panes, o.aim()))
	if g.flipt != nil {
		findings = append(findings, g.permitted(ctx, panes)...)
	}
	return findings
}

const noFlagBears = "no flag bears the mark of "

// anyRollout stands for every rollout whose marks are found. No rollout has such a name.
const anyRollout = "*"

// aim says whose flags are looked for.
func (o *glassOptions) aim() string {
	switch o.Name {
	case anyRollout:
		return "any rollout"
	case "":
		return "no rollout"
	default:
		return "rollout " + o.Name
	}
}

func unwell(name string, err error, fix string) finding {
	if needed := flipt.Lacks(err); needed != "" {
		fix = "the token needs " + needed
	}
	return finding{Name: name, Why: err.Error(), Fix: fix}
}

// reach asks Flipt which generation it is.
func reach(ctx context.Context, g *glass, o *glassOptions) finding {
	generation, err := g.flipt.Generation(ctx)
	if err != nil {
		return unwell("flag store", err, "can this machine reach "+g.where+"? On the bad day it must")
	}
	why := fmt.Sprintf("Flipt v%d answers at %s", generation, g.where)
	if generation == 2 {
		why += ", environment " + cmp.Or(o.FliptEnvironment, "default")
	}
	return finding{Name: "flag store", OK: true, Why: why}
}

// seenPanes says which flags would be set.
func (g *glass) seenPanes(panes []pane, aim string) finding {
	lines := make([]string, len(panes))
	for i := range panes {
		lines[i] = fmt.Sprintf("%s (%s, %s)", panes[i].Key, cmp.Or(panes[i].Lane, "no mark"), panes[i].intends())
	}
	f := finding{Name: "flags", OK: true, Why: "of " + aim + ", in this order: " + strings.Join(lines, "; ")}
	for i := range panes {
		switch p := &panes[i]; {
		case p.lost != nil:
			f.OK, f.Fix = false, unwell("", p.lost, "is the flag's key right?").Fix
		case p.Foreign != "":
			f.OK, f.Fix = false, p.Key.String()+": take its rules off; "+p.Foreign
		}
	}
	return f
}

// permitted tries what a write will need, without one.
func (g *glass) permitted(ctx context.Context, panes []pane) (findings []finding) {
	var namespaces []string
	for i := range panes {
		key := panes[i].Key
		if panes[i].lost != nil {
			continue
		}
		if panes[i].Foreign == "" {
			f := finding{Name: "evaluate", OK: true, Why: key.String() + " is served as it says"}
			if err := g.flipt.Verify(ctx, key); err != nil {
				f = unwell("evaluate", err, "is Flipt's cache on? Writes are proven by evaluating")
			}
			findings = append(findings, f)
		}
		if slices.Contains(namespaces, key.Namespace) {
			continue
		}
		namespaces = append(namespaces, key.Namespace)
		f := finding{Name: "write", OK: true, Why: "the token may update flags of namespace " + key.Namespace}
		if err := g.flipt.MayWrite(ctx, key); err != nil {
			f = unwell("write", err, "can flags of "+key.Namespace+" be written at all? Is Flipt's storage read-only?")
		}
		findings = append(findings, f)
	}
	return findings
}

// showGlass prints what was checked, and the command for the bad day.
func (s *session) showGlass(ctx context.Context, o glassOptions) error {
	findings := s.checkGlass(ctx, o)
	wrong := slices.ContainsFunc(findings, func(f finding) bool { return !f.OK })
	none := slices.ContainsFunc(findings, func(f finding) bool { return f.Name == "flags" && strings.HasPrefix(f.Why, noFlagBears) })
	if s.json() {
		if err := s.encode(map[string]any{"findings": findings, "command": o.command()}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			sign := s.screen.ok
			if !f.OK {
				sign = s.screen.bad
			}
			s.print(fmt.Sprintf("%s %-10s %s", sign, f.Name, f.Why))
			if f.Fix != "" {
				s.print("  " + strings.Repeat(" ", 11) + "do: " + f.Fix)
			}
		}
		s.print("nothing was changed. On the bad day:", "  "+o.command())
	}
	switch {
	case none && !slices.ContainsFunc(findings, func(f finding) bool { return f.Name == "list" }):
		return ended(exitNotFound)
	case wrong:
		return ended(exitError)
	}
	return nil
}

// command is the command line that sets these lanes.
func (o *glassOptions) command() string {
	words := []string{"rolloutctl", "break-glass"}
	add := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, quoted(value))
		}
	}
	add("flipt", o.Flipt)
	add("flipt-token-file", o.FliptTokenFile)
	add("flipt-environment", o.FliptEnvironment)
	add("embedded", o.Embedded)
	for _, namespace := range o.Namespace {
		add("namespace", namespace)
	}
	for _, key := range o.Flag {
		add("flag", flags.Key(key).String())
	}
	name := quoted(o.Name)
	if o.Name == "" && len(o.Flag) == 0 {
		name = "NAME"
	}
	if name != "''" {
		words = append(words, name)
	}
	return strings.Join(append(words, "--reason", "WHY"), " ")
}
