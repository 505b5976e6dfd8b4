package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed sqlite/*.sql mysql/*.sql
var files embed.FS

// Dialect names a kind of database, and the folder with its DDL.
type Dialect string

// The dialects that the schema is written in.
const (
	SQLite Dialect = "sqlite"
	MySQL  Dialect = "mysql" // MariaDB, too
)

// Up applies what is missing. Any number of programs may call it at once: they
// take turns. A database with a newer schema than this program knows is refused
// and left as it is. On MySQL, db must parse times and have room for more than
// one connection.
func Up(ctx context.Context, db *sql.DB, dialect Dialect) (err error) {
	provider, err := newProvider(db, dialect)
	if err != nil {
		return fmt.Errorf("reading the migrations for %s: %w", dialect, err)
	}
	turn, err := newTurn(ctx, db, dialect)
	if err != nil {
		return fmt.Errorf("preparing to wait for other migrations: %w", err)
	}
	if err := turn.Lock(ctx, db); err != nil {
		return fmt.Errorf("waiting for other migrations: %w", err)
	}
	defer func() { err = errors.Join(err, turn.Unlock(context.WithoutCancel(ctx), db)) }()

	current, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the schema: %w", err)
	}
	if current > known {
		return fmt.Errorf("schema version %d: this program knows versions up to %d; run the program that made it, or a newer one", current, known)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema from version %d to %d: %w", current, known, err)
	}
	return nil
}

func newProvider(db *sql.DB, dialect Dialect) (*goose.Provider, error) {
	names := map[Dialect]goose.Dialect{SQLite: goose.DialectSQLite3, MySQL: goose.DialectMySQL}
	folder, err := fs.Sub(files, string(dialect))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(names[dialect], db, folder, goose.WithDisableGlobalRegistry(true))
}
