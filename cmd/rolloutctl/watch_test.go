package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// terminal is a session on a terminal of a size.
func terminal(out *bytes.Buffer, width, height int) *session {
	s := &session{streams: streams{out: out}, clock: &clock{}, zone: time.UTC, screen: screen{signs: unicodeSigns(), terminal: true}}
	s.screen.size = func() (int, int) { return width, height }
	return s
}

func TestOnATerminalEachFrameIsDrawnOverTheOneBefore(t *testing.T) {
	for _, size := range [][2]int{{200, 60}, {80, 24}, {40, 10}, {20, 3}} {
		width, height := size[0], size[1]
		var out bytes.Buffer
		d := &drawing{read: time.Now(), session: terminal(&out, width, height)}
		d.status(t.Context(), at(rollout.Baking, 25))
		first := out.String()
		if strings.Contains(first, "A\r") {
			t.Errorf("%v: the first frame moves up over what is not its own", size)
		}
		drawn := strings.Count(first, "\n")
		if drawn >= height {
			t.Errorf("%v: %d lines scroll the screen", size, drawn)
		}
		for line := range strings.Lines(first) {
			text := strings.TrimSuffix(strings.TrimPrefix(line, "\r\x1b[2K"), "\n")
			if n := utf8.RuneCountInString(strings.TrimSuffix(text, "\x1b[J")); n >= width && n > 3 {
				t.Errorf("%v: a line of %d wraps: %q", size, n, text)
			}
		}
		out.Reset()
		d.status(t.Context(), at(rollout.Waiting, 25))
		if !strings.HasPrefix(out.String(), fmt.Sprintf("\x1b[%dA\r\x1b[2K", drawn)) {
			t.Errorf("%v: the second frame of %d lines begins with %.20q", size, drawn, out.String())
		}
		if !strings.HasSuffix(out.String(), "\x1b[J") {
			t.Errorf("%v: lines of a longer frame stay below", size)
		}
	}
}

func TestALowTerminalShowsWhatIsWaitedForAndWhatToDo(t *testing.T) {
	var out bytes.Buffer
	d := &drawing{read: time.Now(), session: terminal(&out, 100, 24)}
	d.status(t.Context(), pages()["waiting"])
	for _, want := range []string{"waiting", "0 of 1 approvals", "no point since 03:08", "next: rolloutctl approve orders-db", "rolloutctl rollback orders-db", "✔10%  ●25%   ○50%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("24 lines do not show %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "more line") {
		t.Errorf("24 lines do not do:\n%s", out.String())
	}
}

func TestAServerThatFallsSilentIsSaidOverTheLastFrame(t *testing.T) {
	var out bytes.Buffer
	d := &drawing{read: time.Now(), session: terminal(&out, 100, 60)}
	d.status(t.Context(), at(rollout.Baking, 25))
	out.Reset()
	d.silent(errors.New("connection refused"), 34*time.Second)
	if !strings.Contains(out.String(), "▲ no answer for 34s, asking again: connection refused") || !strings.Contains(out.String(), "orders-db  ● baking") {
		t.Errorf("shown:\n%s", out.String())
	}
}

func TestWithoutATerminalThereIsALineForEachChangeOnly(t *testing.T) {
	var out bytes.Buffer
	l := &lines{session: &session{clock: &clock{}, zone: time.UTC}, print: func(text ...string) { fmt.Fprintln(&out, strings.Join(text, "\n")) }}
	same := at(rollout.Baking, 25)
	l.status(t.Context(), same)
	same.Bake += time.Second // time goes by: no change
	same.Looked = same.Looked.Add(time.Second)
	l.status(t.Context(), same)
	l.silent(errors.New("refused"), time.Second)
	l.silent(errors.New("refused"), 2*time.Second)
	l.status(t.Context(), same)
	l.status(t.Context(), pages()["held"])
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		"orders-db state=baking reads=25/25/25 writes=0/0/0 gates=2/3 rev=48",
		"no answer, asking again: refused",
		"orders-db state=baking reads=25/25/25 writes=0/0/0 gates=2/3 rev=48",
		"orders-db state=held reads=25/25/25 writes=0/0/0 gates=2/3 hold=person hold=not_converged rev=48",
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines:\n%s", len(got), out.String())
	}
	for i := range want {
		at, text, _ := strings.Cut(got[i], " ")
		if _, err := time.Parse(time.RFC3339, at); err != nil || text != want[i] {
			t.Errorf("line %d: %q, want %q", i, got[i], want[i])
		}
	}
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	var out bytes.Buffer
	s := screen{signs: unicodeSigns(), coloured: true}
	s.print(&out, []string{"✖ stuck"})
	if out.String() != "\x1b[31m✖\x1b[0m stuck\n" {
		t.Errorf("coloured: %q", out.String())
	}
	for _, env := range []map[string]string{
		{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"TERM": "dumb"}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": "C"},
	} {
		t.Run(fmt.Sprint(env), func(t *testing.T) {
			for name, value := range env {
				t.Setenv(name, value)
			}
			if s := newScreen(&out, &Options{}); !s.ascii || s.coloured || s.terminal {
				t.Errorf("screen %+v", s)
			}
		})
	}
}

