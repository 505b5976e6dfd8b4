package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rolloutctl": main})
}

// TestScripts runs testdata/script: each talks to a server of its own, with the
// real controller and journal behind it.
func TestScripts(t *testing.T) {
	ctx := t.Context()
	cmds := worldCommands(ctx)
	maps.Copy(cmds, wallCommands(ctx))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			h, err := build(ctx, env)
			env.Values["house"] = h
			env.Setenv("LC_ALL", "C.UTF-8")
			if err != nil {
				return err
			}
			plan, err := os.ReadFile("testdata/orders-db.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(env.WorkDir+"/orders-db.yaml", plan, 0o600)
		},
		Cmds: cmds,
	})
}

// worldCommands are what a script may do to the world that its programs are in.
func worldCommands(ctx context.Context) map[string]func(*testscript.TestScript, bool, []string) {
	at := func(ts *testscript.TestScript) *house { return ts.Value("house").(*house) }
	number := func(ts *testscript.TestScript, text string) int {
		n, err := strconv.Atoi(text)
		ts.Check(err)
		return n
	}
	return map[string]func(*testscript.TestScript, bool, []string){
		// pass 30s: time goes by.
		"pass": func(ts *testscript.TestScript, _ bool, args []string) {
			d, err := time.ParseDuration(args[0])
			ts.Check(err)
			for range int(d / time.Second) {
				ts.Check(at(ts).second(ctx))
			}
		},
		// measure 400: what borrow-wait measures from now on, in ms.
		"measure": func(ts *testscript.TestScript, _ bool, args []string) { at(ts).waiting = float64(number(ts, args[0])) },
		// as viewer: whose token is sent from now on.
		"as": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Setenv("ROLLOUT_TOKEN", ts.Getenv(strings.ToUpper(args[0])))
		},
		// offline: nobody answers any more.
		"offline": func(ts *testscript.TestScript, _ bool, _ []string) { ts.Setenv("ROLLOUT_URL", "http://127.0.0.1:1") },
		// deaf: commands are obeyed without an answer, until it hears.
		"deaf":  func(ts *testscript.TestScript, _ bool, _ []string) { at(ts).deaf.Store(true) },
		"hears": func(ts *testscript.TestScript, _ bool, _ []string) { at(ts).deaf.Store(false) },
		// hand orders-db-reads 25: another hand sets a flag.
		"hand": func(ts *testscript.TestScript, _ bool, args []string) {
			at(ts).flags.Put(flags.Key{Namespace: "default", Name: args[0]}, flags.Share(number(ts, args[1])))
		},
		// cling 3: so many tasks stay on the target once they are there.
		"cling": func(ts *testscript.TestScript, _ bool, args []string) { at(ts).clinging = number(ts, args[0]) },
		// lag 3: so many tasks stay on the source.
		"lag": func(ts *testscript.TestScript, _ bool, args []string) { at(ts).lagging = number(ts, args[0]) },
		// started, given: somebody has begun an attempt, or given the go.
		"started": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Check(at(ts).comesTo(ctx, func(s *rollout.State) bool { return s.Phase == rollout.Preflight || s.Phase == rollout.Ready }))
		},
		"given": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Check(at(ts).comesTo(ctx, func(s *rollout.State) bool { return s.Go }))
		},
		// lowered: a rollback has been obeyed.
		"lowered": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Check(at(ts).comesTo(ctx, func(s *rollout.State) bool { return s.Phase.Lowering() }))
		},
		// mode 0600 FILE: who may read a file.
		"mode": func(ts *testscript.TestScript, _ bool, args []string) {
			info, err := os.Stat(ts.MkAbs(args[1]))
			ts.Check(err)
			if mode := fmt.Sprintf("%04o", info.Mode().Perm()); mode != args[0] {
				ts.Fatalf("%s has the mode %s, want %s", args[1], mode, args[0])
			}
		},
		// watched: whoever watches has seen what is now.
		"watched": func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(at(ts).watched(ctx)) },
		// put FILE TEXT: a file with one line.
		"put": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+"\n"), 0o600))
		},
		// exits 3 rolloutctl …: runs a program that must end so.
		"exits": func(ts *testscript.TestScript, _ bool, args []string) {
			err := ts.Exec(args[1], args[2:]...)
			code := 0
			if end, ok := errors.AsType[*exec.ExitError](err); ok {
				code = end.ExitCode()
			} else {
				ts.Check(err)
			}
			if want := number(ts, args[0]); code != want {
				ts.Fatalf("%v ended with %d, want %d", args[1:], code, want)
			}
		},
	}
}
