package main

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal/mariadbtest"
)

func TestAReferenceLeadsToASecret(t *testing.T) {
	folder := t.TempDir()
	path := keep(t, folder, "secret", " hunter2\n")
	t.Setenv("CUTOVER_TEST_SECRET", "hunter2")
	for from, want := range map[reference]string{
		reference(path):                             "hunter2",
		reference("file:" + path):                   "hunter2",
		"env:CUTOVER_TEST_SECRET":                   "hunter2",
		"env:CUTOVER_TEST_NOTHING":                  "reading a secret: the environment has no CUTOVER_TEST_NOTHING",
		reference(filepath.Join(folder, "nothing")): "reading a secret: open " + filepath.Join(folder, "nothing"),
		reference(keep(t, folder, "empty", " \n")):  "reading a secret: " + filepath.Join(folder, "empty") + " is empty",
	} {
		got, err := from.read()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s leads to %q, want %q", from, got, want)
		}
	}
}

func TestWhileASecretCannotBeReadTheLastOneStaysGoodAndItIsSaidOnce(t *testing.T) {
	path := keep(t, t.TempDir(), "secret", "first")
	var log bytes.Buffer
	s, err := follow(reference(path), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, nil, 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if got := s.now(t.Context()); got != "first" {
			t.Errorf("the secret is %q", got)
		}
	}
	if n := strings.Count(log.String(), "the last one stays good"); n != 1 || strings.Contains(log.String(), "first") {
		t.Errorf("said %d times:\n%s", n, &log)
	}
	keep(t, filepath.Dir(path), "secret", "second")
	if got := s.now(t.Context()); got != "second" {
		t.Errorf("then it is %q", got)
	}
}

func TestFliptsTokenIsReplacedWithoutARestart(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		server, err := flipttest.NewServer(version, fliptToken)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		target, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		// A Flipt whose token can change.
		var good atomic.Value
		good.Store("first")
		behind := httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.Header.Get("Authorization") == "Bearer "+good.Load().(string) {
				r.Out.Header.Set("Authorization", "Bearer "+fliptToken)
			}
		}}
		changing := httptest.NewServer(&behind)
		defer changing.Close()

		folder := t.TempDir()
		h := &house{log: slog.New(slog.DiscardHandler), options: options{
			Flipt: changing.URL, FliptTokenFile: reference("file:" + keep(t, folder, "token", "first")),
		}}
		var settings controller.Options
		if _, err := h.openFlags(t.Context(), &settings); err != nil {
			t.Fatal(err)
		}
		key := flags.Key{Namespace: "default", Name: "orders-db-reads"}
		if err := settings.Flags.(*flipt.Store).Create(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		write := func(share flags.Share) error {
			now, err := settings.Flags.Read(t.Context(), key)
			if err == nil {
				_, err = settings.Flags.Write(t.Context(), key, flags.Change{Kind: flags.Raise, Share: share, Revision: now.Revision, Rollout: "orders-db", Epoch: 1})
			}
			return err
		}
		if err := write(25); err != nil {
			t.Fatal(err)
		}
		good.Store("second")
		if err := write(50); err == nil {
			t.Error("the former token is still good")
		}
		keep(t, folder, "token", "second\n")
		if err := write(50); err != nil {
			t.Errorf("Flipt v%d: after the file has the new token: %v", version, err)
		}
	}
}

// denied reports whether a server lets nobody in by such a password.
func denied(err error) bool {
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && refused.Number == 1045
}

func TestTheJournalsPasswordIsReplacedWithoutARestart(t *testing.T) {
	server := mariadbtest.Start(t)
	dsn := server.DSN("cutover")
	folder := t.TempDir()
	var log bytes.Buffer
	j, err := openJournal(t.Context(), options{JournalFile: reference("file:" + keep(t, folder, "dsn", "mysql:"+dsn))}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	use := func() error {
		_, err := j.Lead(t.Context())
		return err
	}
	if err := use(); err != nil {
		t.Fatal(err)
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	admin.SetMaxOpenConns(1) // it was let in already, and stays
	// cut ends all connections but its own, as a server does in time.
	cut := func() {
		t.Helper()
		rows, err := admin.QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID()")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var ids []int64
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			_, _ = admin.ExecContext(t.Context(), "KILL ?", id) // it may have gone by itself
		}
	}
	const replaced = "replaced-password"
	if _, err := admin.ExecContext(t.Context(), "SET PASSWORD = PASSWORD('"+replaced+"')"); err != nil {
		t.Fatal(err)
	}
	cut()
	if first, second := use(), use(); !denied(first) && !denied(second) { // the first may meet a connection that was cut
		t.Errorf("with the former password: %v, %v", first, second)
	}
	config.Passwd = replaced
	keep(t, folder, "dsn", "mysql:"+config.FormatDSN())
	cut()
	if first, second := use(), use(); first != nil && second != nil {
		t.Errorf("after the file has the new password: %v, %v", first, second)
	}
	config.DBName = "another"
	keep(t, folder, "dsn", "mysql:"+config.FormatDSN())
	cut()
	_ = use()
	_ = use()
	if !strings.Contains(log.String(), "the journal's source names another database now") {
		t.Errorf("that another database is not followed is not said:\n%s", &log)
	}
	if strings.Contains(log.String(), replaced) || strings.Contains(log.String(), dsn) {
		t.Errorf("the log has a secret:\n%s", &log)
	}
}
