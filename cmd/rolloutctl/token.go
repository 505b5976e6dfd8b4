package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/web/client"
)

type tokenListCmd struct{}

// Run lists tokens, without their secrets.
func (tokenListCmd) Run(ctx context.Context, s *session) error {
	tokens, err := s.api.Tokens(ctx)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string][]client.Token{"tokens": append([]client.Token{}, tokens...)})
	}
	if len(tokens) == 0 {
		s.print("there are no tokens")
		return nil
	}
	rows := [][]string{{"NAME", "MAY", "EXPIRES"}}
	for i := range tokens {
		rows = append(rows, []string{tokens[i].Name, mayWords(&tokens[i]), s.expiry(tokens[i].Expires)})
	}
	s.print(table("", rows)...)
	return nil
}

// mayWords says what a token may.
func mayWords(t *client.Token) string {
	parts := make([]string, len(t.Grants))
	for i, g := range t.Grants {
		parts[i] = grantText(g, t.Service)
	}
	return strings.Join(parts, "; ")
}

// expiry says until when a token is good.
func (s *session) expiry(at time.Time) string {
	now := s.now()
	switch {
	case at.IsZero():
		return "never"
	case !at.After(now):
		return "expired " + moment(at, now, s.zone)
	}
	left := at.Sub(now)
	if left > day {
		left = left.Round(time.Hour) // the server has told its time in whole seconds
	}
	return moment(at, now, s.zone) + ", in " + span(left)
}

type tokenMakeCmd struct {
	Name      string   `arg:"" help:"Whose it is: what the journal says who it was."`
	Role      string   `required:"" enum:"viewer,operator,approver,admin,reporter" placeholder:"ROLE" help:"viewer, operator, approver, admin or reporter."`
	Database  []string `placeholder:"NAME" help:"For this database only; may be repeated. By default for all."`
	Service   string   `placeholder:"NAME" help:"Of a reporter: the service whose tasks report."`
	ExpiresIn length   `placeholder:"DURATION" help:"How long it is good, such as 90d; by default for ever."`
}

// Run makes a token. On stdout is the token and nothing else, so that it can go
// to a file; what there is to say of it is on stderr.
func (c *tokenMakeCmd) Run(ctx context.Context, s *session) error {
	switch {
	case (c.Role == "reporter") != (c.Service != ""):
		return usageError{text: fmt.Sprintf("--service %q: must be given for a reporter, and for nobody else", c.Service)}
	case c.Role == "reporter" && len(c.Database) > 0:
		return usageError{text: "--database: a reporter reports for its service, whatever the database"}
	}
	t := client.Token{Name: c.Name, Service: c.Service, Grants: []client.Grant{{Role: c.Role, Databases: c.Database}}}
	if s.DryRun {
		return s.foreseeToken(ctx, &t)
	}
	secret, made, err := s.api.MakeToken(ctx, t, time.Duration(c.ExpiresIn), s.request())
	if err != nil {
		return err
	}
	said := []string{fmt.Sprintf("token of %s: %s; expires: %s; it is told this once", made.Name, mayWords(&made), s.expiry(made.Expires))}
	if warning := s.exposed(); warning != "" {
		said = append(said, s.errors.near+" "+warning)
	}
	s.errors.print(s.err, said)
	if s.json() {
		return s.encode(struct {
			client.Token

			Secret string `json:"token"`
		}{made, secret})
	}
	if _, err := fmt.Fprintln(s.out, secret); err != nil {
		return fmt.Errorf("writing the token: %w; revoke it: rolloutctl token revoke %s", err, made.Name)
	}
	return nil
}

// foreseeToken is a dry run: what token would be made, or why not.
func (s *session) foreseeToken(ctx context.Context, t *client.Token) error {
	tokens, err := s.api.Tokens(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(tokenNames(tokens), t.Name) {
		return failure{code: exitRefused, text: "it would be refused: " + t.Name + " has a token already; revoke that one first"}
	}
	s.print("dry run; nothing was done", fmt.Sprintf("  makes a token for %s: %s", t.Name, mayWords(t)))
	return nil
}

// exposed says who else can see what goes to stdout, or nothing.
func (s *session) exposed() string {
	file, ok := s.out.(*os.File)
	if !ok {
		return ""
	}
	info, err := file.Stat()
	switch {
	case s.screen.terminal:
		return "it is on this screen, and in what can be scrolled back; better: rolloutctl token make … > FILE"
	case err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0:
		return fmt.Sprintf("others may read the file that it goes to (mode %04o): chmod 600 it, or umask 077 before", info.Mode().Perm()&fs.ModePerm)
	}
	return ""
}

type tokenRevokeCmd struct {
	Name string `arg:"" help:"Whose token."`
}

// Run takes a token away.
func (c *tokenRevokeCmd) Run(ctx context.Context, s *session) error {
	tokens, err := s.api.Tokens(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tokens, func(t client.Token) bool { return t.Name == c.Name })
	if at < 0 && s.RequestID == "" { // a request that is repeated is answered by the server
		return failure{code: exitNotFound, text: fmt.Sprintf("no token is called %s; there are %s", c.Name, strings.Join(tokenNames(tokens), ", "))}
	}
	says := []string{"nobody can use it any more, from now on; whoever runs with it must have got another before"}
	if at >= 0 {
		says = slices.Concat([]string{fmt.Sprintf("token of %s: %s; expires: %s", c.Name, mayWords(&tokens[at]), s.expiry(tokens[at].Expires))}, says)
	}
	if who, err := s.api.Whoami(ctx); err == nil && who.Name == c.Name {
		says = append(says, s.screen.near+" it is the token that you use now: the next command needs another")
	}
	if s.DryRun {
		s.print(append([]string{"dry run; nothing was done"}, says...)...)
		return nil
	}
	if err := s.confirm(ctx, question{level: askYes, text: "Revoke the token of " + c.Name + "?", says: says}); err != nil {
		return err
	}
	if err := s.api.TakeToken(ctx, c.Name, s.request()); err != nil {
		return err
	}
	if s.json() {
		return s.encode(map[string]string{"revoked": c.Name})
	}
	s.done("revoked: the token of " + c.Name + " is not good any more")
	return nil
}

func tokenNames(tokens []client.Token) []string {
	names := make([]string, len(tokens))
	for i := range tokens {
		names[i] = tokens[i].Name
	}
	return names
}
