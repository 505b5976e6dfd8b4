package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/seed-c8cbbb61/cutover/migrations"
)

const memory = ":memory:"

func openSQLite(ctx context.Context, path string, log *slog.Logger) (*Journal, error) {
	if path == "" {
		return nil, errors.New("opening the journal: sqlite: must be followed by the path of its file")
	}
	db, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return nil, fmt.Errorf("opening the journal %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	if path == memory {
		db.SetMaxOpenConns(1) // each connection would have a database of its own
	}
	if err := migrate(ctx, db, migrations.SQLite); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, err), db.Close())
	}
	log.InfoContext(ctx, "journal opened", "database", "sqlite", "path", path)
	return newJournal(db), nil
}

// sqliteDSN asks for what makes a commit durable and keeps writers from failing
// each other: a transaction takes the write lock when it begins, never later.
func sqliteDSN(path string) string {
	settings := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(60000)", // longer than any call: the context ends the wait
			"journal_mode(WAL)",
			"synchronous(FULL)",
			"foreign_keys(1)",
		},
	}
	if path != memory {
		file := url.URL{Path: filepath.Clean(path)}
		path = file.EscapedPath()
	}
	return "file:" + path + "?" + settings.Encode()
}
