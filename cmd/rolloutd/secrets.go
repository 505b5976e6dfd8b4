package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
)

// reference says where a secret is: file:PATH, env:NAME, or the path of a file.
type reference string

// read returns the secret. Its errors never have it.
func (r reference) read() (string, error) {
	if name, ok := strings.CutPrefix(string(r), "env:"); ok {
		if text := strings.TrimSpace(os.Getenv(name)); text != "" {
			return text, nil
		}
		return "", fmt.Errorf("reading a secret: the environment has no %s", name)
	}
	path := strings.TrimPrefix(string(r), "file:")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading a secret: %w", err)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return "", fmt.Errorf("reading a secret: %s is empty", path)
	}
	return strings.TrimSpace(string(text)), nil
}

// secret is read anew whenever it is used, so that it can be changed without a
// restart. While it cannot be read, the last one stays good.
type secret struct {
	from reference
	log  *slog.Logger

	mu   sync.Mutex
	last string
	lost bool // it could not be read the last time
}

// follow reads a secret for the first time.
func follow(from reference, log *slog.Logger) (*secret, error) {
	text, err := from.read()
	return &secret{from: from, log: log, last: text}, err
}

// now returns the secret as it is now.
func (s *secret) now(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := s.from.read()
	if err == nil {
		s.last = text
	} else if !s.lost {
		s.log.WarnContext(ctx, "a secret is not read anew; the last one stays good", "err", err)
	}
	s.lost = err != nil
	return s.last
}

// signing sends each request with a token as it is then.
type signing struct{ token *secret }

// RoundTrip sends a request.
func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	signed := r.Clone(r.Context())
	signed.Header.Set("Authorization", "Bearer "+s.token.now(r.Context()))
	return http.DefaultTransport.RoundTrip(signed)
}
