package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// wallCommands are for scripts of what goes by the clock on the wall, and not by
// the world's; and for those of programs that go on.
func wallCommands(ctx context.Context) map[string]func(*testscript.TestScript, bool, []string) {
	at := func(ts *testscript.TestScript) *house { return ts.Value("house").(*house) }
	return map[string]func(*testscript.TestScript, bool, []string){
		// today: the world's time is that on the wall.
		"today": func(ts *testscript.TestScript, _ bool, _ []string) { at(ts).today() },
		// jump 10m: so much time goes by, in which nobody looks.
		"jump": func(ts *testscript.TestScript, _ bool, args []string) {
			d, err := time.ParseDuration(args[0])
			ts.Check(err)
			at(ts).jump(d)
		},
		// later VARIABLE 4h: what a moment so long from now is called.
		"later": func(ts *testscript.TestScript, _ bool, args []string) {
			d, err := time.ParseDuration(args[1])
			ts.Check(err)
			ts.Setenv(args[0], moment(at(ts).now().Add(d), at(ts).now(), time.UTC))
		},
		// forbid WHY: the source of metrics refuses, in these words, to be read.
		"forbid": func(ts *testscript.TestScript, _ bool, args []string) { at(ts).forbid(ctx, args[0]) },
		// appears FILE TEXT: returns once a file that a program writes has a text.
		"appears": func(ts *testscript.TestScript, _ bool, args []string) {
			ticks := time.NewTicker(5 * time.Millisecond)
			defer ticks.Stop()
			for {
				text, err := os.ReadFile(ts.MkAbs(args[0]))
				if err == nil && strings.Contains(string(text), args[1]) {
					return
				}
				select {
				case <-ticks.C:
				case <-ctx.Done():
					ts.Fatalf("%s never had %q: %s", args[0], args[1], text)
				}
			}
		},
	}
}

// today sets the world's time to that on the wall.
func (h *house) today() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time = time.Now().UTC().Truncate(time.Second)
}

// forbid lets a second pass in which metrics are refused.
func (h *house) forbid(ctx context.Context, why string) {
	h.jump(time.Second)
	h.metrics.Tell("BorrowWait", gates.Series{Cause: gates.Forbidden, Note: why})
	h.look(ctx)
}

// jump lets time pass, and nothing else.
func (h *house) jump(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time = h.time.Add(d)
}
