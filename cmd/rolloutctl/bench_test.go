package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
	"github.com/seed-c8cbbb61/cutover/web"
)

// built builds rolloutctl as it is released.
func built(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "rolloutctl")
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	if said, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, said)
	}
	return path
}

func TestTheProgramIsSmallAndLinksNoCloud(t *testing.T) {
	const most = 15 << 20
	info, err := os.Stat(built(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("it has %d bytes, at most %d are allowed", info.Size(), most)
	}
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"github.com/aws/", "modernc.org/", "github.com/open-feature/"} {
		if strings.Contains("\n"+string(list), "\n"+heavy) {
			t.Errorf("it links %s", heavy)
		}
	}
}

// BenchmarkStart is a whole process that asks nobody.
func BenchmarkStart(b *testing.B) {
	benchmarkProcess(b, append(os.Environ(), "XDG_CONFIG_HOME="+b.TempDir()), "profile", "list")
}

// BenchmarkStatus is a whole process that shows one of 2,000 rollouts.
func BenchmarkStatus(b *testing.B) {
	url, token := crowd(b, 2000)
	env := append(os.Environ(), "XDG_CONFIG_HOME="+b.TempDir(), "ROLLOUT_URL="+url, "ROLLOUT_TOKEN="+token)
	status := []string{"status", "orders-1000"}
	b.Run("process", func(b *testing.B) { benchmarkProcess(b, env, status...) })
	b.Run("answer", func(b *testing.B) { // all of it but the start of the process
		b.Setenv("ROLLOUT_URL", url)
		b.Setenv("ROLLOUT_TOKEN", token)
		for b.Loop() {
			if code := run(b.Context(), status, streams{out: io.Discard, err: os.Stderr}); code != exitDone {
				b.Fatal("it ended with ", code)
			}
		}
	})
}

// crowd is a server with so many rollouts, each of them baking, and a token for it.
func crowd(b *testing.B, rollouts int) (url, token string) {
	b.Helper()
	ctx, log := b.Context(), slog.New(slog.DiscardHandler)
	j, err := journal.Open(ctx, "sqlite:"+filepath.Join(b.TempDir(), "journal.db"), log)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	text, err := os.ReadFile("testdata/orders-db.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for n := range rollouts {
		plan, err := planfile.Parse("", bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("orders-db"), fmt.Appendf(nil, "orders-%d", n)), []byte("name: orders,"), fmt.Appendf(nil, "name: orders-%d,", n)))
		if err != nil {
			b.Fatal(err)
		}
		state := rollout.State{}
		for _, e := range []rollout.Event{
			{Kind: rollout.Planned, Plan: plan, By: "ann"},
			{Kind: rollout.Started, By: "ann"},
		} {
			e.Rollout, e.At = plan.Name, noon
			if state, _, err = j.Append(ctx, state, e); err != nil {
				b.Fatal(err)
			}
		}
	}
	c := controller.New(controller.Options{
		Journal: j, Flags: &flags.Memory{}, Fleet: controller.NewFleet(time.Now), Log: log, Lead: j.Lead,
	})
	plain, entry := web.NewToken("ann", web.Viewer, "")
	path := filepath.Join(b.TempDir(), "tokens.json")
	if err := web.SaveTokens(path, []web.Entry{entry}); err != nil {
		b.Fatal(err)
	}
	tokens, err := web.LoadTokens(path)
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Options{
		Desk: c, House: c, Inspector: c, Journal: j, Audit: j, Fleet: controller.NewFleet(time.Now), Plans: planfile.Parse, Tokens: tokens, Log: log,
	}))
	b.Cleanup(server.Close)
	return server.URL, plain
}

func benchmarkProcess(b *testing.B, env []string, args ...string) {
	b.Helper()
	path := built(b)
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), path, args...)
		cmd.Env = env
		if said, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, said)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
