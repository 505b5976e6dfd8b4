package web

import (
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
		usual                    Rate
	}{
		{"reads", "GET", "/api/v1/rollouts", "", Viewer, Rate{100, 500}},
		{"commands", "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"note","reason":"x"}`, Operator, Rate{20, 100}},
		{"reports", "POST", "/api/v1/reports", strings.Replace(goodReport, "2026", "1999", 1), Reporter, Rate{2000, 10_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				for n := range tt.usual.AtOnce {
					if w := h.ask(tt.role, tt.method, tt.path, tt.body); w.Code >= 400 {
						t.Fatalf("request %d: %d %s", n, w.Code, w.Body)
					}
				}
				w := h.ask(tt.role, tt.method, tt.path, tt.body)
				if p := problemOf(t, w); p.Status != 429 || p.Code != TooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.Contains(p.Detail, "the-"+string(tt.role)+" asks too often") {
					t.Errorf("after %d at once: %d %s, Retry-After %q, %s", tt.usual.AtOnce, p.Status, p.Code, w.Header().Get("Retry-After"), p.Detail)
				}
				if w := h.ask(Admin, "GET", "/api/v1/version", ""); w.Code != 200 {
					t.Errorf("another token is limited, too: %d", w.Code)
				}
				time.Sleep(time.Second)
				for n := range int(tt.usual.PerSecond) {
					if w := h.ask(tt.role, tt.method, tt.path, tt.body); w.Code >= 400 {
						t.Fatalf("request %d a second later: %d", n, w.Code)
					}
				}
				if w := h.ask(tt.role, tt.method, tt.path, tt.body); w.Code != 429 {
					t.Errorf("more than %v a second: %d", tt.usual.PerSecond, w.Code)
				}
			})
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

func TestRatesCanBeSet(t *testing.T) {
	l := newLimits(Rates{Reads: Rate{PerSecond: 1, AtOnce: 2}})
	for n, good := range []bool{true, true, false} {
		if err := l.take("ann", toRead); (err == nil) != good {
			t.Errorf("read %d: %v", n, err)
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
