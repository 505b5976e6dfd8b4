package openfeature

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Options say where flags come from and whom they are for. Only URL is needed.
type Options struct {
	// URL is the base address of rolloutd or Flipt, such as http://127.0.0.1:8080.
	URL string

	// Namespace is where the flags are; empty means "default".
	Namespace string

	// Environment is for Flipt v2 with more than one; empty means the default one,
	// by the address that Flipt v1, Flipt v2 and rolloutd have in common.
	Environment string

	// Token is sent as bearer token.
	Token string

	// TaskID is the task that this process is, such as the ARN of an ECS task or the
	// name of a pod. All flags are then decided for it, whatever the evaluation
	// context says. Empty means that the evaluation context names the targeting key.
	TaskID string

	// Cold names the flags that the application uses, and what each answers before
	// the store has ever told its share: false is the source, true the target. A
	// flag that is not in it answers false.
	Cold map[string]bool

	// Every is how often the snapshot is fetched, give or take a tenth so that a
	// fleet spreads out; 0 means 10 s.
	Every time.Duration

	// Timeout ends a fetch, and so also bounds what Init adds to a start; 0 means 2 s.
	Timeout time.Duration

	// Client fetches; nil means http.DefaultClient.
	Client *http.Client

	// Log gets what an operator should know; nil means nobody does.
	Log *slog.Logger
}

const (
	defaultEvery   = 10 * time.Second
	defaultTimeout = 2 * time.Second
)

// completed returns the options with defaults in the place of zero values.
func (o Options) completed() (Options, error) {
	if o.Every < 0 {
		return o, fmt.Errorf("every %v: must be more than 0", o.Every)
	}
	if o.Timeout < 0 {
		return o, fmt.Errorf("timeout %v: must be more than 0", o.Timeout)
	}
	o.Namespace = cmp.Or(o.Namespace, "default")
	o.Every = cmp.Or(o.Every, defaultEvery)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// address returns where the snapshot is.
func (o Options) address() (string, error) {
	base, err := url.Parse(o.URL)
	if err != nil {
		return "", fmt.Errorf("url: %w", errors.Unwrap(err)) // the outer error would repeat a password in it
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return "", fmt.Errorf("url %q: must be http://HOST or https://HOST", base.Redacted())
	}
	namespace := url.PathEscape(o.Namespace)
	if o.Environment == "" {
		return base.JoinPath("internal/v1/evaluation/snapshot/namespace", namespace).String(), nil
	}
	environment := url.PathEscape(o.Environment)
	return base.JoinPath("client/v2/environments", environment, "namespaces", namespace, "snapshot").String(), nil
}
