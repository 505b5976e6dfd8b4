package main

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// cli is the command line.
type cli struct {
	Options

	List   listCmd   `cmd:"" help:"All rollouts; those that need a person first."`
	Status statusCmd `cmd:"" help:"One rollout: what is, why, what it waits for, what a rollback would do."`
	Events eventsCmd `cmd:"" help:"What came to pass, oldest first."`

	Plan struct {
		Validate planValidateCmd `cmd:"" help:"Check plan files, offline."`
		Apply    planApplyCmd    `cmd:"" help:"Store a plan file as a new version; nothing starts."`
	} `cmd:"" help:"Plan files."`

	Start    verbCmd `cmd:"" help:"Begin: preflight, then the first stage."`
	Advance  verbCmd `cmd:"" help:"Give the go for the next stage; skips no bake and no gate."`
	Approve  verbCmd `cmd:"" help:"Approve the next step on the evidence that is there."`
	Resume   verbCmd `cmd:"" help:"End the holds that wait for a person; shares stay, the bake begins anew."`
	Retry    verbCmd `cmd:"" help:"A new attempt after a rollback."`
	Complete verbCmd `cmd:"" help:"End a soaked rollout: the old path may go."`

	Hold        verbCmd     `cmd:"" help:"Keep shares where they are; automatic rollback stays on."`
	Rollback    rollbackCmd `cmd:"" help:"Take shares down: all lanes to 0%, or some with --to. Asks nothing."`
	Withdraw    verbCmd     `cmd:"" help:"Give up a rollout that is at 0%."`
	Acknowledge verbCmd     `cmd:"" help:"Take over a stuck rollback: you have made sure of it yourself."`
	Note        noteCmd     `cmd:"" help:"Put a remark into the journal."`

	Gate struct {
		Test gateTestCmd `cmd:"" help:"Replay a file of gate scenarios, offline."`
	} `cmd:"" help:"Gates."`
	Version versionCmd `cmd:"" help:"The versions of this program and of the server."`
}

const description = `Move a database's traffic from one endpoint to another, stage by stage.

Exit codes: 0 done, 1 error, 2 wrong use, 3 refused, 4 not found, 5 no answer from the server,
6 a gate scenario differs, 7 invalid plan, 8 not signed in or not allowed, 9 rolled back (status -w).`

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("rolloutctl"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(os.Exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
	if err != nil {
		panic("the grammar of the command line is wrong: " + err.Error()) // every test would show it
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		s, _ := newSession(c.Options, stdout, stderr) // of which only the output is used
		return fail(ctx, s, misuse(err))
	}
	s, err := newSession(c.Options, stdout, stderr)
	if err == nil {
		parsed.BindTo(ctx, (*context.Context)(nil))
		err = parsed.Run(s, parsed)
	}
	if err != nil {
		return fail(ctx, s, err)
	}
	return exitDone
}

// misuse explains a command line that cannot be understood.
func misuse(err error) error {
	text := err.Error()
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		if said, ok := foreignVerb(text); ok {
			return usageError{text: said, next: "rolloutctl --help"}
		}
		return usageError{text: text, next: parse.Context.Model.Name + " --help"}
	}
	return usageError{text: text, next: "rolloutctl --help"}
}

// version is what this program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

type versionCmd struct{}

// Run prints both versions; a server that is away is said, and no failure.
func (versionCmd) Run(ctx context.Context, s *session) error {
	server, err := s.api.Version(ctx)
	if s.json() {
		return s.encode(map[string]string{"rolloutctl": version(), "server": server, "url": s.URL})
	}
	s.print("rolloutctl  " + version())
	if err != nil {
		s.print("server      unknown: " + err.Error())
		return nil
	}
	s.print("server      " + server + " at " + s.URL)
	return nil
}

// verbCmd gives a command that needs nothing but a rollout's name. The verb is
// the name of the command.
type verbCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
}

// Run gives the command.
func (c *verbCmd) Run(ctx context.Context, s *session, k *kong.Context) error {
	return s.do(ctx, c.Name, rollout.Verb(k.Selected().Name), nil)
}

type rollbackCmd struct {
	Name string      `arg:"" help:"Name of the rollout."`
	To   []laneShare `placeholder:"LANE:SHARE" help:"Take only these lanes down, such as writes:0; may be repeated."`
}

// Run gives the command.
func (c *rollbackCmd) Run(ctx context.Context, s *session) error {
	var to []rollout.LaneShare
	for _, t := range c.To {
		to = append(to, rollout.LaneShare(t))
	}
	return s.do(ctx, c.Name, rollout.Rollback, to)
}

type noteCmd struct {
	Name string `arg:"" help:"Name of the rollout."`
	Text string `arg:"" optional:"" help:"The remark; or give it with --reason."`
}

// Run gives the command.
func (c *noteCmd) Run(ctx context.Context, s *session) error {
	if c.Text != "" {
		s.Reason = c.Text
	}
	return s.do(ctx, c.Name, rollout.Note, nil)
}
