package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver that the lock is opened with
)

// A program that dies in its turn holds up the next one for as long as this.
const lease = 10 * time.Second

// newTurn returns the lock that lets one program migrate at a time.
func newTurn(ctx context.Context, db *sql.DB, dialect Dialect) (lock.Locker, error) {
	if dialect == SQLite {
		return newFileTurn(ctx, db)
	}
	// The lock reads a time. If it cannot, it takes that for a lock held by
	// another and tries again, for minutes and in silence.
	var now time.Time
	if err := db.QueryRowContext(ctx, `SELECT NOW()`).Scan(&now); err != nil {
		return nil, fmt.Errorf("reading a time, which takes parseTime=true: %w", err)
	}
	return lock.NewMySQLTableLocker(
		lock.WithTableLeaseDuration(lease),
		lock.WithTableHeartbeatInterval(lease/5),
		lock.WithTableLockTimeout(100*time.Millisecond, 10_000), // the context ends it sooner
		lock.WithTableUnlockTimeout(100*time.Millisecond, 10),
		lock.WithTableLogger(slog.New(slog.DiscardHandler)), // its errors are returned, too
	)
}

// fileTurn is a lock beside a SQLite file: a second, empty SQLite file, on which
// an exclusive transaction is open for as long as the lock is held. It ends with
// the process, however that ends. The file stays: whoever removed it could let
// two in at once.
type fileTurn struct {
	path string // of the database; empty if it is in memory, and so nobody else's
	db   *sql.DB
	conn *sql.Conn
}

func newFileTurn(ctx context.Context, db *sql.DB) (*fileTurn, error) {
	turn := &fileTurn{}
	const query = `SELECT file FROM pragma_database_list WHERE name = 'main'`
	if err := db.QueryRowContext(ctx, query).Scan(&turn.path); err != nil {
		return nil, fmt.Errorf("asking for the path of the database: %w", err)
	}
	return turn, nil
}

// Lock waits until nobody else holds the lock, or the context ends.
func (t *fileTurn) Lock(ctx context.Context, _ *sql.DB) (err error) {
	if t.path == "" {
		return nil
	}
	path := url.URL{Path: t.path + ".migrating"}
	// The wait ends with the context; busy_timeout only has to be longer.
	t.db, err = sql.Open("sqlite", "file:"+path.EscapedPath()+"?_pragma=busy_timeout(3600000)")
	if err != nil {
		return fmt.Errorf("opening the lock: %w", err)
	}
	if t.conn, err = t.db.Conn(ctx); err == nil {
		// Not a sql.Tx: that one would end with this call's context.
		_, err = t.conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("locking %s: %w", path.Path, err), t.Unlock(ctx, nil))
	}
	return nil
}

// Unlock lets the next one in.
func (t *fileTurn) Unlock(context.Context, *sql.DB) error {
	if t.path == "" {
		return nil
	}
	if t.conn == nil {
		return t.db.Close()
	}
	return errors.Join(t.conn.Close(), t.db.Close())
}
