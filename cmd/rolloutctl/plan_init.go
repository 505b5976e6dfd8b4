package main

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// planInitCmd writes a plan to begin with.
type planInitCmd struct {
	Rollout  string       `placeholder:"NAME" help:"Name of the rollout."`
	Owner    string       `placeholder:"TEAM" help:"Who answers for it."`
	Database databaseArg  `placeholder:"NAME:ENGINE" help:"The database, such as orders:aurora-mysql."`
	Source   endpointArg  `placeholder:"HOST:PORT[:KIND]" help:"Where tasks connect today; of kind direct by default."`
	Target   endpointArg  `placeholder:"HOST:PORT:KIND" help:"Where they shall connect, such as orders-proxy.example:3306:rds-proxy."`
	Service  []serviceArg `sep:"none" placeholder:"NAME:TASKS:POOL_MAX" help:"A service that uses the database, such as checkout:120:38; may be repeated."`
	Out      string       `placeholder:"FILE" help:"Write the plan to this new file, not to stdout."`
}

func (*planInitCmd) offline() {}

// Help is said before the flags.
func (*planInitCmd) Help() string {
	return `The plan is valid, and its comments say what to change. What no option says is asked on a terminal; without one it is an
example, which the comments name.`
}

// Run writes the plan.
func (c *planInitCmd) Run(ctx context.Context, s *session) error {
	if s.canAsk() && !s.Yes {
		if err := c.askFor(ctx, s); err != nil {
			return err
		}
	}
	known := &rollout.Plan{
		Name: c.Rollout, Owner: c.Owner, Database: rollout.Database(c.Database),
		Source: rollout.Endpoint(c.Source), Target: rollout.Endpoint(c.Target),
	}
	for _, service := range c.Service {
		known.Services = append(known.Services, rollout.Service(service))
	}
	text, err := planfile.Draft(known)
	if err != nil {
		return c.misuse(err)
	}
	p, err := planfile.Parse(c.Out, text)
	if err != nil {
		return err
	}
	if c.Out != "" && !s.DryRun {
		if err := writeNew(c.Out, text); err != nil {
			return err
		}
	}
	return c.hand(s, p, string(text))
}

// hand gives out the plan, and says what is still an example in it.
func (c *planInitCmd) hand(s *session, p *rollout.Plan, text string) error {
	missing := c.missing()
	if s.json() {
		return s.encode(map[string]any{"rollout": p.Name, "file": c.Out, "plan": text, "examples": missing})
	}
	if c.Out == "" || s.DryRun {
		return s.printFile(text)
	}
	lines := []string{c.Out + ": " + gistOfPlan(p)}
	if len(missing) > 0 {
		lines = append(lines, "  examples, to be replaced in it: "+strings.Join(missing, ", "))
	}
	s.print(append(lines, "next: rolloutctl plan validate "+quoted(c.Out), "      rolloutctl plan apply "+quoted(c.Out))...)
	return nil
}

// fact is something that a plan needs to know, and how to ask for it.
type fact struct {
	option  string
	field   string // of the plan
	missing bool
	ask     string
	into    encoding.TextUnmarshaler
}

func (c *planInitCmd) facts() []fact {
	return []fact{
		{"--rollout", "rollout", c.Rollout == "", "Name of the rollout, such as orders-db:", (*word)(&c.Rollout)},
		{"--owner", "owner", c.Owner == "", "Who answers for it, such as team-orders:", (*word)(&c.Owner)},
		{"--database", "database", c.Database.Name == "", "Database and engine, such as orders:aurora-mysql:", &c.Database},
		{"--source", "source", c.Source.Host == "", "Where tasks connect today, such as orders.example:3306:", &c.Source},
		{"--target", "target", c.Target.Host == "", "Where they shall connect, such as orders-proxy.example:3306:rds-proxy:", &c.Target},
		{"--service", "services", len(c.Service) == 0, "A service with its tasks and their pool_max, such as checkout:120:38:", (*services)(&c.Service)},
	}
}

// word is a text that is taken as it is.
type word string

func (w *word) UnmarshalText(text []byte) error {
	*w = word(text)
	return nil
}

// services are some, apart by blanks.
type services []serviceArg

func (list *services) UnmarshalText(text []byte) error {
	for one := range strings.FieldsSeq(string(text)) {
		var service serviceArg
		if err := service.UnmarshalText([]byte(one)); err != nil {
			return err
		}
		*list = append(*list, service)
	}
	return nil
}

func (c *planInitCmd) missing() []string {
	missing := []string{}
	for _, f := range c.facts() {
		if f.missing {
			missing = append(missing, f.field)
		}
	}
	return missing
}

// askFor asks for what no option says; Enter leaves an example.
func (c *planInitCmd) askFor(ctx context.Context, s *session) error {
	for _, f := range c.facts() {
		for f.missing {
			answer, err := s.ask(ctx, f.ask)
			if err != nil {
				return err
			}
			if answer == "" {
				break
			}
			if err := f.into.UnmarshalText([]byte(answer)); err != nil {
				s.talk("  " + err.Error())
				continue
			}
			f.missing = false
		}
	}
	return nil
}

// misuse says by which options the plan is wrong.
func (c *planInitCmd) misuse(err error) error {
	invalid, ok := errors.AsType[rollout.Invalid](err)
	if !ok {
		return err
	}
	problem := invalid[0]
	facts := c.facts()
	at := slices.IndexFunc(facts, func(f fact) bool { return strings.HasPrefix(problem.Field, f.field) })
	option := problem.Field
	if at >= 0 {
		option = fmt.Sprintf("%s (%s)", facts[at].option, problem.Field)
	}
	return usageError{text: fmt.Sprintf("%s: %q: %s", option, cmp.Or(problem.Value, "nothing"), problem.Allowed), next: "rolloutctl plan init --help"}
}
