package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// console is rolloutctl as a process on a real terminal, and a server that
// counts what it is asked to change.
type console struct {
	t       *testing.T
	tty     *os.File
	cmd     *exec.Cmd
	screen  bytes.Buffer // all that was shown so far
	changes *atomic.Int32
}

func newConsole(t *testing.T, phase rollout.Phase, args ...string) *console {
	t.Helper()
	c := &console{t: t, changes: new(atomic.Int32)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any = at(phase, 25)
		switch {
		case r.Method != http.MethodGet:
			c.changes.Add(1)
		case strings.HasSuffix(r.URL.Path, "/whoami"):
			body = map[string]string{"name": "ann"}
		case strings.HasSuffix(r.URL.Path, "/gates"):
			body = map[string]any{}
		}
		w.Header().Set("Date", noon.Format(http.TimeFormat))
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.CommandContext(t.Context(), self)
	c.cmd.Args = append([]string{"rolloutctl"}, args...) // by this name the test binary is rolloutctl
	c.cmd.Env = append(os.Environ(), "ROLLOUT_URL="+server.URL, "ROLLOUT_TOKEN=cut_x", "XDG_CONFIG_HOME="+t.TempDir(), "LC_ALL=C.UTF-8", "TERM=xterm")
	if c.tty, err = pty.StartWithSize(c.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.tty.Close() })
	return c
}

// shows reads until a text is on the terminal.
func (c *console) shows(text string) {
	c.t.Helper()
	part := make([]byte, 4096)
	for !strings.Contains(c.screen.String(), text) {
		n, err := c.tty.Read(part)
		c.screen.Write(part[:n])
		if err != nil {
			c.t.Fatalf("the terminal never shows %q; it shows:\n%s", text, c.screen.String())
		}
	}
}

func (c *console) types(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.tty, keys); err != nil {
		c.t.Fatal(err)
	}
}

