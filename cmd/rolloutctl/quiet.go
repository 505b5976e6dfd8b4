package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

type quietSayCmd struct {
	Database  string `arg:"" help:"Name of the database, as plans have it; * means every one."`
	What      string `arg:"" optional:"" help:"With --over: what is over; by default all that was said of it."`
	Disturbed string `placeholder:"WHAT" help:"It is not quiet: what disturbs it, such as \"deploy checkout 2.4\"."`
	For       length `placeholder:"DURATION" help:"Until it ends by itself, such as 30m; 24h at most."`
	Over      bool   `help:"It is quiet again."`
}

// Run says that a database is quiet, or is not. It asks nothing, so that a
// pipeline can say it.
func (c *quietSayCmd) Run(ctx context.Context, s *session) error {
	order, err := c.order(s)
	if err != nil {
		return err
	}
	becomes, say := "rises no more until it is quiet", s.api.Disturb
	if c.Over {
		becomes, say = "may rise again, if nothing else stands against it", s.api.Quiet
	}
	said, err := s.stops(ctx, c.Database, becomes)
	if err != nil {
		return err
	}
	if !c.Over {
		order.Until = s.lasting(time.Time{}, c.For)
	}
	if s.DryRun {
		return s.foresee(ctx, order, said)
	}
	order.Request = s.request()
	list, err := say(ctx, order)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.Disturbance{"disturbances": append([]rollout.Disturbance{}, list...)})
	}
	if !c.Over {
		s.done(fmt.Sprintf("noted: %s is not quiet, %s, %s at the latest", databaseWords(c.Database), c.Disturbed, s.stretch(time.Time{}, order.Until)))
		s.done(append(said, "A rollback is not touched, by whomever.")...)
		s.done(fmt.Sprintf("next: rolloutctl quiet %s --over %s   # once it is over", quoted(c.Database), quoted(c.Disturbed)))
		return nil
	}
	s.done("noted: it is over")
	if left := s.disturbances(list, c.Database); len(left) > 0 {
		s.done(append([]string{databaseWords(c.Database) + " is not quiet yet:"}, left...)...)
		return nil
	}
	s.done(slices.Concat([]string{databaseWords(c.Database) + " is quiet, as far as people have said:"}, said)...)
	return nil
}

// order is what is asked of the server, but for when it ends.
func (c *quietSayCmd) order(s *session) (rollout.HouseCommand, error) {
	order := rollout.HouseCommand{Verb: rollout.Disturb, Database: c.Database, What: c.Disturbed, Reason: s.Reason}
	switch {
	case c.Over == (c.Disturbed != ""):
		return order, usageError{text: "is it quiet? Give one of --disturbed WHAT and --over", next: "rolloutctl quiet --help"}
	case c.Over && c.For > 0:
		return order, usageError{text: "--for: goes with --disturbed; what is over has no length"}
	case c.Over:
		order.Verb, order.What = rollout.Quiet, c.What
	case c.What != "":
		return order, usageError{text: fmt.Sprintf("%s: one text too many; put what disturbs into quotes behind --disturbed", c.What)}
	case c.For == 0:
		return order, usageError{text: "until when? Give --for, such as --for 30m: then it ends by itself if nobody says --over"}
	}
	return order, nil
}

type quietListCmd struct{}

// Run lists what disturbs.
func (quietListCmd) Run(ctx context.Context, s *session) error {
	list, err := s.api.Disturbances(ctx)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.Disturbance{"disturbances": append([]rollout.Disturbance{}, list...)})
	}
	if len(list) == 0 {
		s.print("every database is quiet, as far as people have said")
		return nil
	}
	s.print(s.disturbances(list, "")...)
	return nil
}

// disturbances is a table of them: of one database, or of all for none.
func (s *session) disturbances(list []rollout.Disturbance, database string) []string {
	now := s.now()
	rows := [][]string{{"DATABASE", "DISTURBED BY", "SINCE", "UNTIL", "SAID", "WHY"}}
	for _, d := range list {
		if database == "" || d.Database == database || d.Database == rollout.AllDatabases {
			rows = append(rows, []string{databaseWords(d.Database), d.What, moment(d.At, now, s.zone), moment(d.Until, now, s.zone), d.By, d.Why})
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return table("", rows)
}
