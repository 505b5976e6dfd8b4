package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestATokenThatAsksTooOftenIsToldWhenToComeBack(t *testing.T) {
	for _, tt := range []struct {
		name, method, path, body string
		role                     Role
	}{
		{"reads", "GET", "/api/v1/rollouts", "", Viewer},
		{"commands", "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"note","reason":"x"}`, Operator},
		{"tokens", "POST", "/api/v1/tokens", `{"name":"x"}`, Admin},
		{"reports", "POST", "/api/v1/reports", strings.Replace(goodReport, "2026", "1999", 1), Reporter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, few := newHouse(t), Rate{PerSecond: 0.5, AtOnce: 3}
				h.handler = New(Options{
					Desk: h.desk, House: h.rules, Inspector: h.look, Journal: h.journal, Fleet: h.fleet, Plans: plans,
					Tokens: mustLoad(t, h.path), Log: slog.New(slog.DiscardHandler), Rates: Rates{Reads: few, Commands: few, Reports: few},
				})
				ask := func() *httptest.ResponseRecorder {
					return h.ask(tt.role, tt.method, tt.path, tt.body, "Content-Type", "application/json")
				}
				for n := range few.AtOnce {
					if w := ask(); w.Code == http.StatusTooManyRequests {
						t.Fatalf("request %d: %s", n, w.Body)
					}
				}
				w := ask()
				if p := problemOf(t, w); p.Status != 429 || p.Code != TooManyRequests || w.Header().Get("Retry-After") != "2" || !strings.Contains(p.Detail, "the-"+string(tt.role)+" asks too often") {
					t.Errorf("%d %s, Retry-After %q, %s", p.Status, p.Code, w.Header().Get("Retry-After"), p.Detail)
				}
				if w := h.ask(Approver, "GET", "/api/v1/version", ""); w.Code != 200 {
					t.Errorf("another token is limited, too: %d", w.Code)
				}
				if w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"rollback"}`); w.Code != 200 {
					t.Errorf("a rollback is limited, too: %d", w.Code)
				}
				time.Sleep(2 * time.Second)
				if w := ask(); w.Code == http.StatusTooManyRequests {
					t.Errorf("after the time that was said: %s", w.Body)
				}
			})
		})
	}
}

func TestTheUsualRatesAreThoseOfTheDocumentation(t *testing.T) {
	for what, usual := range map[action]Rate{
		toRead: {100, 500}, action(rollout.Note): {20, 100}, toPlan: {20, 100}, toReport: {2000, 10_000},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimits(Rates{})
			for _, within := range []int{usual.AtOnce, int(usual.PerSecond)} {
				for n := range within {
					if err := l.take("ann", what); err != nil {
						t.Fatalf("%s %d of %d: %v", what, n, within, err)
					}
				}
				if err := l.take("ann", what); err == nil {
					t.Errorf("%s: more than %d are let through", what, within)
				}
				time.Sleep(time.Second)
			}
		})
	}
}

func TestWhatStopsOrLowersIsNeverLimited(t *testing.T) {
	l := newLimits(Rates{})
	for _, verb := range []rollout.Verb{rollout.Rollback, rollout.HoldIt, rollout.HoldForAll} {
		for n := range 100_000 {
			if err := l.take("ann", action(verb)); err != nil {
				t.Fatalf("%s %d: %v", verb, n, err)
			}
		}
	}
}

func TestLimitersAreNotKeptWithoutEnd(t *testing.T) {
	l := newLimiters(Rate{}, Rate{PerSecond: 1, AtOnce: 1})
	for i := range 3 * limitersKept {
		l.take(string(rune('a'+i%26)) + strings.Repeat("x", i/26))
	}
	if len(l.of) > limitersKept {
		t.Errorf("keeps %d", len(l.of))
	}
}
