package web

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/time/rate"
)

// authenticate finds out who calls.
func (s *server) authenticate(ctx context.Context, c *call) error {
	scheme, plain, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	plain = strings.TrimSpace(plain)
	detail := "no token was sent; send one as Authorization: Bearer cut_…"
	if strings.EqualFold(scheme, "Bearer") && plain != "" {
		who, ok, err := s.Tokens.find(plain)
		if err != nil {
			s.Log.ErrorContext(ctx, "tokens not read anew; the last ones stay good", "err", err)
		}
		if ok {
			c.who = who
			return nil
		}
		detail = "the token is not known here; it may have been replaced"
	}
	// Only who fails is limited: behind one address there may be a broken task
	// and the person who wants to roll back.
	if !s.failures.allow(c.r.RemoteAddr) {
		return &fault{
			status: http.StatusTooManyRequests, code: TooManyFailures,
			header: http.Header{"Retry-After": {"1"}},
			detail: "too many requests without a good token from this address",
		}
	}
	return &fault{
		status: http.StatusUnauthorized, code: Unauthenticated,
		header: http.Header{"Www-Authenticate": {`Bearer realm="cutover"`}},
		detail: detail,
	}
}

// What an address may get wrong.
const (
	failuresPerSecond = 1
	failuresAtOnce    = 20
	addressesKept     = 1024
)

// failures limits how often an address may fail.
type failures struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

func newFailures() *failures { return &failures{of: make(map[string]*rate.Limiter)} }

// allow counts a failure and reports whether it is within the limit.
func (f *failures) allow(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	limiter := f.of[host]
	if limiter == nil {
		if len(f.of) >= addressesKept {
			clear(f.of) // forgiving everybody is better than growing without end
		}
		limiter = rate.NewLimiter(failuresPerSecond, failuresAtOnce)
		f.of[host] = limiter
	}
	return limiter.Allow()
}
