package mariadbtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findProgram takes the first that can be run. Debian keeps servers outside an
// ordinary user's PATH.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("looking for %s: none can be run; install it with "+
		"`apt-get install --no-install-recommends mariadb-server-core` (./test.sh does)",
		strings.Join(names, ", "))
}

// command is the server's command line on its own data, with nothing taken from
// the machine's configuration and as little memory as does the work.
func (s *Server) command(more ...string) *exec.Cmd {
	args := []string{
		"--no-defaults", // must be the first
		"--datadir=" + filepath.Join(s.dir, "data"),
		"--bind-address=127.0.0.1",
		"--skip-name-resolve",
		"--socket=mariadbd.sock", // relative to the data: a longer path may be refused
		"--pid-file=mariadbd.pid",
		"--innodb-buffer-pool-size=32M",
		"--innodb-log-file-size=8M",
		"--performance-schema=OFF",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // refuses to run as root unless told
	}
	// Not the test's own context: that ends before the test's clean-up, in
	// which others may still need the server. end kills it.
	return exec.CommandContext(context.WithoutCancel(s.t.Context()), s.program, append(args, more...)...)
}

// createSystemTables does what mariadb-install-db does, in a quarter of its
// time, and gives root a password.
func (s *Server) createSystemTables() error {
	if err := os.Mkdir(filepath.Join(s.dir, "data"), 0o700); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	script, err := s.systemTables()
	if err != nil {
		return err
	}
	create := s.command("--bootstrap")
	create.Stdin = script
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("creating the system tables: %w\n%s", err, out)
	}
	return nil
}

func (s *Server) systemTables() (io.Reader, error) {
	// One statement a line: that is how --bootstrap reads.
	script := bytes.NewBufferString("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	share := filepath.Join(filepath.Dir(filepath.Dir(s.program)), "share", "mysql")
	for _, name := range []string{
		"mysql_system_tables.sql",
		"mysql_performance_tables.sql",
		"mysql_system_tables_data.sql",
	} {
		text, err := os.ReadFile(filepath.Join(share, name))
		if err != nil {
			return nil, fmt.Errorf("reading the server's own tables: %w", err)
		}
		script.Write(text)
	}
	fmt.Fprintf(script, "UPDATE global_priv SET Priv=JSON_SET(Priv, '$.plugin', 'mysql_native_password', "+
		"'$.authentication_string', PASSWORD('%s')) WHERE User='root';\n", s.rootPassword)
	return script, nil
}
