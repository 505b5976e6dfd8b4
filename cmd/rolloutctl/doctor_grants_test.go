package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/journal/mariadbtest"
)

// lookAtGrants looks by a file with the place of a journal.
func lookAtGrants(ctx context.Context, t *testing.T, place string) diagnosis {
	t.Helper()
	file := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(file, []byte(place+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := examined()
	e.grants(ctx, file)
	if len(e.found) != 1 {
		t.Fatalf("found %+v", e.found)
	}
	return e.found[0]
}

func TestTheGrantThatTheJournalsUserLacksIsNamed(t *testing.T) {
	server := mariadbtest.Start(t)
	dsn := server.DSN("cutover")
	empty := server.DSN("unmade")
	j, err := journal.Open(t.Context(), "mysql:"+dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	const user = "'cutover'@'127.0.0.1'"
	for rights, want := range map[string]diagnosis{
		"SELECT, INSERT, UPDATE, DELETE":         {Result: "ok", Why: user + " may read, add, change and delete rows"},
		"SELECT, INSERT, UPDATE, DELETE, CREATE": {Result: "ok", Why: user + " may read, add, change and delete rows"},
		"SELECT, UPDATE":                         {Result: "fail", Why: user + " may not INSERT, DELETE", Fix: "run on it: GRANT INSERT, DELETE ON `cutover`.* TO " + user + ";"},
		"INSERT, UPDATE, DELETE":                 {Result: "fail", Why: user + " may not SELECT", Fix: "run on it: GRANT SELECT ON `cutover`.* TO " + user + ";"},
		"":                                       {Result: "fail", Why: "Access denied for user " + user + " to database 'cutover'", Fix: "run on it: GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON `cutover`.* TO " + user + ";"},
	} {
		server.Limit("cutover", rights)
		got := lookAtGrants(t.Context(), t, "mysql:"+dsn)
		if got.Name != "grants" || got.Result != want.Result || !strings.HasPrefix(got.Why, "cutover at 127.0.0.1:") || !strings.HasSuffix(got.Why, want.Why) || !strings.HasPrefix(got.Fix, want.Fix) {
			t.Errorf("with %q: %+v", rights, got)
		}
	}
	if got := lookAtGrants(t.Context(), t, "mysql:"+empty); got.Result != "ok" || !strings.HasSuffix(got.Why, "the journal's tables are not there yet; 'unmade'@'127.0.0.1' may make them") {
		t.Errorf("before the first start: %+v", got)
	}
	server.Limit("unmade", "SELECT, INSERT, UPDATE, DELETE")
	if got := lookAtGrants(t.Context(), t, "mysql:"+empty); got.Result != "warn" || !strings.Contains(got.Fix, "GRANT CREATE, REFERENCES ON `unmade`.* TO 'unmade'@'127.0.0.1';") {
		t.Errorf("where nothing can be made: %+v", got)
	}
	if got := lookAtGrants(t.Context(), t, "mysql:"+strings.Replace(dsn, "cutover:", "nobody:", 1)); got.Result != "fail" || !strings.Contains(got.Fix, "password") {
		t.Errorf("as nobody: %+v", got)
	}
	server.Stop()
	if got := lookAtGrants(t.Context(), t, "mysql:"+dsn); got.Result != "fail" || !strings.HasPrefix(got.Fix, "is the database up") {
		t.Errorf("while it is away: %+v", got)
	}
}

func TestAPlaceOfAJournalThatIsNoneIsNeverRepeated(t *testing.T) {
	for _, place := range []string{"sqlite:var/journal.db", "mysql:cutover:s3cret@tcp(127.0.0.1", "mysql:cutover:s3cret@tcp(127.0.0.1:1)/", ""} {
		got := lookAtGrants(t.Context(), t, place)
		if got.Result != "fail" || strings.Contains(got.Why+got.Fix, "s3cret") || !strings.Contains(got.Why, "mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE") {
			t.Errorf("%q: %+v", place, got)
		}
	}
	e := examined()
	if e.grants(t.Context(), "none"); e.found[0].Result != "fail" || !strings.Contains(e.found[0].Why, "no such file") {
		t.Errorf("without a file: %+v", e.found)
	}
}
