package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/renameio/v2"

	"github.com/seed-c8cbbb61/cutover/web"
)

// openTokens reads the tokens. Where there is no file yet, it makes one with an
// admin, whose token lies beside it, readable by its owner only.
func openTokens(ctx context.Context, o options, log *slog.Logger) (*web.Tokens, error) {
	if _, err := os.Stat(o.Tokens); errors.Is(err, fs.ErrNotExist) {
		plain, entry := web.NewToken("admin", web.Admin, "")
		path := filepath.Join(filepath.Dir(o.Tokens), "admin.token")
		if err := renameio.WriteFile(path, []byte(plain+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("writing the first token: %w", err)
		}
		if err := web.CreateTokens(o.Tokens, entry); err != nil {
			return nil, err
		}
		log.InfoContext(ctx, "made the first token", "role", web.Admin, "file", path)
	}
	return web.LoadTokens(o.Tokens)
}

// initCommand makes what a first start needs, for people who want no token on disk.
type initCommand struct {
	place
	listen

	Name string `default:"admin" help:"Whose the first token is."`
}

// Run makes the folder and the first token, and says what comes next.
func (i *initCommand) Run(k *kong.Kong) error {
	plain, entry := web.NewToken(i.Name, web.Admin, "")
	if err := os.MkdirAll(i.Data, 0o700); err != nil {
		return fmt.Errorf("--data %s: %w", i.Data, err)
	}
	switch err := web.CreateTokens(i.tokensPath(), entry); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and stays as it is; add a token with: rolloutd token --role admin NAME", i.tokensPath())
	case err != nil:
		return err
	}
	_, err := fmt.Fprintf(k.Stdout, `Made %s with the token of %s, who may do everything. It is shown this once:

  %s

Next:
  rolloutd --data %s        # serves at http://%s
  rolloutctl login --url http://%s        # asks for the token
`, i.tokensPath(), i.Name, plain, i.Data, i.Listen, i.Listen)
	return err
}

// tokenCommand changes the file of tokens, which a running rolloutd follows.
type tokenCommand struct {
	Make   makeTokenCommand   `cmd:"" default:"withargs" help:"Make a token and print it once."`
	List   listTokensCommand  `cmd:"" help:"List whose tokens there are, and what they may do."`
	Revoke revokeTokenCommand `cmd:"" help:"Take a token away; it is good no longer at once."`
}

type makeTokenCommand struct {
	place

	Role      web.Role     `required:"" enum:"viewer,operator,approver,admin,reporter" help:"What it may do: ${enum}."`
	Database  []string     `sep:"none" placeholder:"NAME" help:"A database that the role is for; may be repeated. Default: all."`
	Service   string       `placeholder:"NAME" help:"Of a reporter: the service whose tasks report with it."`
	ExpiresIn web.Lifetime `placeholder:"90d" help:"How long it is good. Default: for ever."`
	Name      string       `arg:"" help:"Whose it is."`
}

// Run adds a token to the file.
func (m *makeTokenCommand) Run(k *kong.Kong) error {
	e := web.Entry{Name: m.Name, Grants: []web.Grant{{Role: m.Role, Databases: m.Database}}, Service: m.Service}
	if m.ExpiresIn > 0 {
		e.Expires = time.Now().Add(time.Duration(m.ExpiresIn)).UTC().Truncate(time.Second)
	}
	plain := e.Mint()
	err := web.EditTokens(m.tokensPath(), func(list []web.Entry) ([]web.Entry, error) { return web.WithToken(list, e) })
	if errors.Is(err, fs.ErrNotExist) {
		err = web.CreateTokens(m.tokensPath(), e)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(k.Stdout, plain)
	return err
}

type listTokensCommand struct{ place }

// Run prints whose tokens there are.
func (l *listTokensCommand) Run(k *kong.Kong) error {
	entries, err := web.ReadTokens(l.tokensPath())
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(k.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "NAME\tMAY\tEXPIRES")
	for i := range entries {
		e := &entries[i]
		fmt.Fprintf(out, "%s\t%s\t%s\n", e.Name, e.May(), expiry(e.Expires, time.Now()))
	}
	return out.Flush()
}

// expiry says until when a token is good.
func expiry(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "never"
	case !now.Before(at):
		return at.Format(time.RFC3339) + ", expired"
	}
	return at.Format(time.RFC3339)
}

type revokeTokenCommand struct {
	place

	Name string `arg:"" help:"Whose it is."`
}

// Run takes a token out of the file.
func (r *revokeTokenCommand) Run(k *kong.Kong) error {
	err := web.EditTokens(r.tokensPath(), func(list []web.Entry) ([]web.Entry, error) {
		return web.WithoutToken(list, r.Name, time.Now())
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(k.Stdout, "the token of %s is good no longer\n", r.Name)
	return err
}
