package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// glassHouse is a Flipt with the two lanes of orders-db, whose requests are seen.
type glassHouse struct {
	*glassStand
	mu   sync.Mutex
	sent []string // method and path, and what a change is of
}

func newGlassHouse(t *testing.T, version flipttest.Version, safe flags.Share) *glassHouse {
	t.Helper()
	stand, err := newGlassStand(t, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stand.Close)
	h := &glassHouse{glassStand: stand}
	for lane, share := range map[string]flags.Share{"reads": 25, "writes": 10} {
		key := flags.Key{Namespace: "default", Name: "orders-db-" + lane}
		if err := stand.store.Create(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		now, err := stand.store.Read(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		change := flags.Change{
			Kind: flags.Raise, Share: share, Revision: now.Revision, Rollout: "orders-db", Epoch: 3, Lane: lane, Class: lane, Safe: safe,
		}
		if _, err := stand.store.Write(t.Context(), key, change); err != nil {
			t.Fatal(err)
		}
	}
	stand.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sent = append(h.sent, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
		return false
	})
	return h
}

func secretFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// breakGlass runs the command, and returns what it said and the requests that it sent.
func (h *glassHouse) breakGlass(t *testing.T, args ...string) (said string, sent []string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{
		"break-glass", "--flipt", h.URL, "--flipt-token-file", secretFile(t), "--record", t.TempDir(), "--as", "ann@host",
	}, args...)
	if code := run(t.Context(), args, streams{out: &out, err: &errs}); code != exitDone {
		t.Fatalf("ended with %d: %s%s", code, out.String(), errs.String())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return out.String(), h.sent
}

// changes are the lanes that were written, in their order.
func changes(sent []string) (lanes []string) {
	for _, one := range sent {
		switch {
		case !strings.HasPrefix(one, "PUT "):
		case strings.Contains(one, "orders-db-writes"):
			lanes = append(lanes, "writes")
		case strings.Contains(one, "orders-db-reads"):
			lanes = append(lanes, "reads")
		}
	}
	return lanes
}

// A person waits for it, so it asks no more than it must. Each write is bounded
// by glassWrite, and each request by glassRequest, which package flipt keeps.
func TestBreakGlassAsksForLittleAndWaitsForLittle(t *testing.T) {
	if glassWrite > 3*time.Second || 2*glassRequest > glassWrite {
		t.Errorf("a write is given %v, and a request %v: a second one must fit in", glassWrite, glassRequest)
	}
	for version, most := range map[flipttest.Version]int{
		flipttest.V1: 2 + 2 + 2 + 2*(2+1+2+2), // generation, lists, rollouts; read, write, read back, evaluate
		flipttest.V2: 1 + 2 + 2*(1+1+1+2),
	} {
		h := newGlassHouse(t, version, 0)
		_, sent := h.breakGlass(t, "orders-db")
		if len(sent) > most {
			t.Errorf("v%d was asked %d times, want %d at most:\n%s", version, len(sent), most, strings.Join(sent, "\n"))
		}
	}
}

func TestWritesGoDownBeforeReadsAndComeUpAfterThem(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		for safe, want := range map[flags.Share]string{flags.None: "[writes reads]", flags.All: "[reads writes]"} {
			h := newGlassHouse(t, version, safe)
			said, sent := h.breakGlass(t, "orders-db")
			if got := fmt.Sprint(changes(sent)); got != want {
				t.Errorf("v%d, to %v: it wrote %v, want %s:\n%s", version, safe, got, want, said)
			}
		}
	}
}

func TestALaneIsReadBackBeforeTheNextIsWritten(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		h := newGlassHouse(t, version, flags.None)
		_, sent := h.breakGlass(t, "orders-db")
		written, readBack := false, false
		for _, one := range sent {
			switch ofWrites := strings.Contains(one, "orders-db-writes"); {
			case ofWrites && strings.HasPrefix(one, "PUT "):
				written = true
			case ofWrites && written && strings.HasPrefix(one, "GET "):
				readBack = true
			case !ofWrites && strings.HasPrefix(one, "PUT ") && !readBack:
				t.Errorf("v%d: the reads were written first:\n%s", version, strings.Join(sent, "\n"))
			}
		}
	}
}

// Whoever breaks the glass twice, or whose raise was under way, must not be surprised.
func TestAFlagAt0IsWrittenAnewUnlessTheGlassIsBrokenAlready(t *testing.T) {
	h := newGlassHouse(t, flipttest.V2, flags.None)
	h.PutShare(flags.Key{Namespace: "default", Name: "orders-db-writes"}, 0)
	_, sent := h.breakGlass(t, "orders-db")
	if got := fmt.Sprint(changes(sent)); got != "[writes reads]" {
		t.Errorf("at first it wrote %v", got)
	}
	h.sent = nil
	if _, sent = h.breakGlass(t, "orders-db"); len(changes(sent)) > 0 {
		t.Errorf("the second time it wrote %v", changes(sent))
	}
}

func TestOnATerminalEnterMeansYes(t *testing.T) {
	for answer, want := range map[string]int{"\n": 2, "y\n": 2, "n\n": 0} {
		h := newGlassHouse(t, flipttest.V2, flags.None)
		var out, errs, asked bytes.Buffer
		run(t.Context(), []string{"break-glass", "--flipt", h.URL, "--flipt-token-file", secretFile(t), "--record", t.TempDir(), "orders-db"},
			streams{in: strings.NewReader(answer), out: &out, err: &errs, prompt: &asked})
		if got := len(changes(h.sent)); got != want {
			t.Errorf("answered %q, it wrote %d flags, want %d: %s%s", answer, got, want, out.String(), errs.String())
		}
		if !strings.Contains(asked.String(), "10% → 0%") || !strings.Contains(asked.String(), "[Y/n]") {
			t.Errorf("it asked %q", asked.String())
		}
	}
}
