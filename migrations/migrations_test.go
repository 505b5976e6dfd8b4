package migrations

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDialectsHaveTheSameVersions(t *testing.T) {
	of := func(dialect Dialect) []string {
		names, err := fs.Glob(files, string(dialect)+"/*")
		if err != nil || len(names) == 0 {
			t.Fatalf("%d files for %s, error %v", len(names), dialect, err)
		}
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		return names
	}
	if diff := cmp.Diff(of(SQLite), of(MySQL)); diff != "" {
		t.Errorf("sqlite -, mysql +:\n%s", diff)
	}
}

func TestUnknownDialectIsRefused(t *testing.T) {
	if err := Up(t.Context(), openSQLite(t), "oracle"); err == nil {
		t.Error("oracle was migrated")
	}
}

// On MySQL, the journal's tests say the same.
func TestSQLiteWaitsForItsTurnAsLongAsItsContextAndHasItAfterwards(t *testing.T) {
	db := openSQLite(t)
	first, err := newTurn(t.Context(), db, SQLite)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Lock(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := Up(short, db, SQLite); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that its time is up", err)
	}
	if err := first.Unlock(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Up(t.Context(), db, SQLite); err != nil {
			t.Fatal(err)
		}
	}
}

func openSQLite(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "schema.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
