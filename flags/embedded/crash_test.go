package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/embedded"
)

// victim names the file that a process of this test writes until it is killed.
const victim = "EMBEDDED_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		fmt.Fprintln(os.Stderr, writeForEver(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForEver prints a revision as soon as its write is answered.
func writeForEver(path string) error {
	store, err := embedded.Open(path)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		setting, err := store.Put(context.Background(), reads, flags.Share(i%101), "dana")
		if err != nil {
			return err
		}
		fmt.Println(setting.Revision, int(setting.Share))
	}
}

// TestAKilledWriterLeavesAWholeFile kills a process while it writes, again and
// again: the file holds the last answered write or the one that was under way.
func TestAKilledWriterLeavesAWholeFile(t *testing.T) {
	store, path := withReads(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		revision, share := killWhileWriting(t, path, 1+rand.IntN(8))
		store := open(t, path)
		setting := read(t, store, reads)
		got, err := strconv.Atoi(setting.Revision)
		if err != nil || got != revision && got != revision+1 {
			t.Fatalf("revision %s after the kill, but %d was answered", setting.Revision, revision)
		}
		if got == revision && int(setting.Share) != share {
			t.Fatalf("share %v at revision %d, but %d was answered", setting.Share, got, share)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".flags.json*"))
	if err != nil || len(left) > 0 {
		t.Errorf("unfinished files are left: %v, %v", left, err)
	}
}

// killWhileWriting lets another process write, kills it after some answers and
// returns the last one.
func killWhileWriting(t *testing.T, path string, answers int) (revision, share int) {
	t.Helper()
	writer := exec.CommandContext(t.Context(), os.Args[0])
	writer.Env = append(os.Environ(), victim+"="+path)
	writer.Stderr = os.Stderr
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for heard := 0; lines.Scan(); {
		if _, err := fmt.Sscan(lines.Text(), &revision, &share); err != nil {
			t.Fatal(err) // not by the kill: a pipe takes a short line as a whole
		}
		if heard++; heard == answers {
			if err := writer.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Wait(); err == nil || writer.ProcessState.Exited() {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	if revision == 0 {
		t.Fatal("the writer never answered")
	}
	return revision, share
}
