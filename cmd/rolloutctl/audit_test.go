package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// exportText is an export of three events.
func exportText(t *testing.T) string {
	t.Helper()
	var last audit.Checkpoint
	var records []audit.Record
	for seq := range uint64(3) {
		r, err := last.Next(rollout.Event{Rollout: "orders", Seq: seq + 1, Kind: rollout.Noted, Why: "calm"})
		if err != nil {
			t.Fatal(err)
		}
		records, last = append(records, r), r.Checkpoint()
	}
	var text bytes.Buffer
	_, err := audit.WriteExport(&text, audit.Header{Last: 3}, func(yield func(audit.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// audited runs a command against a server that answers so, and returns its exit
// code, what it said, and the files that it left.
func audited(ctx context.Context, t *testing.T, answer http.HandlerFunc, args ...string) (code int, out, errs string, files map[string]string) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("ROLLOUT_URL", server.URL)
	t.Setenv("ROLLOUT_TOKEN", "cut_x")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("LC_ALL", "C.UTF-8")
	var stdout, stderr bytes.Buffer
	code = run(ctx, append([]string{"audit"}, args...), streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	files = map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return code, stdout.String(), stderr.String(), files
}

func TestAnExportThatBreaksOffLeavesNoFile(t *testing.T) {
	text := exportText(t)
	lines := strings.SplitAfter(text, "\n")
	for name, answer := range map[string]http.HandlerFunc{
		"the connection breaks": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			_, _ = io.WriteString(w, text)
		},
		"it ends without its checkpoint": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Join(lines[:3], ""))
		},
		"it ends within a line": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text[:len(text)-20])
		},
		"it is damaged and breaks off": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Replace(strings.Join(lines[:4], ""), "calm", "wild", 1))
		},
		"it is something else": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs, files := audited(t.Context(), t, answer, "export", "journal.ndjson")
			if code != exitError || len(files) > 0 || out != "" || !strings.HasPrefix(errs, "error: the export broke off") || !strings.HasSuffix(errs, "next: ask again\n") {
				t.Errorf("code %d, files %v\n%s%s", code, files, out, errs)
			}
		})
	}
}

func TestADamagedJournalIsExportedAsItIsAndToldSo(t *testing.T) {
	damaged := strings.Replace(exportText(t), "calm", "wild", 1)
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, damaged) }

	code, _, errs, files := audited(t.Context(), t, answer, "export", "journal.ndjson")
	if code != exitRefused || files["journal.ndjson"] != damaged || !strings.Contains(errs, "is damaged at place 1 of rollout orders: edited\n") {
		t.Errorf("code %d, files %v\n%s", code, files, errs)
	}
	code, out, errs, _ := audited(t.Context(), t, answer, "export", "journal.ndjson", "-o", "json")
	if code != exitRefused || errs != "" || !strings.Contains(out, `"ok": false`) || !strings.Contains(out, `"file": "journal.ndjson"`) {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	code, out, errs, files = audited(t.Context(), t, answer, "export", "-", "-o", "json")
	if code != exitRefused || out != damaged || len(files) > 0 || !strings.Contains(errs, `"kind": "edited"`) {
		t.Errorf("code %d, files %v\n%s%s", code, files, out, errs)
	}
}

func TestAnInterruptedExportLeavesNoFile(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	text := exportText(t)
	answer := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text[:300])
		_ = http.NewResponseController(w).Flush()
		interrupt()
		<-r.Context().Done()
	}
	if code, _, errs, files := audited(ctx, t, answer, "export", "journal.ndjson"); code != exitInterrupted || len(files) > 0 {
		t.Errorf("code %d, files %v\n%s", code, files, errs)
	}
}

func TestEveryKindOfDamageIsExplained(t *testing.T) {
	unknown := meaning("worse")
	for _, kind := range []audit.Kind{
		audit.Edited, audit.Missing, audit.Reordered, audit.Cut, audit.Extra, audit.Rewritten, audit.Unreadable, audit.Row, audit.Claim, audit.Head,
	} {
		if meaning(kind) == unknown {
			t.Errorf("%s is not explained", kind)
		}
	}
}

func TestWhatTakesLongIsShownOnATerminalUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		s := &session{streams: streams{err: &errs}}
		s.errors = screen{terminal: true, size: func() (int, int) { return 80, 24 }}
		stop := s.meter(func() string { return "verifying" })
		time.Sleep(900 * time.Millisecond)
		stop()
		if errs.Len() > 0 {
			t.Errorf("within a second: %q", &errs)
		}
		stop = s.meter(func() string { return "verifying" })
		time.Sleep(1300 * time.Millisecond)
		stop()
		if got := errs.String(); strings.Count(got, "verifying") != 2 || !strings.HasSuffix(got, "\r\x1b[2K") {
			t.Errorf("after 1.3 s: %q", got)
		}
	})
}
