package journal

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-c8cbbb61/cutover/migrations"
)

// Limits on how long things may take. A context that ends sooner wins.
const (
	callWithin    = 5 * time.Second
	migrateWithin = 2 * time.Minute
)

// Journal is an open journal. Any number may be open on one database, in one
// process or many; all methods may be called at once.
type Journal struct {
	db   *sql.DB
	turn chan struct{} // holds a token while a transaction writes
}

func newJournal(db *sql.DB) *Journal {
	return &Journal{db: db, turn: make(chan struct{}, 1)}
}

// Open opens the journal at a source and brings its schema up to date. A source
// is sqlite:PATH, with sqlite::memory: for one that ends with the journal, or
// mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE. The server must answer within the
// limit now; later it may come and go.
func Open(ctx context.Context, source string, log *slog.Logger) (*Journal, error) {
	return OpenFunc(ctx, func(context.Context) string { return source }, log)
}

// OpenFunc is Open for a source whose user and password may change: on MySQL it is
// asked for again for each new connection. Another server or database is not followed.
func OpenFunc(ctx context.Context, source func(context.Context) string, log *slog.Logger) (*Journal, error) {
	kind, rest, _ := strings.Cut(source(ctx), ":")
	switch kind {
	case "sqlite":
		return openSQLite(ctx, rest, log)
	case "mysql":
		return openMySQL(ctx, rest, source, log)
	default:
		// The source may hold a password, so it is not repeated.
		return nil, fmt.Errorf("opening the journal: source must be sqlite:PATH or mysql:DSN")
	}
}

// Close closes the journal.
func (j *Journal) Close() error { return j.db.Close() }

// migrate brings the schema up to date.
func migrate(ctx context.Context, db *sql.DB, dialect migrations.Dialect) error {
	ctx, cancel := context.WithTimeout(ctx, migrateWithin)
	defer cancel()
	return migrations.Up(ctx, db, dialect)
}

// head is the one row of the journal: the newest place, the newest epoch, and
// what was remembered of the newest event.
type head struct {
	place, epoch int64
	tail         sql.Null[string]
	before       []byte // hash of the event before the place; nil if there is none
}

// The event before is read along, to save an append a round trip.
const readHead = `SELECT j.place, j.epoch, j.tail, e.hash FROM journal j LEFT JOIN events e ON e.place = j.place - 1 WHERE j.id = 1`

// Each transaction that writes begins with one of these. It waits for the lock
// of the row, so that no other writes until it ends; and since it comes before
// any read, MySQL too shows the transaction all that was committed before.
const (
	takePlace = `UPDATE journal SET place = place + 1 WHERE id = 1`
	takeEpoch = `UPDATE journal SET epoch = epoch + 1 WHERE id = 1`
	takeTurn  = `UPDATE journal SET place = place WHERE id = 1` // changes nothing, and locks all the same
)

// write runs do in a transaction that begins with first.
func (j *Journal) write(ctx context.Context, first string, do func(context.Context, *sql.Tx, head) error) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	// Those who wait here are served in order. SQLite lets them try again and
	// again, and the unlucky starve.
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the turn to write: %w", ctx.Err())
	}
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	defer tx.Rollback() // does nothing after a commit

	var now head
	if _, err := tx.ExecContext(ctx, first); err != nil {
		return fmt.Errorf("locking the journal: %w", err)
	}
	if err := tx.QueryRowContext(ctx, readHead).Scan(&now.place, &now.epoch, &now.tail, &now.before); err != nil {
		return fmt.Errorf("reading the newest place: %w", err)
	}
	if err := do(ctx, tx, now); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing, with an answer that leaves open whether it was stored: %w", err)
	}
	return nil
}

// longest is how many bytes a name may have: what MySQL can put into an index
// of two, and the same on SQLite.
const longest = 191

// checkName refuses names that the two databases would take differently: MySQL
// cuts what is too long and takes no notice of trailing spaces.
func checkName(field, name string) error {
	ok := name != "" && len(name) <= longest && utf8.ValidString(name) &&
		name == strings.TrimFunc(name, unicode.IsSpace)
	if !ok {
		return fmt.Errorf("%s %q: must be 1 to %d bytes of UTF-8 without space at its ends", field, name, longest)
	}
	return nil
}
