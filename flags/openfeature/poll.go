package openfeature

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"
)

// ErrCold says that no snapshot has been seen yet. The provider answers with its
// cold defaults and goes on trying; whether to start so is the application's choice.
var ErrCold = errors.New("no snapshot of the flags yet, using cold defaults")

// health is what the application was told last.
type health struct {
	event of.EventType
	about string // which flags do not follow the store
}

// Init is InitWithContext for an SDK that has no context to give.
func (p *Provider) Init(about of.EvaluationContext) error {
	return p.InitWithContext(context.Background(), about) //nolint:forbidigo // there is no caller's; the timeout bounds it
}

// InitWithContext fetches once, for no longer than the timeout, and starts to poll
// until [Provider.ShutdownWithContext]. If it returns [ErrCold], it polls all the same.
func (p *Provider) InitWithContext(ctx context.Context, _ of.EvaluationContext) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil { // as when the provider serves two domains
		return p.ready(nil)
	}
	err := p.ready(p.poll(ctx))
	p.told = health{event: of.ProviderReady} // the SDK tells what Init returned
	if err != nil {
		p.told.event = of.ProviderError
	}
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	return err
}

// ready returns an error if there is nothing to decide by.
func (p *Provider) ready(err error) error {
	switch {
	case !p.now.Load().cold():
		return nil
	case err == nil:
		return ErrCold
	default:
		return fmt.Errorf("%w: %w", ErrCold, err)
	}
}

// Shutdown is ShutdownWithContext for an SDK that has no context to give.
func (p *Provider) Shutdown() {
	_ = p.ShutdownWithContext(context.Background()) //nolint:forbidigo // there is no caller's; without one it cannot fail
}

// ShutdownWithContext stops polling and waits until it has ended. Decisions stay
// what they were.
func (p *Provider) ShutdownWithContext(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		return nil
	}
	p.stop()
	select {
	case <-p.done:
		p.done = nil
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopping the flag provider: %w", context.Cause(ctx))
	}
}

func (p *Provider) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(jittered(p.every)):
		}
		was := p.now.Load()
		err := p.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		p.tell(was, err)
	}
}

// jittered returns about d: a fleet that was started at once shall not ask at once.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d))
}

// poll asks the store and remembers its answer, or that there was none.
func (p *Provider) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	was := p.now.Load()
	got, err := p.fetch(ctx, p.tag)
	if err == nil && got.same {
		p.now.Store(was.still(time.Now()))
		return nil
	}
	var doc document
	if err == nil {
		doc, err = parse(got.body)
	}
	if err != nil {
		p.now.Store(was.without())
		return fmt.Errorf("fetching flags: %w", err)
	}
	p.tag = got.tag
	p.now.Store(was.with(doc, p.task, time.Now()))
	return nil
}

// tell lets the application know what has changed by a poll.
func (p *Provider) tell(was *snapshot, failure error) {
	now := p.now.Load()
	next, message := p.health(now, failure)
	if next != p.told {
		p.told = next
		p.report(next, message)
		p.emit(next.event, of.ProviderEventDetails{Message: message})
	}
	if changed := now.changes(was); len(changed) > 0 {
		p.log.Info("flags have changed", "flags", changed)
		p.emit(of.ProviderConfigChange, of.ProviderEventDetails{Message: "flags have changed", FlagChanges: changed})
	}
}

func (p *Provider) health(now *snapshot, failure error) (health, string) {
	problems := now.problems(p.cold)
	switch {
	case now.cold():
		return health{event: of.ProviderError}, p.ready(failure).Error()
	case failure != nil:
		return health{event: of.ProviderStale}, "keeping the last known flags: " + failure.Error()
	case problems != "":
		return health{of.ProviderError, problems}, problems
	default:
		return health{event: of.ProviderReady}, "the flags are up to date"
	}
}

func (p *Provider) report(next health, message string) {
	if next.event == of.ProviderReady {
		p.log.Info("flags are up to date again")
		return
	}
	p.log.Warn("flags cannot be followed", "why", message)
}

// emit never blocks: when nobody listens, the newest events are the ones to keep.
func (p *Provider) emit(kind of.EventType, details of.ProviderEventDetails) {
	event := of.Event{ProviderName: Name, EventType: kind, ProviderEventDetails: details}
	for {
		select {
		case p.events <- event:
			return
		default:
		}
		select {
		case <-p.events:
		default:
		}
	}
}
