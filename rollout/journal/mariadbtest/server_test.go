package mariadbtest

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestServer(t *testing.T) {
	server := Start(t)

	t.Run("what was committed outlives a stop and a kill, under the same address", func(t *testing.T) {
		db := open(t, server.DSN("outlives"))
		mustExec(t, db, "CREATE TABLE n (n INT PRIMARY KEY)")
		for i, end := range []func(){server.Stop, server.Kill} {
			mustExec(t, db, fmt.Sprintf("INSERT INTO n VALUES (%d)", i))
			end()
			if _, err := db.ExecContext(t.Context(), "SELECT 1"); err == nil {
				t.Fatal("an ended server answered")
			}
			server.StartAgain()
			if got := count(t, db, "SELECT COUNT(*) FROM n"); got != i+1 {
				t.Fatalf("%d rows after the return, want %d", got, i+1)
			}
		}
	})

	t.Run("a database asked for again is empty again", func(t *testing.T) {
		mustExec(t, open(t, server.DSN("again/`it`")), "CREATE TABLE n (n INT)")
		got := count(t, open(t, server.DSN("again/`it`")),
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()")
		if got != 0 {
			t.Fatalf("%d tables in a fresh database", got)
		}
	})

	t.Run("the user has no rights outside its database", func(t *testing.T) {
		server.DSN("theirs")
		db := open(t, server.DSN("ours"))
		for _, forbidden := range []string{
			"CREATE DATABASE another",
			"CREATE TABLE theirs.t (n INT)",
			"SELECT * FROM mysql.global_priv",
			"SET GLOBAL read_only = 1",
			"CREATE USER another",
		} {
			if _, err := db.ExecContext(t.Context(), forbidden); err == nil {
				t.Errorf("%s: was allowed", forbidden)
			}
		}
	})

	t.Run("it cannot be reached from another machine, nor without a password", func(t *testing.T) {
		var address string
		row := open(t, server.DSN("address")).QueryRowContext(t.Context(), "SELECT @@bind_address")
		if err := row.Scan(&address); err != nil || address != "127.0.0.1" {
			t.Errorf("bind_address is %q (%v), want 127.0.0.1", address, err)
		}
		for _, user := range []string{"root", "", "mariadb.sys"} {
			if err := open(t, server.config(user, "").FormatDSN()).PingContext(t.Context()); err == nil {
				t.Errorf("user %q came in without a password", user)
			}
		}
	})
}

func TestServersLiveSideBySideAndEndWithTheirTest(t *testing.T) {
	var ports []int
	t.Run("life", func(t *testing.T) {
		for range 2 {
			server := Start(t)
			mustExec(t, open(t, server.DSN("same_name")), "CREATE TABLE only_here (n INT)")
			ports = append(ports, server.port)
		}
	})
	for _, port := range ports {
		if answers(t.Context(), port) {
			t.Errorf("port %d still answers after its test", port)
		}
	}
}

// A test binary that is killed (a timeout, an impatient person) must not leave
// servers behind on the machine.
func TestServerEndsWithAKilledTestBinary(t *testing.T) {
	const told = "MARIADBTEST_WAIT_TO_BE_KILLED"
	if os.Getenv(told) != "" {
		fmt.Printf("\nport %d\n", Start(t).port)
		<-t.Context().Done()
		return
	}

	binary := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	binary.Env = append(os.Environ(), told+"=1", "TMPDIR="+t.TempDir())
	out, err := binary.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := binary.Start(); err != nil {
		t.Fatal(err)
	}
	port, said := 0, ""
	for lines := bufio.NewScanner(out); port == 0 && lines.Scan(); {
		said += lines.Text() + "\n"
		_, _ = fmt.Sscanf(lines.Text(), "port %d", &port)
	}
	killed := binary.Process.Kill()
	_ = binary.Wait()
	if port == 0 || killed != nil {
		t.Fatalf("no running server to leave behind (%v):\n%s", killed, said)
	}

	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for answers(t.Context(), port) {
		select {
		case <-late.C:
			t.Fatalf("port %d still answers after its test binary was killed", port)
		case <-again.C:
		}
	}
}

func TestMissingProgramTellsWhatToInstall(t *testing.T) {
	_, err := findProgram("mariadbd-is-not-here")
	if err == nil || !strings.Contains(err.Error(), "apt-get install") {
		t.Fatalf("got %v, want what to install", err)
	}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, db *sql.DB, query string) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func answers(ctx context.Context, port int) bool {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	c.Close()
	return true
}
