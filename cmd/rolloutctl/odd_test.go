package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags/embedded"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	for _, args := range [][]string{
		{"whoami"}, {"whoami", "-o", "json"}, {"status", "orders-db"}, {"status", "orders-db", "-w"}, {"status", "orders-db", "-w", "-o", "json"}, {"rollback", "orders-db", "--wait", "1s"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = full.Close() })
		var tr troubled
		tr.start(t, always(http.StatusOK, at(rollout.RolledBack, 0)), always(http.StatusOK, at(rollout.RollingBack, 0).State))
		var errs bytes.Buffer
		if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: full, err: &errs}); code != exitError || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%v ended with %d, and said %q", args, code, errs.String())
		}
	}
}

func TestAPasswordInAURLIsNeitherShownNorStored(t *testing.T) {
	for _, url := range []string{"http://ann:hidden@127.0.0.1:1", "http://ann:hid den@127.0.0.1:1", "ftp://ann:hidden@127.0.0.1", "ann:hidden@127.0.0.1"} {
		for _, args := range [][]string{{"list"}, {"login"}} {
			config := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", config)
			got := does(t, "cut_x\n", append(args, "--url", url)...)
			if got.code != exitUsage || strings.Contains(got.out+got.err+got.screen, "hid") {
				t.Errorf("%s %v ended with %d, and said %s%s", url, args, got.code, got.err, got.screen)
			}
			if stored, err := os.ReadDir(config); err != nil || len(stored) > 0 {
				t.Errorf("%s: stored %v, %v", url, stored, err)
			}
		}
	}
}

func TestAnOddAnswerIsAnErrorAndNoPanic(t *testing.T) {
	for _, body := range []any{struct{}{}, rollout.State{Name: "orders-db"}, rollout.Status{State: rollout.State{Name: "orders-db", PlanVersion: 1}}} {
		for _, args := range [][]string{
			{"advance", "orders-db", "--yes"},
			{"advance", "orders-db", "--yes", "--wait", "1s"},
			{"approve", "orders-db", "--yes"},
			{"plan", "show", "orders-db"},
			{"plan", "show", "orders-db", "--proposed"},
			{"rollback", "orders-db", "--wait", "10ms"},
			{"status", "orders-db"},
			{"tasks", "orders-db"},
		} {
			var tr troubled
			tr.start(t, always(http.StatusOK, body), always(http.StatusOK, body))
			got := does(t, "", args...)
			if body == (struct{}{}) && args[0] != "tasks" && (got.code != exitError || !strings.Contains(got.err, "is that a Cutover server?")) {
				t.Errorf("%v ended with %d, and said %s%s", args, got.code, got.out, got.err)
			}
		}
	}
}

func TestAStageThatIsNoneIsNotWaitedFor(t *testing.T) {
	for _, args := range [][]string{{"--for", "stage=writes:33"}, {"--for", "state=held", "--for", "stage=writes:33"}, {"--for", "stage=reads:20"}} {
		var tr troubled
		tr.start(t, always(http.StatusOK, at(rollout.Baking, 25)), nil)
		got := does(t, "", append([]string{"wait", "orders-db", "--timeout", "1s"}, args...)...)
		if got.code != exitUsage || !strings.Contains(got.err, "is no stage of orders-db; there are 1%") {
			t.Errorf("%v ended with %d, and said %s", args, got.code, got.err)
		}
	}
}

func TestWhatIsFrozenThisSecondIsFrozenNow(t *testing.T) {
	var tr troubled
	freeze := rollout.Freeze{Database: "orders", From: noon.Add(700 * time.Millisecond), Until: noon.Add(time.Hour), By: "ann"}
	tr.start(t, always(http.StatusOK, map[string]any{"freezes": []rollout.Freeze{freeze}}), nil)
	if got := does(t, "", "freeze", "list"); !strings.Contains(got.out, "orders    now") {
		t.Errorf("said:\n%s%s", got.out, got.err)
	}
}

func TestWhereNoTaskHasReportedNoneIsMissed(t *testing.T) {
	for args, want := range map[string]string{"": "no task has reported yet", "--behind": "no such task"} {
		var tr troubled
		tr.start(t, always(http.StatusOK, at(rollout.Draft, 0)), nil)
		list := []string{"tasks", "orders-db"}
		if args != "" {
			list = append(list, args)
		}
		if got := does(t, "", list...); !strings.HasSuffix(got.out, want+"\n") {
			t.Errorf("%q said:\n%s%s", args, got.out, got.err)
		}
	}
}

func TestWhoRevokesHisOwnTokenIsToldSo(t *testing.T) {
	var tr troubled
	tr.start(t, always(http.StatusOK, map[string]any{"name": "ann", "tokens": []map[string]string{{"name": "ann"}, {"name": "ben"}}}), always(http.StatusOK, struct{}{}))
	for name, want := range map[string]bool{"ann": true, "ben": false} {
		if got := does(t, "n\n", "token", "revoke", name); strings.Contains(got.screen, "it is the token that you use now") != want {
			t.Errorf("%s: asked %s%s", name, got.screen, got.err)
		}
	}
}

func TestAFlagFileThatIsInUseIsNotSoughtElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	store, err := embedded.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	got := does(t, "", "break-glass", "orders-db", "--embedded", path, "--check")
	if got.code != exitError || !strings.Contains(got.out, "While rolloutd runs, it holds the file") || strings.Contains(got.out, "say where it is") {
		t.Errorf("ended with %d, and said %s%s", got.code, got.out, got.err)
	}
}
