package openfeature

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Name is what the provider is called in OpenFeature's events and logs.
const Name = "cutover"

// Provider decides flags by the last snapshot of a flag store. New makes one;
// OpenFeature's SetProvider starts it, or [Provider.InitWithContext].
type Provider struct {
	task           string // the fixed targeting key; empty: the evaluation context's
	cold           map[string]bool
	every, timeout time.Duration
	fetch          fetcher
	log            *slog.Logger
	events         chan of.Event
	now            atomic.Pointer[snapshot]

	mu   sync.Mutex // guards starting and stopping
	stop context.CancelFunc
	done chan struct{} // closed when the poller has ended; nil: none was started

	// The rest is the poller's own.
	tag  string
	told health
}

var (
	_ of.FeatureProvider          = (*Provider)(nil)
	_ of.ContextAwareStateHandler = (*Provider)(nil)
	_ of.EventHandler             = (*Provider)(nil)
)

// New returns a provider that has not fetched anything yet.
func New(options Options) (*Provider, error) {
	o, err := options.completed()
	if err != nil {
		return nil, fmt.Errorf("making the flag provider: %w", err)
	}
	address, err := o.address()
	if err != nil {
		return nil, fmt.Errorf("making the flag provider: %w", err)
	}
	p := &Provider{
		cold:    maps.Clone(o.Cold),
		every:   o.Every,
		timeout: o.Timeout,
		fetch:   fetchHTTP(address, o),
		log:     o.Log,
		events:  make(chan of.Event, 16),
	}
	if o.TaskID != "" {
		p.task = flags.TargetingKey(o.TaskID)
	}
	p.now.Store(&snapshot{})
	return p, nil
}

// Decide reports whether the task of this process uses the target, and the share
// that says so. It needs [Options].TaskID: without one there is nobody to decide
// for, and the answer is the cold default.
func (p *Provider) Decide(key string) (on bool, share flags.Share) {
	f, ok := p.now.Load().flags[key]
	if !ok || p.task == "" {
		return p.cold[key], f.share
	}
	return f.on, f.share
}

// ShareSeen returns the share that decisions about a flag follow; false if no
// snapshot has ever told it.
func (p *Provider) ShareSeen(key string) (flags.Share, bool) {
	f, ok := p.now.Load().flags[key]
	return f.share, ok
}

// LastSeen returns when the store last answered well; zero if it never has.
// An application that exports its age makes silent staleness visible.
func (p *Provider) LastSeen() time.Time { return p.now.Load().seen }

// Metadata names the provider.
func (p *Provider) Metadata() of.Metadata { return of.Metadata{Name: Name} }

// Hooks returns none.
func (p *Provider) Hooks() []of.Hook { return nil }

// EventChannel tells of changed flags, of staleness and of its end. Who does not
// listen misses the oldest ones.
func (p *Provider) EventChannel() <-chan of.Event { return p.events }

// BooleanEvaluation decides a flag. The fallback is returned, with an error, only
// when the question is wrong: no targeting key, or a flag that the store does not
// have and that [Options].Cold does not name.
func (p *Provider) BooleanEvaluation(
	_ context.Context, key string, fallback bool, about of.FlattenedContext,
) of.BoolResolutionDetail {
	now := p.now.Load()
	f, ok := now.flags[key]
	if !ok {
		return p.unknown(now, key, fallback)
	}
	on := f.on
	if p.task == "" {
		task, _ := about[of.TargetingKey].(string)
		if task == "" {
			return failed(fallback, of.NewTargetingKeyMissingResolutionError("the evaluation context has no targeting key"))
		}
		on = f.share.Holds(key, task)
	}
	reason := of.DefaultReason
	switch {
	case now.away || f.kept != "":
		reason = of.CachedReason
	case on:
		reason = of.TargetingMatchReason
	}
	return answered(on, reason)
}

// unknown answers for a flag whose share no snapshot has told.
func (p *Provider) unknown(now *snapshot, key string, fallback bool) of.BoolResolutionDetail {
	value, named := p.cold[key]
	why, refused := now.refused[key]
	switch {
	case named || now.cold():
		return answered(value, of.DefaultReason)
	case refused:
		return failed(fallback, of.NewParseErrorResolutionError("flag "+key+" cannot be followed: "+why))
	default:
		return failed(fallback, of.NewFlagNotFoundResolutionError("the store has no flag "+key))
	}
}

func answered(on bool, reason of.Reason) of.BoolResolutionDetail {
	return of.BoolResolutionDetail{
		Value:                    on,
		ProviderResolutionDetail: of.ProviderResolutionDetail{Reason: reason, Variant: strconv.FormatBool(on)},
	}
}

func failed[T any](fallback T, err of.ResolutionError) of.GenericResolutionDetail[T] {
	return of.GenericResolutionDetail[T]{
		Value:                    fallback,
		ProviderResolutionDetail: of.ProviderResolutionDetail{Reason: of.ErrorReason, ResolutionError: err},
	}
}

func notBoolean[T any](fallback T) of.GenericResolutionDetail[T] {
	return failed(fallback, of.NewTypeMismatchResolutionError("this provider has boolean flags only"))
}

// StringEvaluation is refused: flags are boolean.
func (p *Provider) StringEvaluation(
	_ context.Context, _ string, fallback string, _ of.FlattenedContext,
) of.StringResolutionDetail {
	return notBoolean(fallback)
}

// FloatEvaluation is refused: flags are boolean.
func (p *Provider) FloatEvaluation(
	_ context.Context, _ string, fallback float64, _ of.FlattenedContext,
) of.FloatResolutionDetail {
	return notBoolean(fallback)
}

// IntEvaluation is refused: flags are boolean.
func (p *Provider) IntEvaluation(
	_ context.Context, _ string, fallback int64, _ of.FlattenedContext,
) of.IntResolutionDetail {
	return notBoolean(fallback)
}

// ObjectEvaluation is refused: flags are boolean.
func (p *Provider) ObjectEvaluation(
	_ context.Context, _ string, fallback any, _ of.FlattenedContext,
) of.InterfaceResolutionDetail {
	return notBoolean(fallback)
}
