package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script, each in a folder of its own.
func TestScripts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv(asProcess, "rolloutd")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rolloutd": func(ts *testscript.TestScript, fails bool, args []string) {
				if err := ts.Exec(self, args...); (err != nil) != fails {
					ts.Fatalf("rolloutd %q: %v", args, err)
				}
			},
		},
	})
}
