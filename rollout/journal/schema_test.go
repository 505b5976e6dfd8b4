package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3/lock"

	"github.com/seed-c8cbbb61/cutover/migrations"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

// schemas are promises about the schema on MySQL, held against that on SQLite.
func schemas() []promise {
	return []promise{
		{"the schema has the same columns and keys on both databases", sameSchema},
		{"the schema keeps types and case apart", strictSchema},
		{"a migration waits for its turn as long as its context, and has it afterwards", migrationWaits},
		{"a migration refuses at once a connection that it would wait on in vain", migrationNeedsTimes},
		{"half a migration is done again", halfMigrated},
	}
}

// Columns and keys as text, of our tables alone.
const (
	sqliteColumns = `SELECT t.name || '.' || c.name || ' ' ||
			CASE c.type WHEN 'INTEGER' THEN 'number' WHEN 'TEXT' THEN 'text' ELSE 'bytes' END ||
			CASE WHEN c."notnull" THEN '' ELSE ' or null' END
		FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.name NOT LIKE 'goose%' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid`

	mysqlColumns = `SELECT CONCAT(table_name, '.', column_name, ' ',
			CASE data_type WHEN 'bigint' THEN 'number' WHEN 'varchar' THEN 'text' WHEN 'longtext' THEN 'text' ELSE 'bytes' END,
			IF(is_nullable = 'YES', ' or null', ''))
		FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' ORDER BY table_name, ordinal_position`

	// A key that is one number is SQLite's rowid, and has no index.
	sqliteKeys = `SELECT t.name || ' ' || group_concat(c.name ORDER BY c.seqno)
		FROM pragma_table_list t JOIN pragma_index_list(t.name) i JOIN pragma_index_info(i.name) c
		WHERE t.schema = 'main' AND t.name NOT LIKE 'goose%' AND i."unique" GROUP BY t.name, i.name
		UNION ALL SELECT t.name || ' ' || c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.name NOT LIKE 'goose%' AND c.pk = 1 AND c.type = 'INTEGER' ORDER BY 1`

	mysqlKeys = `SELECT CONCAT(table_name, ' ', GROUP_CONCAT(column_name ORDER BY seq_in_index)) AS k
		FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' AND NOT non_unique
		GROUP BY table_name, index_name ORDER BY k`
)

func sameSchema(t *testing.T, e *engine) {
	lite, my := open(t, "sqlite::memory:").DB(), open(t, e.source(t)).DB()
	for _, query := range []struct{ lite, my string }{{sqliteColumns, mysqlColumns}, {sqliteKeys, mysqlKeys}} {
		onLite := lines(t, lite, query.lite)
		if len(onLite) == 0 {
			t.Fatal("there are no tables")
		}
		if diff := cmp.Diff(onLite, lines(t, my, query.my)); diff != "" {
			t.Errorf("sqlite -, mysql +:\n%s", diff)
		}
	}
}

func strictSchema(t *testing.T, e *engine) {
	lite, my := open(t, "sqlite::memory:").DB(), open(t, e.source(t)).DB()
	if loose := lines(t, lite, `SELECT name FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' AND NOT strict`); loose != nil {
		t.Errorf("not strict: %v", loose)
	}
	if loose := lines(t, my, `SELECT CONCAT(table_name, '.', column_name, ' ', collation_name) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' AND collation_name NOT IN ('utf8mb4_bin', 'ascii_bin')`); loose != nil {
		t.Errorf("not binary: %v", loose)
	}
}

func migrationWaits(t *testing.T, e *engine) {
	source := e.source(t)
	db := raw(t, source)
	first, err := lock.NewMySQLTableLocker()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Lock(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := journal.Open(short, source, discard()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that its time is up", err)
	}
	if err := first.Unlock(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	open(t, source)
}

func migrationNeedsTimes(t *testing.T, e *engine) {
	db, err := sql.Open("mysql", strings.TrimPrefix(e.source(t), "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := migrations.Up(t.Context(), db, migrations.MySQL); err == nil || !strings.Contains(err.Error(), "parseTime=true") {
		t.Errorf("got %v, want that parseTime is asked for", err)
	}
}

// MySQL commits each DDL statement: whoever dies between the last of them and
// the record of the version leaves tables that are there already.
func halfMigrated(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	for _, undo := range [][]string{
		{`DELETE FROM goose_db_version WHERE version_id > 0`},
		{`DELETE FROM goose_db_version WHERE version_id > 0`, `DROP TABLE readers`},
	} {
		for _, query := range undo {
			if _, err := raw(t, source).ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		j = open(t, source)
		s = add(t, j, s, noted("goes on"))
	}
	if err := j.Keep(t.Context(), "slack", 1); err != nil {
		t.Error(err)
	}
	mustHold(t, j)
}

func lines(t *testing.T, db *sql.DB, query string) (found []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		found = append(found, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
