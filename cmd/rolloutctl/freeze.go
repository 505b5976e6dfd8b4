package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// frozenArg names a database, or all of them.
type frozenArg struct {
	Database     string `arg:"" optional:"" help:"Name of the database, as plans have it."`
	AllDatabases bool   `help:"Every database there is or will be."`
}

// database returns the name that the API has for it.
func (d *frozenArg) database() (string, error) {
	switch {
	case d.AllDatabases && d.Database != "":
		return "", usageError{text: fmt.Sprintf("%s and --all-databases: give one of the two", d.Database)}
	case d.AllDatabases:
		return rollout.AllDatabases, nil
	case d.Database == "":
		return "", usageError{text: "which database? Give its name, or --all-databases", next: "rolloutctl list -o wide"}
	}
	return d.Database, nil
}

// databaseWords is a database in a sentence.
func databaseWords(name string) string {
	if name == rollout.AllDatabases {
		return "every database"
	}
	return name
}

// databaseFlag is a database as an argument.
func databaseFlag(name string) string {
	if name == rollout.AllDatabases {
		return "--all-databases"
	}
	return name
}

type freezeAddCmd struct {
	frozenArg

	For   length `placeholder:"DURATION" help:"How long, such as 4h or 3d; 90 days at most."`
	Until string `placeholder:"TIME" help:"Until when: 2026-12-01T18:00:00Z, or \"2026-12-01 18:00\" in the zone of --tz."`
	From  string `placeholder:"TIME" help:"From when on; by default from now on."`
}

// Run freezes a database.
func (c *freezeAddCmd) Run(ctx context.Context, s *session) error {
	order, err := c.order(s)
	if err != nil {
		return err
	}
	if err := s.needReason(ctx, "Why is it frozen"); err != nil {
		return err
	}
	order.Reason = s.Reason
	said, err := s.stops(ctx, order.Database, "stays where it is")
	if err != nil {
		return err
	}
	if c.For > 0 {
		order.Until = s.lasting(order.From, c.For)
	}
	head := fmt.Sprintf("nothing rises on %s %s", databaseWords(order.Database), s.stretch(order.From, order.Until))
	said = append(said, "A rollback is not touched, by whomever.")
	if s.DryRun {
		return s.foresee(ctx, order, slices.Concat([]string{head + ":"}, said))
	}
	if err := s.confirm(ctx, question{level: askYes, text: "Freeze " + databaseWords(order.Database) + "?", says: slices.Concat([]string{head + ":"}, said)}); err != nil {
		return err
	}
	order.Request = s.request()
	freezes, err := s.api.Freeze(ctx, order)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.Freeze{"freezes": freezes})
	}
	s.done(slices.Concat([]string{"frozen: " + head}, said, []string{"next: rolloutctl freeze lift " + databaseFlag(order.Database) + "   # to end it earlier"})...)
	return nil
}

// order is what is asked of the server, but for an end that --for says.
func (c *freezeAddCmd) order(s *session) (rollout.HouseCommand, error) {
	order := rollout.HouseCommand{Verb: rollout.Freezing}
	var err error
	if order.Database, err = c.database(); err != nil {
		return order, err
	}
	if (c.For > 0) == (c.Until != "") {
		return order, usageError{text: "how long is it frozen? Give one of --for and --until"}
	}
	if c.From != "" {
		if order.From, err = s.instant("--from", c.From); err != nil {
			return order, err
		}
	}
	if c.Until != "" {
		order.Until, err = s.instant("--until", c.Until)
	}
	return order, err
}

// lasting returns when something ends that begins at a time, or now, which is the
// server's: it has been asked before.
func (s *session) lasting(from time.Time, l length) time.Time {
	if from.IsZero() {
		from = s.now()
	}
	return from.UTC().Add(time.Duration(l)).Truncate(time.Second)
}

// stretch says from when until when.
func (s *session) stretch(from, until time.Time) string {
	now := s.now().Truncate(time.Second) // as the server tells its time
	text := "until " + moment(until, now, s.zone)
	if from.After(now) {
		return "from " + moment(from, now, s.zone) + " " + text + " (" + span(until.Sub(from)) + ")"
	}
	return text + " (" + span(until.Sub(now)) + ")"
}

type freezeListCmd struct{}

// Run lists what is frozen.
func (freezeListCmd) Run(ctx context.Context, s *session) error {
	freezes, err := s.api.Freezes(ctx)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.Freeze{"freezes": append([]rollout.Freeze{}, freezes...)})
	}
	if len(freezes) == 0 {
		s.print("nothing is frozen")
		return nil
	}
	now := s.now()
	rows := [][]string{{"DATABASE", "", "FROM", "UNTIL", "BY", "WHY"}}
	for _, f := range freezes {
		state := "now"
		if f.From.Truncate(time.Second).After(now) { // as the server tells its time
			state = "later"
		}
		rows = append(rows, []string{databaseWords(f.Database), state, moment(f.From, now, s.zone), moment(f.Until, now, s.zone), f.By, f.Why})
	}
	s.print(table("", rows)...)
	return nil
}

type freezeLiftCmd struct{ frozenArg }

// Run ends a freeze.
func (c *freezeLiftCmd) Run(ctx context.Context, s *session) error {
	database, err := c.database()
	if err != nil {
		return err
	}
	order := rollout.HouseCommand{Verb: rollout.Thaw, Database: database, Reason: s.Reason}
	said, err := s.stops(ctx, database, "may rise again, if nothing else stands against it")
	if err != nil {
		return err
	}
	if s.DryRun {
		return s.foresee(ctx, order, said)
	}
	if err := s.confirm(ctx, question{level: askYes, text: "Lift the freeze of " + databaseWords(database) + "?", says: said}); err != nil {
		return err
	}
	order.Request = s.request()
	freezes, err := s.api.Thaw(ctx, order)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]rollout.Freeze{"freezes": append([]rollout.Freeze{}, freezes...)})
	}
	s.done("lifted: " + databaseWords(database) + " is not frozen any more")
	s.done(said...)
	for _, f := range freezes {
		if f.Database == rollout.AllDatabases && database != rollout.AllDatabases {
			s.done(fmt.Sprintf("  %s but every database is frozen %s, by %s: %s", s.screen.near, s.stretch(f.From, f.Until), f.By, f.Why))
		}
	}
	return nil
}

// stops names the rollouts of a database that could rise, and says what becomes
// of them. That there is none is said, too: the name may be misspelt.
func (s *session) stops(ctx context.Context, database, becomes string) ([]string, error) {
	states, err := s.api.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"", "", "", "", ""}}
	known := map[string]bool{}
	for i := range states {
		st := &states[i]
		if st.Plan == nil {
			continue
		}
		known[st.Plan.Database.Name] = true
		if st.Phase.Ended() || database != rollout.AllDatabases && st.Plan.Database.Name != database {
			continue
		}
		rows = append(rows, []string{st.Name, s.screen.phaseSign(st.Phase), words(st.Phase), cmp.Or(intended(st), "-"), becomes})
	}
	switch {
	case len(rows) > 1:
		return table("  ", rows)[1:], nil
	case database == rollout.AllDatabases || known[database]:
		return []string{"  no rollout of it goes on now"}, nil
	case len(known) == 0:
		return []string{"  there is no rollout yet"}, nil
	default:
		return []string{fmt.Sprintf("  %s no rollout has a database called %s; there are %s", s.screen.near, database, strings.Join(slices.Sorted(maps.Keys(known)), ", "))}, nil
	}
}
