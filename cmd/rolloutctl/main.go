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
	"syscall"
	_ "time/tzdata" // --tz works on machines without zones
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