// ends reads what is left, and returns the exit code.
func (c *console) ends() int {
	c.t.Helper()
	_, _ = io.Copy(&c.screen, c.tty) // ends with an error where the other side has gone
	err := c.cmd.Wait()
	if end, ok := errors.AsType[*exec.ExitError](err); ok {
		return end.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	return 0
}

func TestCtrlCAtAQuestionDoesNothing(t *testing.T) {
	for _, tt := range []struct {
		phase rollout.Phase
		verb  string
		asks  string
	}{
		{rollout.Baking, "rollback", "Roll back now? [Y/n]"},
		{rollout.RolledBack, "retry", "Retry? Type orders-db to go on:"},
	} {
		c := newConsole(t, tt.phase, tt.verb, "orders-db")
		c.shows(tt.asks)
		c.types("\x03")
		if code := c.ends(); code != exitInterrupted || c.changes.Load() != 0 || !strings.Contains(c.screen.String(), "error: interrupted; nothing was done") {
			t.Errorf("%s ended with %d after %d changes, and said:\n%s", tt.verb, code, c.changes.Load(), c.screen.String())
		}
	}
}

func TestATokenThatIsTypedIsNotShown(t *testing.T) {
	c := newConsole(t, rollout.Baking, "login")
	c.shows("(it is not shown):")
	c.types("cut_secret\n")
	if code := c.ends(); code != exitDone || strings.Contains(c.screen.String(), "secret") || !strings.Contains(c.screen.String(), "as ann") {
		t.Errorf("ended with %d, and showed:\n%s", code, c.screen.String())
	}
}

func TestCtrlCAtTheTokenKeepsNothing(t *testing.T) {
	c := newConsole(t, rollout.Baking, "login")
	c.shows("(it is not shown):")
	c.types("cut_sec\x03")
	if code := c.ends(); code != exitInterrupted || !strings.Contains(c.screen.String(), "interrupted; nothing was done") {
		t.Errorf("ended with %d, and showed:\n%s", code, c.screen.String())
	}
}

func TestOnARealTerminalAStatusIsDrawnInPlaceUntilCtrlC(t *testing.T) {
	c := newConsole(t, rollout.Baking, "status", "orders-db", "-w", "--every", "300ms")
	c.shows("Ctrl-C stops watching; the rollout goes on")
	c.shows("A\r\x1b[2K") // up over the frame before
	c.types("\x03")
	if code := c.ends(); code != exitInterrupted || !strings.Contains(c.screen.String(), "stopped watching; orders-db goes on") {
		t.Errorf("ended with %d, and showed:\n%s", code, c.screen.String())
	}
	if strings.Contains(c.screen.String(), "\x1b[?1049h") {
		t.Error("the last frame is gone with the alternate screen")
	}
}

// typist answers questions as a person would, without a terminal.
type typist struct {
	bytes.Buffer
	asked func(text string)
}

func (p *typist) Write(text []byte) (int, error) {
	n, err := p.Buffer.Write(text)
	if p.asked != nil {
		p.asked(string(text))
	}
	return n, err
}

func TestAQuestionIsAnsweredByAFlagAPersonOrNobody(t *testing.T) {
	const name = "orders-db"
	for _, tt := range []struct {
		level  level
		o      Options
		person bool   // somebody can be asked
		types  string // what he types
		want   string // the error; empty: go ahead
	}{
		{level: askNothing},
		{level: askNothing, person: true},
		{level: askLightly},
		{level: askLightly, o: Options{NoInput: true}, person: true},
		{level: askLightly, person: true, types: "\n"},
		{level: askLightly, person: true, types: "Y\n"},
		{level: askLightly, person: true, types: "n\n", want: "not confirmed"},
		{level: askLightly, person: true, types: "what?\n", want: "not confirmed"},
		{level: askLightly, person: true, types: "", want: "not answered"},
		{level: askYes, want: "there is no terminal"},
		{level: askYes, o: Options{NoInput: true}, person: true, types: "y\n", want: "--no-input is given"},
		{level: askYes, o: Options{Yes: true}},
		{level: askYes, o: Options{Confirm: name}},
		{level: askYes, o: Options{Confirm: "carts-db"}, want: "there is no terminal"},
		{level: askYes, person: true, types: "yes\n"},
		{level: askYes, person: true, types: "y"},
		{level: askYes, person: true, types: "\n", want: "not confirmed"},
		{level: askYes, person: true, types: "", want: "not answered"},
		{level: askName, want: "there is no terminal"},
		{level: askName, o: Options{Yes: true}, want: "there is no terminal"},
		{level: askName, o: Options{Confirm: name}},
		{level: askName, o: Options{Confirm: "carts-db"}, person: true, types: name + "\n", want: "the name is orders-db"},
		{level: askName, person: true, types: name + "\n"},
		{level: askName, person: true, types: "y\n", want: "not confirmed"},
		{level: askName, person: true, types: "orders\n", want: "not confirmed"},
	} {
		var shown bytes.Buffer
		s := &session{Options: tt.o, streams: streams{in: strings.NewReader(tt.types)}, errors: screen{signs: unicodeSigns()}}
		if tt.person {
			s.prompt = &shown
		}
		err := s.confirm(t.Context(), question{level: tt.level, name: name, text: "Go on?", says: []string{"it moves"}})
		if said := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.Contains(said, tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
		if asked := strings.Contains(shown.String(), "it moves"); asked != (tt.person && tt.types != "" && !tt.o.NoInput && tt.o.Confirm == "") && tt.want != "not answered" {
			t.Errorf("%+v: asked is %v", tt, asked)
		}
	}
}

func TestAPersonIsToldOfAnInterruptAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reader, _ := io.Pipe() // nobody ever types
	p := &typist{asked: func(text string) {
		if strings.Contains(text, "Why?") {
			cancel()
		}
	}}
	s := &session{streams: streams{in: reader, prompt: p}, errors: screen{signs: unicodeSigns()}}
	_, err := s.ask(ctx, "Why?")
	if exitCode(err) != exitInterrupted {
		t.Errorf("it ended with %v", err)
	}
}
