package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

// crashSource makes this program a writer that appends until it is killed.
const crashSource = "JOURNAL_TEST_CRASH_SOURCE"

func TestMain(m *testing.M) {
	if source := os.Getenv(crashSource); source != "" {
		fmt.Fprintln(os.Stderr, appendForEver(context.Background(), source))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForEver tells the place of each event once it is stored.
func appendForEver(ctx context.Context, source string) error {
	j, err := journal.Open(ctx, source, discard())
	if err != nil {
		return err
	}
	s, err := j.State(ctx, "orders")
	if err != nil {
		return err
	}
	for {
		var e rollout.Event
		if s, e, err = j.Append(ctx, s, noted("and on")); err != nil {
			return err
		}
		fmt.Println(e.Place)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestKilledWriterLosesNothingThatWasAcknowledged(t *testing.T) {
	source := "sqlite:" + filepath.Join(t.TempDir(), "journal.db")
	add(t, open(t, source), rollout.State{}, planned(plan("orders", "db")))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kill := range 6 {
		acknowledged := killAfter(t, program, source, 3+7*kill)
		j := open(t, source)
		s, err := j.State(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		// One more may have been stored and not told.
		if got := int(s.Version); got != acknowledged && got != acknowledged+1 {
			t.Errorf("%d events are there, %d were acknowledged", got, acknowledged)
		}
		add(t, j, s, noted("after the crash"))
		mustHold(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter runs a writer until it has told so many places, kills it, and
// returns the last place that it told.
func killAfter(t *testing.T, program, source string, places int) int {
	t.Helper()
	writer := exec.CommandContext(t.Context(), program)
	writer.Env = append(os.Environ(), crashSource+"="+source)
	writer.Stderr = os.Stderr
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	last := 0
	for told := bufio.NewScanner(out); told.Scan(); {
		if last, err = strconv.Atoi(told.Text()); err != nil {
			t.Fatal(err)
		}
		if places--; places == 0 {
			if err := writer.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Wait(); err == nil || places > 0 {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return last
}
