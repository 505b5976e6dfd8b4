package journal_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

// outages are promises about a server that goes away.
func outages() []promise {
	return []promise{
		{"a server that stops or is killed makes calls fail in time, and on its return the journal goes on", serverGoes},
		{"a user who is refused learns so, without the password", accessDenied},
		{"connections set no variable and prepare no statement", unpinned},
	}
}

func serverGoes(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	for _, end := range []func(){e.server.Stop, e.server.Kill} {
		s = add(t, j, s, noted("acknowledged"))
		end()
		for what, call := range map[string]func(context.Context) error{
			"Append": func(ctx context.Context) error { _, _, err := j.Append(ctx, s, noted("lost")); return err },
			"State":  func(ctx context.Context) error { _, err := j.State(ctx, "orders"); return err },
			"Since":  func(ctx context.Context) error { _, err := j.Since(ctx, 0, 1); return err },
			"Keep":   func(ctx context.Context) error { return j.Keep(ctx, "slack", 1) },
			"Lead":   func(ctx context.Context) error { _, err := j.Lead(ctx); return err },
			"Find":   func(ctx context.Context) error { _, err := j.Find(ctx, rollout.Query{}); return err },
			"Verify": func(ctx context.Context) error { _, err := j.Verify(ctx); return err },
			"Export": func(ctx context.Context) error { return j.Export(ctx, io.Discard, 0) },
		} {
			limit := time.Now().Add(2 * time.Second)
			ctx, cancel := context.WithDeadline(t.Context(), limit)
			if err := call(ctx); err == nil || errors.Is(err, rollout.ErrNotFound) {
				t.Errorf("%s without a server: %v", what, err)
			}
			if late := time.Since(limit); late > time.Second {
				t.Errorf("%s came %v after its deadline", what, late)
			}
			cancel()
		}
		e.server.StartAgain()
		got, err := j.State(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		same(t, s, got)
	}
	add(t, j, s, noted("goes on"))
	mustHold(t, j)
}

func accessDenied(t *testing.T, e *engine) {
	user, rest, _ := strings.Cut(strings.TrimPrefix(e.source(t), "mysql:"), ":")
	_, address, _ := strings.Cut(rest, "@")
	_, err := journal.Open(t.Context(), "mysql:"+user+":s3cret@"+address, discard())
	if err == nil || !strings.Contains(err.Error(), "Access denied") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v, want that access is denied, without the password", err)
	}
}

func unpinned(t *testing.T, e *engine) {
	db := open(t, e.source(t)+"&charset=utf8mb4&parseTime=false").DB()
	db.SetMaxOpenConns(1)
	for _, counter := range []string{"Com_set_option", "Com_stmt_prepare"} {
		var name string
		var count int
		if err := db.QueryRowContext(t.Context(), `SHOW SESSION STATUS WHERE Variable_name = ?`, counter).Scan(&name, &count); err != nil {
			t.Fatal(err)
		}
		if count != 0 {
			t.Errorf("%s is %d", counter, count)
		}
	}
}
