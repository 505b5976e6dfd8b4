package main

import (
	"context"
	"fmt"
	"slices"
)

// doctorCmd finds out, before the bad day, what would fail on it.
type doctorCmd struct {
	glassOptions

	JournalFile string `env:"ROLLOUT_JOURNAL_FILE" placeholder:"FILE" help:"rolloutd's file with mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE: look whether that user may do what the journal needs."`
}

func (*doctorCmd) offline() {}

// Help is said before the flags.
func (*doctorCmd) Help() string {
	return `Looks in this order: at this machine's configuration and token; at the server, its clock, your rights, its journal,
its controller, its metrics and its flag store; and, where the flag store is named (--flipt or --embedded), at the way that
break-glass would go, without the server. It changes nothing, and goes on where something fails.

Exit codes: 0 nothing has to be mended; 6 something has; 10 the server is away.`
}

// The outcomes of a look.
const (
	isWell   = "ok"
	isOdd    = "warn"
	isBad    = "fail"
	isUnseen = "unknown" // it could not be looked at
)

// diagnosis is what a look has shown, and what mends it.
type diagnosis struct {
	Name   string `json:"name"`
	Result string `json:"result"` // ok, warn, fail or unknown
	Why    string `json:"why"`
	Fix    string `json:"fix,omitempty"`
}

func well(name, format string, args ...any) diagnosis {
	return diagnosis{Name: name, Result: isWell, Why: fmt.Sprintf(format, args...)}
}

func odd(name, fix, format string, args ...any) diagnosis {
	return diagnosis{Name: name, Result: isOdd, Why: fmt.Sprintf(format, args...), Fix: fix}
}

func bad(name, fix, format string, args ...any) diagnosis {
	return diagnosis{Name: name, Result: isBad, Why: fmt.Sprintf(format, args...), Fix: fix}
}

// Run looks at everything.
func (c *doctorCmd) Run(ctx context.Context, s *session) error {
	e := &examination{session: s}
	e.configuration()
	e.server(ctx)
	if c.Flipt != "" || c.Embedded != "" {
		e.breakGlass(ctx, c.glassOptions)
	} else {
		e.add(diagnosis{Name: "break-glass", Result: isUnseen, Why: "nobody has said where the flag store is", Fix: "rolloutctl doctor --flipt URL --flipt-token-file FILE, or --embedded FILE"})
	}
	if c.JournalFile != "" {
		e.grants(ctx, c.JournalFile)
	}
	return e.end()
}

// examination is all that was found so far.
type examination struct {
	*session
	found []diagnosis
	away  bool // the server does not answer
}

func (e *examination) add(d ...diagnosis) { e.found = append(e.found, d...) }

// unseen adds what could not be looked at, and why.
func (e *examination) unseen(why string, names ...string) {
	for _, name := range names {
		e.add(diagnosis{Name: name, Result: isUnseen, Why: why})
	}
}

// end tells what was found.
func (e *examination) end() error {
	n := map[string]int{}
	for i := range e.found {
		n[e.found[i].Result]++
	}
	if e.json() {
		if err := e.encode(map[string][]diagnosis{"checks": e.found}); err != nil {
			return err
		}
	} else {
		e.print(e.lines(n)...)
	}
	switch {
	case e.away:
		return ended(exitNoAnswer)
	case n[isBad] > 0:
		return ended(exitRefused)
	default:
		return nil
	}
}

func (e *examination) lines(n map[string]int) []string {
	signs := map[string]string{isWell: e.screen.ok, isOdd: e.screen.near, isBad: e.screen.bad, isUnseen: e.screen.unknown}
	rows := [][]string{{"", "", "", ""}}
	for i := range e.found {
		d := &e.found[i]
		rows = append(rows, []string{signs[d.Result], d.Result, d.Name, d.Why})
	}
	var lines []string
	for i, line := range table("", rows)[1:] {
		lines = append(lines, line)
		if fix := e.found[i].Fix; fix != "" {
			lines = append(lines, "    fix: "+fix)
		}
	}
	return slices.Concat(lines, []string{fmt.Sprintf("%d ok, %s, %d to mend, %d unknown", n[isWell], count(n[isOdd], "warning", "warnings"), n[isBad], n[isUnseen])})
}

// breakGlass looks at the way that is left when nothing else is.
func (e *examination) breakGlass(ctx context.Context, o glassOptions) {
	for _, f := range e.checkGlass(ctx, o) {
		d := diagnosis{Name: "break-glass: " + f.Name, Result: isWell, Why: f.Why, Fix: f.Fix}
		if !f.OK {
			d.Result = isBad
		}
		e.add(d)
	}
}
