package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// planImportCmd writes a plan from flags that are there already.
type planImportCmd struct {
	fliptOptions

	Flag          flagKey      `placeholder:"NS/KEY" help:"The flag that reads follow now."`
	WritesFlag    *flagKey     `placeholder:"NS/KEY" help:"The flag that writes follow now."`
	As            *flagKey     `placeholder:"NS/KEY" help:"A new boolean flag for reads, where theirs cannot be a lane's."`
	WritesAs      *flagKey     `placeholder:"NS/KEY" help:"A new boolean flag for writes, where theirs cannot be a lane's."`
	Inverted      bool         `help:"Their true means the source."`
	TargetVariant string       `placeholder:"KEY" help:"The variant that means the target."`
	Rollout       string       `placeholder:"NAME" help:"Name of the rollout."`
	Owner         string       `placeholder:"TEAM" help:"Who answers for it; by default you."`
	Database      databaseArg  `placeholder:"NAME:ENGINE" help:"The database, such as orders:aurora-mysql."`
	Source        endpointArg  `placeholder:"HOST:PORT[:KIND]" help:"Where the tasks connect without the flag; of kind direct by default."`
	Target        endpointArg  `placeholder:"HOST:PORT:KIND" help:"Where they connect with it, such as orders-proxy.example:3306:rds-proxy."`
	Service       []serviceArg `sep:"none" placeholder:"NAME:TASKS:POOL_MAX" help:"A service that follows the flags, such as checkout:120:38; may be repeated."`
	Out           string       `placeholder:"FILE" help:"Write the plan to this new file, not to stdout."`
}

func (*planImportCmd) offline() {}

// Help is said before the flags.
func (*planImportCmd) Help() string {
	return `Flags are only read. A boolean flag, not enabled, with one threshold that gives true becomes the lane's own, with the
share that it has. One whose target tasks are others than ours would be (inverted, with variants) gets a new flag beside
it: --as. One with segments or several rules is refused, with the reason. The plan has stages and gates by default:
look at them before you apply it.`
}

// Run writes the plan, and says what comes next.
func (c *planImportCmd) Run(ctx context.Context, s *session) error {
	if err := c.complete(); err != nil {
		return err
	}
	var limits flipt.Options
	if s.Timeout != nil {
		limits.Deadline = *s.Timeout
	}
	store, err := s.openFlipt(ctx, &c.fliptOptions, limits)
	if err != nil {
		return err
	}
	wanted := []flagWanted{{lane: "reads", key: flags.Key(c.Flag), as: c.As, asOption: "--as"}}
	if c.WritesFlag != nil {
		wanted = append(wanted, flagWanted{lane: "writes", key: flags.Key(*c.WritesFlag), as: c.WritesAs, asOption: "--writes-as"})
	}
	lanes := make([]flagFound, len(wanted))
	for i, w := range wanted {
		w.inverted, w.target, w.source, w.goal = c.Inverted, c.TargetVariant, rollout.Endpoint(c.Source), rollout.Endpoint(c.Target)
		if lanes[i], err = takeFlag(ctx, store, w); err != nil {
			return err
		}
	}
	plan, text, err := c.plan(lanes)
	if err != nil {
		return err
	}
	return c.hand(s, plan, text, lanes)
}

// complete names all options that are missing.
func (c *planImportCmd) complete() error {
	var missing []string
	for _, option := range []struct {
		name string
		ok   bool
	}{
		{"--flipt", c.Flipt != ""},
		{"--flag", c.Flag.Name != ""},
		{"--rollout", c.Rollout != ""},
		{"--database", c.Database.Name != ""},
		{"--source", c.Source.Host != ""},
		{"--target", c.Target.Host != ""},
		{"--service", len(c.Service) > 0},
	} {
		if !option.ok {
			missing = append(missing, option.name)
		}
	}
	switch {
	case len(missing) > 0:
		return usageError{text: "missing: " + strings.Join(missing, ", "), next: "rolloutctl plan import --help"}
	case c.Target.Kind == "":
		return usageError{text: fmt.Sprintf("--target \"%s:%d\": must be HOST:PORT:KIND, such as orders-proxy.example:3306:rds-proxy", c.Target.Host, c.Target.Port)}
	}
	c.Source.Kind = cmp.Or(c.Source.Kind, "direct")
	c.Owner = cmp.Or(c.Owner, strings.Split(whoami(), "@")[0])
	return nil
}

