package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// rolloutctl builds the operator's program, as a person has it.
func rolloutctl(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rolloutctl")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "../rolloutctl")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building rolloutctl: %v\n%s", err, said)
	}
	return path
}

// With rolloutd killed and its database stopped, a person has nothing but the
// flag store; when both are back, the journal tells what he did.
func TestBreakGlassWithEverythingElseGone(t *testing.T) {
	short := []flags.Share{50, 100}
	program := rolloutctl(t)
	w := lay(t, flipttest.V2)
	w.metrics.Func(headroomMetric, func(time.Time) (float64, bool) { return 1200, w.published(0) > 0 })
	w.startTasks(fleetOf40(short)[:10])
	w.begin(10, short)
	eventually(t, time.Minute, "writes are at 50%", func() bool { return w.published(1) == 50 })
	w.kill()
	w.mariadb.Stop()

	folder := t.TempDir()
	pressed := time.Now()
	glass := exec.CommandContext(t.Context(), program, "break-glass", "--flipt", w.flipt.URL,
		"--flipt-token-file", keep(t, folder, "token", fliptToken), "--reason", "the pager", "--as", "ann@laptop", "--record", folder, "orders-db")
	glass.Env = append(os.Environ(), "ROLLOUT_URL="+w.url)
	said, err := glass.CombinedOutput()
	t.Logf("%v from the key press to all flags read back:\n%s", time.Since(pressed).Round(time.Millisecond), said)
	if err != nil {
		t.Fatal(err)
	}
	if w.published(0) != 0 || w.published(1) != 0 {
		t.Errorf("published: reads %v, writes %v", w.published(0), w.published(1))
	}
	if records, err := filepath.Glob(filepath.Join(folder, "break-glass-*.json")); err != nil || len(records) != 1 {
		t.Errorf("%d local records (%v)", len(records), err)
	}

	w.mariadb.StartAgain()
	w.start()
	w.until(rollout.RolledBack, time.Minute)
	w.tellsOfGlass()
}

// tellsOfGlass holds the journal to the whole story: who, why, and nothing that
// rises after it.
func (w *wires) tellsOfGlass() {
	w.t.Helper()
	adopted := false
	for _, e := range w.events() {
		if e.Kind == rollout.Adopted {
			adopted = adopted || strings.Contains(e.Why, "ann@laptop") && strings.Contains(e.Why, "the pager")
		}
		if adopted && (e.Kind == rollout.Raised || e.Kind == rollout.Confirmed && e.To > e.From) {
			w.t.Errorf("it rose again: event %d, %s to %v", e.Seq, e.Kind, e.To)
		}
	}
	if !adopted {
		w.t.Errorf("the journal does not tell who broke the glass, and why:\n%s", transcript(w.events()))
	}
}
