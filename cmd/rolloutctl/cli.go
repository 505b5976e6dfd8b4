package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// cli is the command line. The group of a command is where --help and
// docs/rolloutctl.md put it, and groups has their order; asks is how it is
// confirmed, if at all.
type cli struct {
	Options

	List      listCmd      `cmd:"" group:"Look" help:"All rollouts; those that need a person first."`
	Status    statusCmd    `cmd:"" group:"Look" help:"One rollout: what is, why, what it waits for, what a rollback would do."`
	Approvals approvalsCmd `cmd:"" group:"Look" help:"What waits for approval, and the command that gives it."`
	Gates     gatesCmd     `cmd:"" group:"Look" help:"What each gate measures, and why it does not pass."`
	Tasks     tasksCmd     `cmd:"" group:"Look" help:"Where each task stands, and who does not do what the flag asks."`
	Events    eventsCmd    `cmd:"" group:"Look" help:"What came to pass, oldest first; with -f also what comes."`
	Audit     struct {
		Verify auditVerifyCmd `cmd:"" help:"Hold the journal, or an export of it, to its chain of hashes, and to what was kept elsewhere."`
		Export auditExportCmd `cmd:"" help:"Write the journal to a file that can be verified anywhere, and print its checkpoint."`
	} `cmd:"" group:"Look" help:"The journal's integrity."`

	Start    startCmd   `cmd:"" asks:"a y, or --yes" group:"Move forward" help:"Begin: preflight, then the first stage."`
	Adopt    adoptCmd   `cmd:"" asks:"a y, or --yes" group:"Move forward" help:"Take over flags that already have a share: changes no flag, starts held, then bakes fully."`
	Advance  advanceCmd `cmd:"" asks:"a y, or --yes; where writes move for the first time, the name, or --confirm NAME" group:"Move forward" help:"Give the go for the next stage; skips no stage, no bake and no gate."`
	Approve  stepCmd    `cmd:"" asks:"a y, or --yes; where writes move for the first time, the name, or --confirm NAME" group:"Move forward" help:"Approve what waits for it: the next step, the completion or an amendment."`
	Resume   resumeCmd  `cmd:"" asks:"a y, or --yes" group:"Move forward" help:"End the holds that wait for a person; shares stay, the bake begins anew."`
	Retry    startCmd   `cmd:"" asks:"the name, or --confirm NAME" group:"Move forward" help:"A new attempt after a rollback."`
	Complete verbCmd    `cmd:"" asks:"the name, or --confirm NAME" group:"Move forward" help:"End a soaked rollout: the old path may go, and there is no way back."`

	Hold        holdCmd       `cmd:"" group:"Stop and go back" help:"Keep shares where they are; automatic rollback stays on."`
	Rollback    rollbackCmd   `cmd:"" asks:"on a terminal only, where Enter means yes" group:"Stop and go back" help:"Take shares down: all lanes to 0%, or some with --to. Needs no approval, no gate and no reason."`
	HoldAll     holdAllCmd    `cmd:"" asks:"a y, or --yes" group:"Stop and go back" help:"Hold every rollout, and block each step forward."`
	ReleaseAll  releaseAllCmd `cmd:"" asks:"a y, or --yes" group:"Stop and go back" help:"End a hold-all; two people must run it."`
	Acknowledge verbCmd       `cmd:"" asks:"a y, or --yes" group:"Stop and go back" help:"Take over a stuck rollback: you have made sure of it yourself."`
	Withdraw    verbCmd       `cmd:"" asks:"the name, or --confirm NAME; nothing while it is a draft" group:"Stop and go back" help:"Give up a rollout that is at 0%."`
	BreakGlass  breakGlassCmd `cmd:"" asks:"on a terminal only, where Enter means yes" group:"Stop and go back" help:"Set lanes to their safe value with nothing but the flag store, when all else is gone."`

	Freeze struct {
		Add  freezeAddCmd  `cmd:"" asks:"a y, or --yes" help:"Let nothing rise on a database for a while; a rollback is not touched."`
		List freezeListCmd `cmd:"" help:"What is frozen, and until when."`
		Lift freezeLiftCmd `cmd:"" asks:"a y, or --yes" help:"End a freeze."`
	} `cmd:"" group:"Prepare" help:"Freezes of databases."`
	Quiet struct {
		Say  quietSayCmd  `cmd:"" default:"withargs" help:"Say that a database is not quiet, or is again; a pipeline does so around a deploy. The word say may be left out."`
		List quietListCmd `cmd:"" help:"What disturbs which database."`
	} `cmd:"" group:"Prepare" help:"Whether databases are quiet."`
	Preflight preflightCmd `cmd:"" group:"Prepare" help:"What the last preflight found; --run runs it now, and starts nothing."`
	Plan      struct {
		Init     planInitCmd     `cmd:"" help:"Write a plan to begin with, with comments that say what to change."`
		Validate planValidateCmd `cmd:"" help:"Check plan files, offline."`
		Apply    planApplyCmd    `cmd:"" help:"Store a plan file as a new version; nothing starts."`
		Show     planShowCmd     `cmd:"" help:"The plan of a rollout, or a former version of it, as a plan file."`
		Versions planVersionsCmd `cmd:"" help:"The versions of a rollout's plan: by whom, when and why."`
		Diff     planDiffCmd     `cmd:"" help:"How plans differ, and what that means for what they guard."`
		Amend    planAmendCmd    `cmd:"" asks:"a y, or --yes" help:"Change the plan of a rollout that is held; what loosens it takes two people."`
		Import   planImportCmd   `cmd:"" help:"Write a plan from a flag that is in Flipt already."`
	} `cmd:"" group:"Prepare" help:"Plan files."`
	Gate struct {
		Test gateTestCmd `cmd:"" help:"Replay a file of gate scenarios, offline."`
	} `cmd:"" group:"Prepare" help:"Gates."`

	Reject   stepCmd     `cmd:"" group:"People" help:"Say no to what waits for approval, with a reason; the rollout is held."`
	Handover handoverCmd `cmd:"" group:"People" help:"Offer a rollout to another owner, who has to accept it."`
	Accept   acceptCmd   `cmd:"" group:"People" help:"Take a rollout that was offered to you."`
	Note     noteCmd     `cmd:"" group:"People" help:"Put a remark into the journal."`

	Wait waitCmd `cmd:"" group:"Wait" help:"Wait, in a pipeline, until a stage or a state is reached."`

	Login   loginCmd  `cmd:"" group:"Setup" help:"Sign in: a token, from stdin or typed unseen, is checked and kept in a profile."`
	Logout  logoutCmd `cmd:"" group:"Setup" help:"Forget the token of a profile."`
	Whoami  whoamiCmd `cmd:"" group:"Setup" help:"Who the server takes you for, and what you may do."`
	Profile struct {
		List profileListCmd `cmd:"" help:"The servers that you have signed in to."`
		Use  profileUseCmd  `cmd:"" help:"Take this one if none is named."`
	} `cmd:"" group:"Setup" help:"Servers, and who you are there."`
	Completion completionCmd `cmd:"" group:"Setup" help:"Print a script that completes commands, names and stages in a shell."`
	Candidates completeCmd   `cmd:"" name:"__complete" hidden:""`
	Token      struct {
		List   tokenListCmd   `cmd:"" help:"All tokens, without their secrets."`
		Make   tokenMakeCmd   `cmd:"" help:"Make a token; it is told once, alone on stdout."`
		Revoke tokenRevokeCmd `cmd:"" asks:"a y, or --yes" help:"Take a token away."`
	} `cmd:"" group:"Setup" help:"Tokens of people, programs and tasks."`
	Doctor  doctorCmd  `cmd:"" group:"Setup" help:"Look, before the bad day, at all that must work on it; changes nothing."`
	Version versionCmd `cmd:"" group:"Setup" help:"The versions of this program and of the server."`
}

