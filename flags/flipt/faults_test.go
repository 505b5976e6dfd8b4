package flipt_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// onStandIns runs a test that needs faults, which a real server has no hooks for.
func onStandIns(t *testing.T, test func(*testing.T, bench)) {
	t.Helper()
	t.Run("v1", func(t *testing.T) { test(t, standIn(t, flipttest.V1)) })
	t.Run("v2", func(t *testing.T) { test(t, standIn(t, flipttest.V2)) })
}

// definite reports whether an error says that nothing was written.
func definite(err error) bool {
	return errors.Is(err, flags.ErrChanged) || errors.Is(err, flags.ErrStaleEpoch) ||
		errors.Is(err, flags.ErrForeign) || errors.Is(err, flags.ErrNotFound)
}

func TestARaiseWhoseAnswerIsLostIsNotSentAgain(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		b.sent.writes()
		b.stand.After(func(r *http.Request) bool { return r.Method == http.MethodPut })
		_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		if err == nil || definite(err) {
			t.Errorf("got error %v, which does not leave it open", err)
		}
		if writes := b.sent.writes(); len(writes) != 1 {
			t.Errorf("it was sent %d times", len(writes))
		}
		if now := b.read(t, key); now.Share != 25 || !now.Ours(rollout) {
			t.Errorf("the flag is %+v", now)
		}
	})
}

func TestALoweringTo0IsSentUntilItIsObeyed(t *testing.T) {
	for name, fail := range map[string]func(bench){
		"its answer is lost": func(b bench) {
			var seen atomic.Int32
			b.stand.After(func(r *http.Request) bool { return r.Method == http.MethodPut && seen.Add(1) < 3 })
		},
		"the server fails": func(b bench) {
			var seen atomic.Int32
			b.stand.Before(func(w http.ResponseWriter, _ *http.Request) bool {
				if seen.Add(1) > 3 {
					return false
				}
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			})
		},
		"the server cuts connections": func(b bench) {
			var seen atomic.Int32
			b.stand.Before(func(http.ResponseWriter, *http.Request) bool {
				if seen.Add(1) < 3 {
					panic(http.ErrAbortHandler)
				}
				return false
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStandIns(t, func(t *testing.T, b bench) {
				key, _ := b.flagAt(t, 50)
				fail(b)
				b.kill(t, key)
			})
		})
	}
}

func TestAServerErrorEndsARaise(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		b.sent.writes()
		b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return r.Method == http.MethodPut
		})
		_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		if err == nil || definite(err) || !strings.Contains(err.Error(), "flipt answered 500") {
			t.Errorf("got error %v", err)
		}
		if writes := b.sent.writes(); len(writes) != 1 {
			t.Errorf("it was sent %d times", len(writes))
		}
	})
}

func TestAHangingServerIsLeftInTime(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		hasty := openStore(t, flipt.Options{
			URL: b.hand.URL, Token: b.hand.Token, Timeout: 200 * time.Millisecond, Deadline: 500 * time.Millisecond,
		})
		b.stand.Before(func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		})
		start := time.Now()
		_, err := hasty.Read(t.Context(), key)
		wantError(t, err, context.DeadlineExceeded)
		_, err = hasty.Write(t.Context(), key, raiseTo(25, now))
		wantError(t, err, context.DeadlineExceeded)
		_, err = hasty.Write(t.Context(), key, flags.Change{Kind: flags.Lower, Rollout: rollout})
		wantError(t, err, context.DeadlineExceeded)
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestABranchThatNeverRestsIsGivenUpOnInTime(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, now := b.flagAt(t, 10)
	other := b.flag(t)
	hasty := openStore(t, flipt.Options{URL: b.hand.URL, Token: b.hand.Token, Deadline: time.Second})
	b.stand.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			b.stand.PutShare(other, 50)
		}
		return false
	})
	_, err := hasty.Write(t.Context(), key, raiseTo(25, now))
	if err == nil || definite(err) {
		t.Errorf("got error %v", err)
	}
	if after := b.read(t, key); after != now {
		t.Errorf("the flag has become %+v", after)
	}
}

