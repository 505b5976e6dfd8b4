package flipt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Options say where a Flipt server is and how long to wait for it.
type Options struct {
	URL         string        // such as http://flipt:8080
	Token       string        // sent as a bearer token, if there is one
	Environment string        // of Flipt v2; "default" if empty
	Timeout     time.Duration // of one request; 3 s if zero
	Deadline    time.Duration // of one read or write, all its requests together; 10 s if zero
	HTTPClient  *http.Client  // to go through a proxy or trust another authority; optional
}

// Store keeps flags in a Flipt server. Many may use it at once.
type Store struct {
	client      client
	environment string
	deadline    time.Duration

	mu     sync.Mutex
	server server // nil until the server's generation is known
}

// server is one generation of Flipt.
type server interface {
	keeper
	catalogue

	// mayWrite tries to change a flag that is absent, beside one that was found.
	mayWrite(ctx context.Context, absent flags.Key, beside found) error
}

// keeper keeps the share of a flag.
type keeper interface {
	read(context.Context, flags.Key) (found, error)
	write(ctx context.Context, key flags.Key, now found, next flags.Setting, kind flags.Kind) error
	create(context.Context, flags.Key) error
}

// catalogue tells what there is.
type catalogue interface {
	namespaces(context.Context) ([]string, error)
	list(ctx context.Context, namespace string) ([]found, error)

	// variants returns a variant flag's variants, and the rules that give them out.
	variants(context.Context, flags.Key, found) ([]Variant, []variantRule, error)
}

// Open returns a store for a Flipt server of either generation. It asks the
// server which one it is; a server that cannot be reached, or refuses to say, is
// no error here: every read and write asks again until it is known.
func Open(ctx context.Context, o Options) (*Store, error) {
	address, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("opening flipt: %w", err)
	}
	if address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.RawQuery != "" {
		return nil, fmt.Errorf("opening flipt: URL %q: must be like http://flipt:8080", address.Redacted())
	}
	if o.Timeout < 0 || o.Deadline < 0 {
		return nil, fmt.Errorf("opening flipt: timeout %v, deadline %v: must not be negative", o.Timeout, o.Deadline)
	}
	used := http.Client{}
	if o.HTTPClient != nil {
		used = *o.HTTPClient
	}
	// A redirected PUT would become a GET, and look as if it had been obeyed.
	used.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s := &Store{
		client: client{
			base:    strings.TrimRight(o.URL, "/"),
			token:   o.Token,
			timeout: cmp.Or(o.Timeout, 3*time.Second),
			http:    &used,
		},
		environment: cmp.Or(o.Environment, "default"),
		deadline:    cmp.Or(o.Deadline, 10*time.Second),
	}
	_, _ = s.detect(ctx) // asked again when it is needed
	return s, nil
}

// Read returns the setting of a flag as the management API shows it, or
// [flags.ErrNotFound], or [flags.ErrForeign] if its share cannot be known. So a
// flag that reads at 0 % without an error exists and has no rules of others.
func (s *Store) Read(ctx context.Context, key flags.Key) (flags.Setting, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	now, err := s.read(ctx, key)
	if err == nil {
		err = now.foreign
	}
	if err != nil {
		return flags.Setting{}, fmt.Errorf("reading flag %s: %w", key, err)
	}
	return now.setting, nil
}

// Create makes a flag at 0 % that is missing, and its namespace. A flag that is
// there stays as it is.
func (s *Store) Create(ctx context.Context, key flags.Key) error {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	if err := s.create(ctx, key); err != nil {
		return fmt.Errorf("creating flag %s: %w", key, err)
	}
	return nil
}

func (s *Store) create(ctx context.Context, key flags.Key) error {
	if err := valid(key); err != nil {
		return err
	}
	server, err := s.detect(ctx)
	if err != nil {
		return err
	}
	return server.create(ctx, key)
}

func (s *Store) read(ctx context.Context, key flags.Key) (found, error) {
	if err := valid(key); err != nil {
		return found{}, err
	}
	server, err := s.detect(ctx)
	if err != nil {
		return found{}, err
	}
	now, err := server.read(ctx, key)
	if errors.Is(err, flags.ErrNotFound) {
		s.forget() // a server of the other generation knows none of our paths
	}
	return now, err
}

func valid(key flags.Key) error {
	if key.Namespace == "" || key.Name == "" {
		return fmt.Errorf("namespace %q, key %q: neither may be empty", key.Namespace, key.Name)
	}
	return nil
}

// detect returns the server's generation, asking the server if it is not known.
func (s *Store) detect(ctx context.Context) (server, error) {
	s.mu.Lock()
	known := s.server
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	known, err := s.ask(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking flipt for its version: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = known
	return known, nil
}

func (s *Store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = nil
}

// ask tells the generations apart by a list that only one of them has.
func (s *Store) ask(ctx context.Context) (server, error) {
	has := func(path, field string) (bool, error) {
		var answer map[string]json.RawMessage
		err := s.client.do(ctx, request{method: http.MethodGet, path: path, needs: "list " + field}, &answer)
		var page *json.SyntaxError // for people, where a path is unknown
		if refused(err, http.StatusNotFound, 0) || errors.As(err, &page) {
			return false, nil
		}
		_, ok := answer[field]
		return ok, err
	}
	if ok, err := has("/api/v2/environments", "environments"); ok || err != nil {
		return v2{client: s.client, environment: s.environment}, err
	}
	ok, err := has("/api/v1/namespaces", "namespaces")
	if refused(err, http.StatusForbidden, 0) {
		ok, err = true, nil // a token of one namespace
	}
	if !ok && err == nil {
		err = fmt.Errorf("%s answers neither as Flipt v1 nor as v2", s.client.base)
	}
	return v1{client: s.client}, err
}

// pause waits a little longer after each attempt, and not always equally long, so
// that writers who met once do not meet again. At first it is hardly a pause: who
// has just written is busy reading back.
func pause(ctx context.Context, attempt int) error {
	const first, longest = 5 * time.Millisecond, 500 * time.Millisecond
	wait := min(first<<min(attempt, 10), longest)
	timer := time.NewTimer(wait/2 + rand.N(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