// groups are the groups of commands, in their order.
func groups() []string {
	return []string{"Look", "Move forward", "Stop and go back", "Prepare", "People", "Wait", "Setup"}
}

// offline is a command that asks no server: it needs no URL and no token.
type offline interface{ offline() }

func description() string {
	var b strings.Builder
	b.WriteString("Move a database's traffic from one endpoint to another, stage by stage.\n\nExit codes:")
	for _, e := range exits() {
		fmt.Fprintf(&b, "\n%4d  %s", e.code, e.means)
	}
	return b.String()
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, args []string, to streams) int {
	var c cli
	parsed, err := parse(&c, args, to)
	if err != nil {
		s, _ := newSession(c.Options, args, to) // of which only the output is used
		return fail(ctx, s, misuse(err))
	}
	s, err := newSession(c.Options, args, to)
	if err == nil && !isOffline(parsed) {
		err = s.connect()
	}
	if err == nil {
		s.verb = rollout.Verb(parsed.Selected().Name)
		parsed.BindTo(ctx, (*context.Context)(nil))
		err = parsed.Run(s, parsed)
	}
	if err == nil {
		err = s.broken
	}
	if err != nil {
		return fail(ctx, s, err)
	}
	return exitDone
}

func isOffline(k *kong.Context) bool {
	_, is := reflect.TypeAssert[offline](k.Selected().Target.Addr())
	return is
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
	return s.do(ctx, c.Name, rollout.Command{Verb: rollout.Verb(k.Selected().Name)})
}
