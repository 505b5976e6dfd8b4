package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// grantsWithin is how long the look at the journal's database may take.
const grantsWithin = 10 * time.Second

// The numbers of errors of MySQL and MariaDB that tell about rights.
const (
	noSuchTable    = 1146
	databaseDenied = 1044
	userDenied     = 1045
	tableDenied    = 1142
	noDatabase     = 1049
)

// grants looks whether the journal's user may do what the journal needs. Nothing
// is written: explaining a statement needs the rights of the statement.
func (e *examination) grants(ctx context.Context, file string) {
	config, err := journalConfig(file)
	if err != nil {
		e.add(bad("grants", "give the file that rolloutd has as --journal-file", "%v", err))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, grantsWithin)
	defer cancel()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		e.add(bad("grants", "mend "+file, "%s: %v", config.Addr, err))
		return
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	e.add(e.tried(ctx, db, config))
}

// tried tries each right, and names those that are missing.
func (e *examination) tried(ctx context.Context, db *sql.DB, config *mysql.Config) diagnosis {
	where := config.DBName + " at " + config.Addr
	var lacks []string
	missing := false
	for _, need := range []struct{ right, statement string }{
		{"SELECT", "EXPLAIN SELECT place FROM events WHERE place = 0"},
		{"INSERT", "EXPLAIN INSERT INTO readers (name, place) VALUES ('', 0)"},
		{"UPDATE", "EXPLAIN UPDATE rollouts SET version = 0 WHERE 1 = 0"},
		{"DELETE", "EXPLAIN DELETE FROM claims WHERE 1 = 0"},
	} {
		err := explain(ctx, db, need.statement)
		said, ok := errors.AsType[*mysql.MySQLError](err)
		switch {
		case err == nil:
		case !ok:
			return bad("grants", "is the database up, and is there a way from here?", "%s: %v", where, err)
		case said.Number == tableDenied:
			lacks = append(lacks, need.right)
		case said.Number == noSuchTable:
			missing = true
		default:
			return refusedEntry(config, where, said)
		}
	}
	user := currentUser(ctx, db, config)
	switch {
	case len(lacks) > 0:
		return bad("grants", fmt.Sprintf("run on it: GRANT %s ON `%s`.* TO %s;", strings.Join(lacks, ", "), config.DBName, user),
			"%s: %s may not %s", where, user, strings.Join(lacks, ", "))
	case missing && !mayCreate(ctx, db, config.DBName):
		return odd("grants", fmt.Sprintf("if rolloutd cannot make them, run on it: GRANT CREATE, REFERENCES ON `%s`.* TO %s;", config.DBName, user),
			"%s: the journal's tables are not there yet, and nothing says that %s may make them", where, user)
	case missing:
		return well("grants", "%s: the journal's tables are not there yet; %s may make them", where, user)
	default:
		return well("grants", "%s: %s may read, add, change and delete rows", where, user)
	}
}

// explain asks how a statement would be done, which needs the rights to do it.
func explain(ctx context.Context, db *sql.DB, statement string) error {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() { // to the end: an error may come late
		continue
	}
	return rows.Err()
}

// journalConfig reads where the journal is. The DSN has a password: it is never repeated.
func journalConfig(file string) (*mysql.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading where the journal is: %w", err)
	}
	dsn, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "mysql:")
	if !ok {
		return nil, fmt.Errorf("%s: has no journal on MySQL, mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE (it is not repeated here)", file)
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil || config.DBName == "" {
		return nil, fmt.Errorf("%s: must have mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE (it is not repeated here)", file)
	}
	config.Logger = &mysql.NopLogger{}
	config.Timeout = 3 * time.Second
	return config, nil
}

// refusedEntry says why nothing could be tried at all.
func refusedEntry(config *mysql.Config, where string, said *mysql.MySQLError) diagnosis {
	switch said.Number {
	case userDenied:
		return bad("grants", "is that the user's password, and may it come from here?", "%s: %s", where, said.Message)
	case databaseDenied:
		return bad("grants", "run on it: "+missingGrant(said.Message), "%s: %s", where, said.Message)
	case noDatabase:
		return bad("grants", fmt.Sprintf("run on it: CREATE DATABASE `%s` CHARACTER SET utf8mb4;", config.DBName), "%s: %s", where, said.Message)
	default:
		return bad("grants", "the server's log may know more", "%s: %s", where, said.Message)
	}
}

// allGrants is all that the journal's user needs.
func allGrants(database, user string) string {
	return fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON `%s`.* TO %s;", database, user)
}

// currentUser returns the account that the server took us for.
func currentUser(ctx context.Context, db *sql.DB, config *mysql.Config) string {
	account := config.User + "@%"
	var said string
	if err := db.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&said); err == nil {
		account = said
	}
	at := strings.LastIndex(account, "@")
	return quotedName(account[:at]) + "@" + quotedName(account[at+1:])
}

// quotedName writes a name of an account as SQL does.
func quotedName(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

// mayCreate reports whether it is known that we may make tables; rights that
// come by a role are not seen.
func mayCreate(ctx context.Context, db *sql.DB, database string) bool {
	var n int
	err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM (
		SELECT privilege_type FROM information_schema.user_privileges WHERE privilege_type = 'CREATE'
		UNION ALL
		SELECT privilege_type FROM information_schema.schema_privileges WHERE privilege_type = 'CREATE' AND ? LIKE table_schema
	) AS p`, database).Scan(&n)
	return err == nil && n > 0
}

// missingGrant is the statement that grants what an error of the journal's
// database says is missing; empty if it says nothing of that. The error has the
// host that a user came from; the account may have a pattern.
func missingGrant(why string) string {
	if denied := tableDenial().FindStringSubmatch(why); denied != nil {
		database := denied[3]
		if denied[4] == "" { // MySQL names the table only
			database = "DATABASE"
		}
		return fmt.Sprintf("GRANT %s ON `%s`.* TO %s; -- at the host that the account has", denied[1], database, denied[2])
	}
	if denied := databaseDenial().FindStringSubmatch(why); denied != nil {
		return allGrants(denied[2], denied[1]) + " -- at the host that the account has"
	}
	return ""
}

func tableDenial() *regexp.Regexp {
	return regexp.MustCompile("([A-Z]+(?:, [A-Z]+)*) command denied to user ('[^']*'@'[^']*') for table [`']([^`']+)[`'](?:\\.[`']([^`']+)[`'])?")
}

func databaseDenial() *regexp.Regexp {
	return regexp.MustCompile(`Access denied for user ('[^']*'@'[^']*') to database '([^']+)'`)
}