// hand gives out the plan, and says what was found and what comes next.
func (c *planImportCmd) hand(s *session, plan *rollout.Plan, text []byte, lanes []flagFound) error {
	file := c.Out
	if file != "" && !s.DryRun {
		if err := writeNew(file, text); err != nil {
			return err
		}
	}
	next := nextAfterImport(plan, lanes, cmp.Or(file, plan.Name+".yaml"))
	if s.json() {
		return s.encode(map[string]any{
			"rollout": plan.Name, "plan_hash": plan.Hash(), "plan": string(text), "file": file, "lanes": lanes, "next_steps": next,
		})
	}
	var lines []string
	for i := range lanes {
		lines = append(lines, lanes[i].Notes...)
		if share := lanes[i].Share; share > flags.None {
			lines = append(lines, fmt.Sprintf("lane %s stands at its stage of %v", lanes[i].Lane, standsAt(&plan.Lanes[i], share)))
		}
	}
	lines = append(lines, "stages, gates and owner are ours: look at them, above all at the gates' limits")
	for i, step := range next {
		if i == 0 {
			step = "next: " + step
		} else {
			step = "      " + step
		}
		lines = append(lines, step)
	}
	if file != "" {
		s.print(append([]string{file + ": " + gistOfPlan(plan)}, lines...)...)
		return nil
	}
	s.errors.print(s.err, lines)
	_, err := s.out.Write(text)
	return err
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usageError{text: fmt.Sprintf("--out %q: must be a new file, and it is there", path)}
	}
	if err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

// standsAt is the highest stage that a share has reached.
func standsAt(lane *rollout.LanePlan, share flags.Share) flags.Share {
	at := flags.None
	for _, stage := range lane.Stages {
		if stage.Share <= share {
			at = stage.Share
		}
	}
	return at
}

// nextAfterImport are the steps from the plan to a rollout that runs.
func nextAfterImport(plan *rollout.Plan, lanes []flagFound, file string) []string {
	var first, adopt, last []string
	for i, lane := range lanes {
		share := lane.Share
		if i > 0 && share > flags.None && lanes[0].Share < flags.All {
			first = append(first, fmt.Sprintf("set flag %s to 0 %%, or %s to 100 %%: lanes rise one after the other", lane.Flag, lanes[0].Flag))
			share = flags.None
		}
		if share > flags.None {
			adopt = append(adopt, fmt.Sprintf("--at %s:%d", lane.Lane, int(share)))
		}
		first, last = append(first, lane.First...), append(last, lane.Last...)
	}
	begin := "rolloutctl start " + plan.Name
	if len(adopt) > 0 {
		begin = "rolloutctl adopt " + plan.Name + " " + strings.Join(adopt, " ")
	}
	return slices.Concat(first, []string{"rolloutctl plan apply " + quoted(file), begin}, last)
}

// plan makes the plan, and its text: every field spelled out.
func (c *planImportCmd) plan(lanes []flagFound) (*rollout.Plan, []byte, error) {
	least, err := c.least(lanes)
	if err != nil {
		return nil, nil, err
	}
	plan, err := planfile.Parse("the plan", least)
	if invalid, ok := errors.AsType[rollout.Invalid](err); ok {
		for i := range invalid {
			invalid[i].Line, invalid[i].Field = 0, c.option(invalid[i].Field)
		}
		return nil, nil, fmt.Errorf("these options make no plan:\n%w", invalid)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := planfile.Format(plan)
	if err != nil {
		return nil, nil, err
	}
	var head strings.Builder
	for i := range lanes {
		for _, note := range lanes[i].Notes {
			fmt.Fprintf(&head, "# %s\n", note)
		}
	}
	head.WriteString("# Stages, gates and owner are defaults of rolloutctl plan import: look at them, above all at the gates' limits.\n")
	return plan, append([]byte(head.String()), text...), nil
}
