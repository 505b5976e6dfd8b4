package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

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
		if err := web.SaveTokens(o.Tokens, []web.Entry{entry}); err != nil {
			return nil, err
		}
		log.InfoContext(ctx, "made the first token", "role", web.Admin, "file", path)
	}
	return web.LoadTokens(o.Tokens)
}

type tokenCommand struct {
	Data    string   `env:"ROLLOUT_DATA" default:"var" help:"Folder of whatever is kept in files."`
	Tokens  string   `env:"ROLLOUT_TOKENS" help:"File of tokens. Default: DATA/tokens.json."`
	Role    web.Role `required:"" enum:"viewer,operator,approver,admin,reporter" help:"What it may do: ${enum}."`
	Service string   `help:"Of a reporter: the service whose tasks report with it."`
	Name    string   `arg:"" help:"Whose it is."`
}

// Run adds a token to the file, which a running rolloutd follows.
func (t *tokenCommand) Run(k *kong.Kong) error {
	path := (&options{Data: t.Data, Tokens: t.Tokens}).tokensPath()
	entries, err := web.ReadTokens(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	plain, entry := web.NewToken(t.Name, t.Role, t.Service)
	if err := web.SaveTokens(path, append(entries, entry)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(k.Stdout, plain)
	return err
}
