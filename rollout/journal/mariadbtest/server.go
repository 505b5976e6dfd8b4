package mariadbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Bounds on the server's answers, wide enough for a busy two-core machine.
const (
	readyWithin   = 60 * time.Second
	stoppedWithin = 60 * time.Second
	askEvery      = 20 * time.Millisecond
	portTries     = 5
)

// Server is a running MariaDB server that belongs to one test. Its methods
// fail that test when they cannot do what they say; call them from the test's
// own goroutine.
type Server struct {
	t            testing.TB
	program      string
	dir          string
	rootPassword string
	port         int
	process      *process // nil while stopped
}

// Start starts a server that ends with the test t, and waits until it answers.
// It takes about a second; tests that can share a server are subtests of one.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := findProgram("mariadbd", "/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, program: program, dir: t.TempDir(), rootPassword: rand.Text()}
	if err := s.createSystemTables(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)

	// Between finding a free port and the server's listening, another program
	// may take it: then the server exits, and another port is tried.
	for range portTries {
		if s.port, err = freePort(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err = s.run(); !errors.Is(err, errExited) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// DSN makes an empty database of the given name, dropping one that is there,
// with a user of its own who has the usual rights on that database and none
// outside it. It returns the data source name for github.com/go-sql-driver/mysql.
func (s *Server) DSN(database string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), readyWithin)
	defer cancel()
	root, err := s.root()
	if err != nil {
		s.t.Fatal(err)
	}
	defer root.Close()

	quoted := "`" + strings.ReplaceAll(database, "`", "``") + "`"
	password := rand.Text()
	for _, q := range []struct {
		text string
		args []any
	}{
		{text: "DROP DATABASE IF EXISTS " + quoted},
		{text: "CREATE DATABASE " + quoted},
		{text: "CREATE OR REPLACE USER ?@'127.0.0.1' IDENTIFIED BY ?", args: []any{database, password}},
		{text: "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, TRIGGER ON " +
			quoted + ".* TO ?@'127.0.0.1'", args: []any{database}},
	} {
		if _, err := root.ExecContext(ctx, q.text, q.args...); err != nil {
			s.t.Fatalf("making database %q: %v", database, err)
		}
	}
	config := s.config(database, password)
	config.DBName = database
	return config.FormatDSN()
}

// Limit leaves the user of a database that [Server.DSN] made these rights on it
// and no others: such as SELECT, INSERT; none at all for an empty text.
func (s *Server) Limit(database, rights string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), readyWithin)
	defer cancel()
	root, err := s.root()
	if err != nil {
		s.t.Fatal(err)
	}
	defer root.Close()
	statements := []string{"REVOKE ALL PRIVILEGES, GRANT OPTION FROM ?@'127.0.0.1'"}
	if rights != "" {
		statements = append(statements, "GRANT "+rights+" ON `"+strings.ReplaceAll(database, "`", "``")+"`.* TO ?@'127.0.0.1'")
	}
	for _, statement := range statements {
		if _, err := root.ExecContext(ctx, statement, database); err != nil {
			s.t.Fatalf("limiting the user of %q to %q: %v", database, rights, err)
		}
	}
}

// Stop ends the server in good order; its data stay.
func (s *Server) Stop() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.stop(stoppedWithin); err != nil {
		s.t.Fatalf("stopping mariadbd: %v", err)
	}
	s.process = nil
}

// Kill ends the server as a loss of power would, as far as a process can.
func (s *Server) Kill() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	s.process.kill()
	s.process = nil
}

// StartAgain starts a stopped or killed server with the same data on the same
// port, and waits until it answers.
func (s *Server) StartAgain() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatal("starting mariadbd again: it is still running")
	}
	if err := s.run(); err != nil {
		s.t.Fatal(err)
	}
}

// end is not gentle: the data go with the test.
func (s *Server) end() {
	s.Kill()
	if !s.t.Failed() {
		return
	}
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		s.t.Logf("reading mariadbd's log: %v", err)
		return
	}
	s.t.Logf("mariadbd's log:\n%s", log)
}

// run starts the process and waits for its first answer. Only this server knows
// its root password, so no other server on the port can answer in its place.
func (s *Server) run() error {
	process, err := launch(s.command("--port="+strconv.Itoa(s.port)), s.logFile())
	if err != nil {
		return err
	}
	root, err := s.root()
	if err != nil {
		process.kill()
		return err
	}
	defer root.Close()

	ctx, cancel := context.WithTimeout(s.t.Context(), readyWithin)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	refusal := context.DeadlineExceeded
	for {
		err := root.PingContext(ctx)
		if err == nil {
			s.process = process
			return nil
		}
		if ctx.Err() == nil {
			refusal = err // the last that the server gave, not that of our own limit
		}
		select {
		case <-process.exited:
			return fmt.Errorf("waiting for mariadbd on port %d: %w, see %s", s.port, errExited, s.logFile())
		case <-ctx.Done():
			process.kill()
			return fmt.Errorf("waiting %v for mariadbd on port %d: %w", readyWithin, s.port, refusal)
		case <-again.C:
		}
	}
}

func (s *Server) root() (*sql.DB, error) {
	config := s.config("root", s.rootPassword)
	config.InterpolateParams = true // CREATE USER cannot be prepared
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("configuring root's connection: %w", err)
	}
	return sql.OpenDB(connector), nil
}

func (s *Server) config(user, password string) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	c.User, c.Passwd = user, password
	c.Timeout = 5 * time.Second
	c.Logger = new(mysql.NopLogger) // refusals are expected until it is ready
	return c
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "mariadbd.log") }

// freePort looks below the ports that the system gives to outgoing connections,
// so that a stopped server finds its own still free.
func freePort(ctx context.Context) (int, error) {
	var refusal error
	for range 100 {
		port := 20000 + mathrand.N(12000)
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
		refusal = err
	}
	return 0, fmt.Errorf("looking for a free port: %w", refusal)
}