func TestARefusedTokenIsToldWithThePermissionItLacks(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, _ := b.flagAt(t, 10)
		stranger := openStore(t, flipt.Options{URL: b.hand.URL, Token: "another-secret"})
		_, err := stranger.Read(t.Context(), key)
		if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "does not accept the token") {
			t.Errorf("reading gave error %v", err)
		}
		if err != nil && strings.Contains(err.Error(), "another-secret") {
			t.Errorf("the error tells the token: %v", err)
		}
		for method, permission := range map[string]string{
			http.MethodGet: "permission to read flags", http.MethodPut: "permission to write flags", http.MethodPost: "permission to evaluate flags",
		} {
			b.stand.Before(nil)
			now := b.read(t, key)
			b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == method {
					w.WriteHeader(http.StatusForbidden)
					_, _ = w.Write([]byte(`{"code":7,"message":"request was not authorized","details":[]}`))
				}
				return r.Method == method
			})
			_, err := b.store.Write(t.Context(), key, raiseTo(now.Share+1, now))
			if err == nil || !strings.Contains(err.Error(), permission) {
				t.Errorf("with %s forbidden: got error %v", method, err)
			}
		}
	})
}

func TestAStrangeAnswerIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"a page":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "invalid character"},
		"nothing":           {func(http.ResponseWriter, *http.Request) {}, "EOF"},
		"another flag":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"key":"other"}`) }, "where"},
		"a redirect":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/health", http.StatusFound) }, "302"},
		"an endless answer": {endless, "longer than"},
		"a cut answer":      {cut, "unexpected EOF"},
		"an error in HTML":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, "502"},
		"a missing proxy":   {http.NotFound, "404"},
		"rollouts in no list": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"key":"orders-db-reads","rules":1,"resource":{"payload":{"key":"orders-db-reads","rollouts":1}}}`)
		}, "reading flag"},
	} {
		t.Run(name, func(t *testing.T) {
			onStandIns(t, func(t *testing.T, b bench) {
				key := b.flag(t)
				b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
					test.answer(w, r)
					return true
				})
				_, err := b.store.Read(t.Context(), key)
				if err == nil || definite(err) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got error %v, want one that says %q", err, test.says)
				}
			})
		})
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for range 5 << 10 {
		if _, err := w.Write(make([]byte, 1<<10)); err != nil {
			return
		}
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"key":`)
}

func TestAnEvaluationThatSaysNothingProvesNothing(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/evaluate/") {
				_, _ = io.WriteString(w, `{}`)
				return true
			}
			return false
		})
		_, err := b.store.Write(t.Context(), key, raiseTo(25, now))
		wantError(t, err, flipt.ErrNotServed)
	})
}

func TestAStoreOpensWhileFliptIsDown(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		b.stand.Before(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
		store := openStore(t, flipt.Options{URL: b.hand.URL, Token: b.hand.Token})
		if _, err := store.Read(t.Context(), key); err == nil || definite(err) {
			t.Errorf("while it is down: got error %v", err)
		}
		if err := store.Create(t.Context(), key); err == nil {
			t.Error("while it is down, a flag was created")
		}
		b.stand.Before(nil)
		if found, err := store.Read(t.Context(), key); err != nil || found != now {
			t.Errorf("once it is up: got %+v, %v", found, err)
		}
	})
}

func TestAServerThatIsReplacedByTheOtherGenerationIsAskedAnew(t *testing.T) {
	before, after := standIn(t, flipttest.V1), standIn(t, flipttest.V2)
	key := flags.Key{Namespace: "default", Name: "orders-db-reads"}
	if err := before.store.Create(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := after.store.Create(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	where := before.hand.URL
	store := openStore(t, flipt.Options{
		URL: "http://flipt.example", Token: "secret", HTTPClient: &http.Client{Transport: redirect{&where}},
	})
	if _, err := store.Read(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	where = after.hand.URL
	_, err := store.Read(t.Context(), key)
	wantError(t, err, flags.ErrNotFound)
	if _, err := store.Read(t.Context(), key); err != nil {
		t.Error(err)
	}
}

// redirect sends every request to wherever an address is served by now.
type redirect struct{ where *string }

func (d redirect) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(*d.where)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Host = to.Host
	return http.DefaultTransport.RoundTrip(r)
}
