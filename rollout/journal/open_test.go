package journal_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func opening() []promise {
	return []promise{
		{"many programs may start on one empty database at once", startersTakeTurns},
		{"a database of a newer program is refused and left alone", newerSchema},
		{"a journal goes on where it was closed", openedAgain},
	}
}

func startersTakeTurns(t *testing.T, e *engine) {
	source := e.source(t)
	var starting sync.WaitGroup
	for range 8 {
		starting.Go(func() {
			j, err := journal.Open(t.Context(), source, discard())
			if err != nil {
				t.Error(err)
				return
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	var times, versions int
	err := raw(t, source).QueryRowContext(t.Context(), `SELECT COUNT(*), COUNT(DISTINCT version_id) FROM goose_db_version`).Scan(&times, &versions)
	if err != nil {
		t.Fatal(err)
	}
	if times != versions {
		t.Errorf("%d versions were applied %d times", versions, times)
	}
}

func newerSchema(t *testing.T, e *engine) {
	source := e.source(t)
	if err := open(t, source).Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, source)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, TRUE)`); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(t.Context(), source, discard()); err == nil || !strings.Contains(err.Error(), "version 999") {
		t.Errorf("got %v, want that version 999 is refused", err)
	}
	if _, err := db.ExecContext(t.Context(), `DELETE FROM goose_db_version WHERE version_id = 999`); err != nil {
		t.Fatal(err)
	}
	open(t, source)
}

func openedAgain(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")), event(rollout.Started))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, source)
	got, err := j.State(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	same(t, s, got)
	add(t, j, got, noted("goes on"))
	mustHold(t, j)
}

func TestSourceThatCannotBeOpenedIsRefusedWithoutItsPassword(t *testing.T) {
	refusing, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := refusing.Addr().String()
	if err := refusing.Close(); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"":                              "must be sqlite:PATH or mysql:DSN",
		"sqlite:":                       "the path of its file",
		"sqlite:/no/such/folder/j.db":   "/no/such/folder/j.db",
		"root:s3cret@tcp(db:3306)/x":    "must be sqlite:PATH or mysql:DSN",
		"mysql:":                        "must be USER:PASSWORD@",
		"mysql:root:s3cret@tcp(db:3306": "must be USER:PASSWORD@",
		"mysql:root:s3cret@tcp(db)/":    "must be USER:PASSWORD@",
		"mysql:root:p/s3cret%zz":        "must be USER:PASSWORD@",
		"mysql:root:s3cret@tcp(db:3306)/x?tls=s3cret":           "must be USER:PASSWORD@",
		"mysql:root:s3cret@tcp(db:3306)/x?sql_mode=s3cret":      "unknown parameters sql_mode",
		"mysql:root:s3cret@tcp(" + address + ")/x":              "connection refused",
		"mysql:root:s3cret@tcp(" + address + ")/x?timeout=50ms": address,
	} {
		var logged bytes.Buffer
		_, err := journal.Open(t.Context(), source, slog.New(slog.NewTextHandler(&logged, nil)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
			continue
		}
		if strings.Contains(err.Error()+logged.String(), "s3cret") {
			t.Errorf("%s: the password is told: %v, %s", source, err, &logged)
		}
	}
}

func TestServerThatAcceptsAndSaysNothingEndsWithTheContext(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = journal.Open(ctx, "mysql:root:s3cret@tcp("+silent.Addr().String()+")/x", discard())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that its time is up", err)
	}
}

func TestSQLiteFileHasTheNameItWasGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c=1#d%41&é.db")
	add(t, open(t, "sqlite:"+path), rollout.State{}, planned(plan("orders", "db")))
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if s, err := open(t, "sqlite:"+path).State(t.Context(), "orders"); err != nil || s.Version != 1 {
		t.Errorf("version %d, error %v; want 1", s.Version, err)
	}
}

func TestSQLiteInMemoryEndsWithItsJournal(t *testing.T) {
	j := open(t, "sqlite::memory:")
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")), event(rollout.Started))
	if won := race(t, []*journal.Journal{j}, s, noted("me")); won != 1 {
		t.Errorf("%d writers won", won)
	}
	mustHold(t, j)
	// A second connection would find another memory, without a journal.
	only, err := j.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := j.States(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that it waits for the only connection", err)
	}
	if err := only.Close(); err != nil {
		t.Fatal(err)
	}
	if states, err := open(t, "sqlite::memory:").States(t.Context()); err != nil || len(states) != 0 {
		t.Errorf("%d rollouts in another memory, error %v", len(states), err)
	}
}

func TestSQLiteConnectionsAreDurable(t *testing.T) {
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "journal.db")).DB()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

func TestSQLiteTransactionTakesItsTurnBeforeItReads(t *testing.T) {
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "journal.db")).DB()
	first, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.BeginTx(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that its time is up", err)
	}
}

// In a bubble the five seconds pass at once.
func TestCallEndsAfterFiveSecondsIfItsContextDoesNot(t *testing.T) {
	source := "sqlite:" + filepath.Join(t.TempDir(), "journal.db")
	synctest.Test(t, func(t *testing.T) {
		j := open(t, source)
		s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
		other, err := raw(t, source).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Rollback()
		if _, err := other.ExecContext(t.Context(), `UPDATE journal SET epoch = 9`); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, _, err := j.Append(t.Context(), s, noted("waits")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that its time is up", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
