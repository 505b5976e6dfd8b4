// Command rolloutd carries rollouts on and serves their API.
//
// Without any setting it keeps its journal, flags and tokens in ./var and
// listens on loopback. "rolloutd demo" shows the main job on a simulated fleet.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // windows name zones, and a container may have no files of them

	"github.com/alecthomas/kong"
)

// commands is the whole command line.
type commands struct {
	Serve   serveCommand   `cmd:"" default:"withargs" help:"Carry rollouts on and serve the API."`
	Demo    demoCommand    `cmd:"" help:"Show a healthy rollout and a bad one, on a simulated fleet, in under a minute."`
	Init    initCommand    `cmd:"" help:"Make the data folder and the first token, and print it once."`
	Token   tokenCommand   `cmd:"" help:"Make a token, list them, take one away."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

func main() {
	var c commands
	k := kong.Parse(&c, kong.Description("Carries rollouts on and serves their API."), kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	k.BindTo(ctx, (*context.Context)(nil))
	k.Bind(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	err := k.Run()
	stop()
	k.FatalIfErrorf(err)
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(k *kong.Kong) error {
	_, err := fmt.Fprintln(k.Stdout, version())
	return err
}

// version is that of the module, as the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
