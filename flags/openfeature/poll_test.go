package openfeature

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func TestTheLastKnownValueIsKeptWhileTheStoreIsAway(t *testing.T) {
	for name, broken := range map[string]answers{
		"unreachable":      refusing,
		"hung":             {hangs: true},
		"an error page":    {body: "<html>"},
		"half an answer":   {body: at(25)[:40]},
		"an empty answer":  {},
		"no list of flags": {body: `{"code":16,"message":"unauthenticated"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := says(at(75))
				p := started(t, s, Options{TaskID: task})
				seen := p.LastSeen()
				s.becomes(broken)
				time.Sleep(24 * time.Hour)
				wantDecision(t, p, true, 75, of.CachedReason)
				wantEvents(t, p, "PROVIDER_STALE")
				if !p.LastSeen().Equal(seen) {
					t.Errorf("last seen %v: want %v, when the store last answered well", p.LastSeen(), seen)
				}
				s.becomes(answers{body: at(75)})
				wantDecision(t, p, true, 75, of.TargetingMatchReason)
				wantEvents(t, p, "PROVIDER_READY")
				if !p.LastSeen().After(seen) {
					t.Error("last seen did not move on with the store's return")
				}
			})
		})
	}
}

func TestAHungStoreDelaysAStartByTheTimeoutAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		_, err := provider(t, &store{behave: answers{hangs: true}}, Options{Timeout: 300 * time.Millisecond})
		if took := time.Since(before); took != 300*time.Millisecond || !errors.Is(err, ErrCold) {
			t.Errorf("Init took %v and returned %v; want 300ms and ErrCold", took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Options{URL: "http://127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		p.fetch = (&store{behave: answers{hangs: true}}).fetch
		defer p.Shutdown()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		before := time.Now()
		err = p.InitWithContext(ctx, of.EvaluationContext{})
		if took := time.Since(before); took != 10*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Init took %v and returned %v; want the caller's 10ms", took, err)
		}
	})
}

func TestAFleetDoesNotAskAtOnce(t *testing.T) {
	var different bool
	for range 1000 {
		d := jittered(10 * time.Second)
		if d < 9*time.Second || d > 11*time.Second {
			t.Fatalf("waits %v: want 9s to 11s", d)
		}
		different = different || d != 10*time.Second
	}
	if !different {
		t.Error("every task waits exactly 10s")
	}
}

func TestAProviderForTwoDomainsPollsOnceAndCanStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := says(at(25))
		p := started(t, s, Options{TaskID: task})
		if err := p.InitWithContext(t.Context(), of.EvaluationContext{}); err != nil || s.fetches() != 1 {
			t.Errorf("second start: %v after %d fetches; want none more", err, s.fetches())
		}
		p.Shutdown()
		p.Shutdown()
		s.becomes(answers{body: at(26)})
		if s.fetches() != 1 {
			t.Errorf("%d fetches after the shutdown, want none", s.fetches()-1)
		}
		wantDecision(t, p, false, 25, of.DefaultReason)
		if err := p.Init(of.EvaluationContext{}); err != nil {
			t.Fatal(err)
		}
		wantDecision(t, p, true, 26, of.TargetingMatchReason)
	})
}

func TestAShutdownDuringAFetchDoesNotWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := says(at(25))
		p := started(t, s, Options{Timeout: time.Hour})
		s.becomes(answers{hangs: true})
		before := time.Now()
		if err := p.ShutdownWithContext(t.Context()); err != nil || time.Since(before) != 0 {
			t.Errorf("shutdown: %v after %v; want it at once", err, time.Since(before))
		}
		wantEvents(t, p)
	})
}

func TestWhoDoesNotListenMissesTheOldestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := says(at(0))
		p := started(t, s, Options{TaskID: task})
		for share := flags.Share(1); share <= 100; share++ {
			s.becomes(answers{body: at(share)})
		}
		wantDecision(t, p, true, 100, of.TargetingMatchReason)
		s.becomes(refusing)
		events := heard(p)
		if len(events) != cap(p.events) || events[len(events)-1] != "PROVIDER_STALE" {
			t.Errorf("events %v: want %d, the newest last", events, cap(p.events))
		}
	})
}

func TestAnOperatorReadsOfAnOutageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		s := says(at(25))
		p := started(t, s, Options{TaskID: task, Log: slog.New(handler)})
		s.becomes(refusing)
		aWhile()
		s.becomes(answers{body: at(26)})
		p.Shutdown()
		const want = `level=WARN msg="flags cannot be followed" why="keeping the last known flags: fetching flags: connection refused"
level=INFO msg="flags are up to date again"
level=INFO msg="flags have changed" flags=[orders-db-reads]
`
		if diff := cmp.Diff(want, log.String()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
