package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type preflightCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
	Now  bool   `name:"run" help:"Run it now; it starts nothing and changes nothing."`
}

// Run shows what a preflight found.
func (c *preflightCmd) Run(ctx context.Context, s *session) error {
	if strings.HasSuffix(c.Name, ".yaml") || strings.HasSuffix(c.Name, ".yml") {
		return usageError{
			text: c.Name + ": is a file; a preflight is of a rollout, as it needs flags, tasks and metrics to look at",
			next: "rolloutctl plan apply " + quoted(c.Name) + "   # starts nothing; then preflight NAME --run",
		}
	}
	s.name = c.Name
	look := s.api.LastPreflight
	if c.Now {
		look = s.api.Preflight
	}
	report, err := look(ctx, c.Name)
	switch {
	case err != nil:
		return err
	case report == nil:
		return failure{
			code: exitNotFound, text: c.Name + " has had no preflight yet",
			lines: []string{"next: rolloutctl preflight " + c.Name + " --run"},
		}
	case s.json():
		err = s.encode(map[string]*rollout.Report{"report": report})
	default:
		s.print(s.report(c, report)...)
	}
	if err == nil && !report.Passed() {
		return ended(exitRefused)
	}
	return err
}

// report are the checks; below each that failed, what mends it.
func (s *session) report(c *preflightCmd, r *rollout.Report) []string {
	p := s.page(&rollout.Status{})
	n := map[string]int{}
	rows := [][]string{{"", "", "", ""}}
	for _, check := range r.Checks {
		n[check.Result]++
		rows = append(rows, p.check(check))
	}
	lines := []string{fmt.Sprintf("PREFLIGHT %s: %d passed, %s, %d failed", c.Name, n[rollout.CheckPass], count(n[rollout.CheckWarn], "warning", "warnings"), n[rollout.CheckFail])}
	for i, line := range table("  ", rows)[1:] {
		lines = append(lines, line)
		if check := &r.Checks[i]; check.Result == rollout.CheckFail {
			lines = append(lines, "      fix: "+fixOf(c.Name, check))
		}
	}
	switch {
	case !r.Passed():
		return append(lines, "next: rolloutctl preflight "+c.Name+" --run   # once it is mended; start runs it, too")
	case c.Now:
		return append(lines, "nothing was started; start runs it anew")
	default:
		return lines
	}
}

// fixOf says what mends a check that failed.
func fixOf(name string, c *rollout.Check) string {
	kind, subject, _ := strings.Cut(c.Name, " ")
	switch kind {
	case "flag":
		if strings.Contains(c.Why, "cannot be used") {
			return "make the flag with one rule, or let the server's token read and write it; rolloutctl doctor says what is missing"
		}
		share := "SHARE"
		if at := regexp.MustCompile(` is at (\d+)%`).FindStringSubmatch(c.Why); at != nil {
			share = at[1]
		}
		return fmt.Sprintf("set it to 0%%; or take it over: rolloutctl adopt %s --at %s:%s", name, subject, share)
	case "tasks":
		return fmt.Sprintf("have tasks report, and do as their flag says; rolloutctl tasks %s --lane %s --behind names them", name, subject)
	case "gate":
		if action, _, found := strings.Cut(c.Why, " is refused"); found {
			if at := strings.LastIndex(action, " "); at >= 0 {
				action = action[at+1:]
			}
			return "allow " + action + " to the server's role"
		}
		if strings.Contains(c.Why, "in breach") {
			return fmt.Sprintf("wait until it is within its limit; rolloutctl gates %s --gate %s shows it", name, subject)
		}
		return fmt.Sprintf("mend the metric, or the gate in the plan; rolloutctl gates %s --gate %s shows it", name, subject)
	default:
		return "mend it, and run it again"
	}
}
