// Command rolloutctl is the operator's command line.
//
// It speaks to the API only, by package client; what it does offline (checking a
// plan file, replaying gate scenarios) it does with the packages that the server
// uses. It decides nothing: it says what is, why, and what can be done next.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // --tz works on machines without zones
)

func main() {
	forgetEmpty()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], ownStreams())
	stop()
	os.Exit(code)
}

// forgetEmpty has a variable that is set to nothing mean the same as none.
func forgetEmpty() {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" && strings.HasPrefix(name, "ROLLOUT_") {
			_ = os.Unsetenv(name) // a name that the environment has is a good one
		}
	}
}