func TestAListPutsWhatNeedsAPersonFirst(t *testing.T) {
	approval := []rollout.Wait{{Kind: rollout.WaitApproval}}
	order := []rollout.State{
		{Phase: rollout.Stuck}, {Phase: rollout.RollingBack}, {Phase: rollout.Baking}, {Phase: rollout.Draft}, {Phase: rollout.Completed},
	}
	for i := 1; i < len(order); i++ {
		if urgency(&order[i-1]) >= urgency(&order[i]) {
			t.Errorf("%s is not before %s", order[i-1].Phase, order[i].Phase)
		}
	}
	for _, s := range []rollout.State{
		{Phase: rollout.Held}, {Phase: rollout.RolledBack}, {Phase: rollout.Waiting, Waits: approval}, {Phase: rollout.Ready, Waits: approval},
	} {
		if urgency(&s) != needsPerson {
			t.Errorf("%s does not need a person", s.Phase)
		}
	}
	if s := (rollout.State{Phase: rollout.Advancing, Waits: approval}); urgency(&s) == needsPerson {
		t.Error("an approval that was given is asked for again")
	}
}

func TestSpansAndMoments(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 250 * time.Millisecond: "250ms", 44 * time.Second: "44s", 6*time.Minute + 12*time.Second: "6m12s",
		15 * time.Minute: "15m", time.Hour + 52*time.Minute: "1h52m", 24 * time.Hour: "1d", 76 * time.Hour: "3d4h",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %s, want %s", d, got, want)
		}
	}
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at   time.Time
		zone *time.Location
		want string
	}{
		{noon, time.UTC, "03:16:30 UTC"},
		{noon, tokyo, "12:16:30 JST"},
		{noon.Add(-4 * time.Hour), time.UTC, "2026-11-29 23:16:30 UTC"},
		{noon.Add(-4 * time.Hour), tokyo, "08:16:30 JST"},
		{time.Time{}, time.UTC, "never"},
	} {
		if got := moment(tt.at, noon, tt.zone); got != tt.want {
			t.Errorf("moment(%v) = %s, want %s", tt.at, got, tt.want)
		}
	}
}

func TestColourIsWhatTheFlagThenTheEnvironmentThenTheOutputSays(t *testing.T) {
	for _, tt := range []struct {
		flag     string
		env      map[string]string
		terminal bool
		want     bool
	}{
		{flag: "auto", terminal: true, want: true},
		{flag: "auto"},
		{flag: "never", terminal: true},
		{flag: "always", want: true},
		{flag: "always", env: map[string]string{"NO_COLOR": "1"}, want: true},
		{flag: "auto", env: map[string]string{"NO_COLOR": "1"}, terminal: true},
		{flag: "auto", env: map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, terminal: true},
		{flag: "auto", env: map[string]string{"CLICOLOR": "0"}, terminal: true},
		{flag: "auto", env: map[string]string{"CLICOLOR_FORCE": "1"}, want: true},
		{flag: "auto", env: map[string]string{"CLICOLOR_FORCE": "0"}},
	} {
		for _, name := range []string{"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"} {
			t.Setenv(name, tt.env[name])
		}
		if got := coloured(tt.flag, tt.terminal); got != tt.want {
			t.Errorf("%+v: coloured is %v", tt, got)
		}
	}
}
