package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	keeper "github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// BenchmarkLook shows what a look costs with 2,000 rollouts in a SQLite journal,
// by the handler and to the last byte of the answer.
func BenchmarkLook(b *testing.B) {
	const rollouts = 2000
	handler, token := crowded(b, rollouts)
	for _, look := range []struct{ name, path string }{
		{"status", "/api/v1/rollouts/orders-1000"},
		{"list-100", "/api/v1/rollouts"},
		{"list-100-filtered", "/api/v1/rollouts?state=held,stuck"},
		{"list-1000", "/api/v1/rollouts?limit=1000"},
		{"approvals", "/api/v1/approvals"},
		{"events-100", "/api/v1/events"},
	} {
		b.Run(look.name, func(b *testing.B) {
			ask := func() int {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, look.path, http.NoBody)
				r.Header.Set("Authorization", "Bearer "+token)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
				return w.Body.Len()
			}
			size := ask() // the first list reads all rollouts
			for b.Loop() {
				ask()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// crowded returns a server on a real controller and journal with many rollouts.
func crowded(b *testing.B, rollouts int) (http.Handler, string) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	j, err := keeper.Open(b.Context(), "sqlite:"+b.TempDir()+"/journal.db", log)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := j.Close(); err != nil {
			b.Error(err)
		}
	})
	text, err := os.ReadFile("../deploy/plans/orders-db.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for n := range rollouts {
		name := fmt.Sprintf("orders-%04d", n)
		p, err := planfile.Parse("plan", []byte(strings.ReplaceAll(string(text), "orders-db", name)))
		if err != nil {
			b.Fatal(err)
		}
		p.Database.Name = name
		if _, _, err := j.Append(b.Context(), rollout.State{}, rollout.Event{Kind: rollout.Planned, At: began, By: "ann", Plan: p}); err != nil {
			b.Fatal(err)
		}
	}
	path := b.TempDir() + "/tokens.json"
	plain, entry := NewToken("ann", Admin, "")
	if err := SaveTokens(path, []Entry{entry}); err != nil {
		b.Fatal(err)
	}
	tokens, err := LoadTokens(path)
	if err != nil {
		b.Fatal(err)
	}
	fleet := controller.NewFleet(time.Now)
	desk := controller.New(controller.Options{Journal: j, Flags: &flags.Memory{}, Fleet: fleet, Log: log, Lead: j.Lead})
	return New(Options{
		Desk: desk, House: desk, Inspector: desk, Journal: j, Fleet: fleet, Plans: planfile.Parse, Tokens: tokens, Log: log,
		Rates: Rates{Reads: Rate{PerSecond: 1e9, AtOnce: 1e9}},
	}), plain
}
