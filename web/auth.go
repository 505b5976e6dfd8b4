package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// What an address may get wrong.
const (
	failuresPerSecond = 1
	failuresAtOnce    = 20
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
		switch {
		case ok && !who.expired(time.Now()):
			c.who = who
			return nil
		case ok:
			detail = fmt.Sprintf("the token of %s expired at %s; an admin can make another", who.Name, who.Expires.Format(time.RFC3339))
		default:
			detail = "the token is not known here; it may have been taken away or replaced"
		}
	}
	// Only who fails is limited: behind one address there may be a broken task
	// and the person who wants to roll back.
	if s.failures.take(host(c.r.RemoteAddr)) > 0 {
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

// host is an address without its port.
func host(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}
