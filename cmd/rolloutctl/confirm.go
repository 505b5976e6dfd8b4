package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// level is how much a command asks before it acts.
type level int

const (
	// askNothing: what only looks, or keeps things as they are.
	askNothing level = iota

	// askLightly: on a terminal, Enter means yes. Without one it goes ahead, as
	// what lowers must never fail for a missing flag.
	askLightly

	// askYes: a y, or --yes.
	askYes

	// askName: the rollout's name, typed, or by --confirm.
	askName
)

// question is what is asked before something changes.
type question struct {
	level level
	name  string   // that is typed where the level wants it
	text  string   // such as "Advance to reads 50%?"
	says  []string // first: what moves, how many tasks, what a rollback would do
	rev   uint64   // of the state that this was said of; 0 if there is none
}

// confirm asks, where it is due and has not been answered by a flag. An error
// means that nothing may be done.
//
// A person is asked on the terminal, after what will be. Where nobody can be
// asked, it says at once which flag is missing.
func (s *session) confirm(ctx context.Context, q question) error {
	if s.Confirm != "" && q.level == askName && s.Confirm != q.name {
		return usageError{text: fmt.Sprintf("--confirm %s: the name is %s; nothing was done", s.Confirm, q.name)}
	}
	switch {
	case q.level == askNothing,
		q.level == askName && s.Confirm == q.name && q.name != "",
		q.level < askName && (s.Yes || s.Confirm != "" && s.Confirm == q.name),
		q.level == askLightly && !s.canAsk():
		return nil
	case !s.canAsk():
		return s.unasked(q)
	}
	s.talk(q.says...)
	hint := map[level]string{askLightly: "[Y/n]", askYes: "[y/N]", askName: "Type " + q.name + " to go on:"}[q.level]
	answer, err := s.ask(ctx, q.text+" "+hint+" ")
	switch {
	case err != nil:
		return err
	case q.level == askName && answer == q.name,
		q.level < askName && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")),
		q.level == askLightly && answer == "":
		return nil
	default:
		return errors.New("not confirmed; nothing was done")
	}
}

// unasked says which flag answers in the place of a person.
func (s *session) unasked(q question) error {
	why := "there is no terminal"
	if s.NoInput {
		why = "--no-input is given"
	}
	flag := "--yes"
	if q.level == askName {
		flag = "--confirm " + q.name
	}
	u := usageError{text: fmt.Sprintf("this asks for a confirmation, and %s; nothing was done", why), hint: "add " + flag}
	if q.rev > 0 && s.ExpectRev == 0 {
		u.hint += fmt.Sprintf(", and --expect-rev %d so that it acts only on the state you looked at", q.rev)
	}
	return u
}

// streams are where a run reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	prompt   io.Writer // where a person is asked; nil where nobody can be
}

// ownStreams are those of the process. A person can be asked if stdin is a
// terminal: on stderr, or on the terminal itself where stderr goes elsewhere.
func ownStreams() streams {
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return s
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		s.prompt = os.Stderr
	} else if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		s.prompt = tty // open until the process ends
	}
	return s
}

// canAsk reports whether a person can be asked.
func (s *session) canAsk() bool { return s.prompt != nil && !s.NoInput }

// talk writes lines to where a person is asked.
func (s *session) talk(lines ...string) { s.errors.print(s.prompt, lines) }

// ask asks a person for a line. Ctrl-C while it asks means that nothing is done.
func (s *session) ask(ctx context.Context, prompt string) (string, error) {
	return s.answer(ctx, prompt, func() (string, error) {
		if s.lines == nil {
			s.lines = bufio.NewReader(s.in)
		}
		line, err := s.lines.ReadString('\n')
		if line != "" && errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	})
}

// askSecret asks a person for a line that is not shown. The terminal stops
// showing what is typed before it asks.
func (s *session) askSecret(ctx context.Context, prompt string) (string, error) {
	file, ok := s.in.(*os.File)
	if !ok {
		return s.ask(ctx, prompt)
	}
	before, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return "", fmt.Errorf("reading from the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(file.Fd()), before) }() // also when it was interrupted
	raw := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{file, s.prompt}, "")
	return s.answer(ctx, "", func() (string, error) {
		secret, err := raw.ReadPassword(s.errors.clean(prompt) + " ")
		if errors.Is(err, io.EOF) { // Ctrl-C does not interrupt here, but ends the input
			return "", failure{code: exitInterrupted, text: "interrupted; nothing was done"}
		}
		return secret, err
	})
}

// answer waits for a person, or for Ctrl-C. Whoever reads then reads on until
// the process ends, which is at once: a read of a terminal cannot be broken off.
func (s *session) answer(ctx context.Context, prompt string, read func() (string, error)) (string, error) {
	if prompt != "" {
		fmt.Fprint(s.prompt, s.errors.clean(prompt)+" ")
	}
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := read()
		answers <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		s.talk("")
		return "", failure{code: exitInterrupted, text: "interrupted; nothing was done"}
	case a := <-answers:
		if errors.Is(a.err, io.EOF) {
			s.talk("")
			return "", errors.New("not answered; nothing was done")
		}
		if a.err != nil {
			return "", fmt.Errorf("reading the answer: %w", a.err)
		}
		return strings.TrimSpace(a.line), nil
	}
}

// needReason asks for the reason where a command must have one.
func (s *session) needReason(ctx context.Context, prompt string) error {
	if s.Reason != "" {
		return nil
	}
	if s.canAsk() {
		reason, err := s.ask(ctx, prompt+": ")
		if err != nil {
			return err
		}
		s.Reason = reason
	}
	if s.Reason == "" {
		return usageError{text: "this needs a reason, which the others will read; nothing was done", hint: "add --reason TEXT"}
	}
	return nil
}
