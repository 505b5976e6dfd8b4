package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Refuser records that somebody was not allowed what he asked of a rollout, or
// of all of them under [rollout.HouseName].
type Refuser interface {
	Refuse(ctx context.Context, name string, cmd rollout.Command, why string) error
}

// How much is recorded: somebody who tries all night must not fill the journal.
const (
	refusalsPerMinute = 10 // of one person
	refusalsAhead     = 100
	recordWithin      = 2 * time.Second
)

// Refusals records what signed-in people were not allowed to do. It does so
// behind their answers, which it neither delays nor changes.
type Refusals struct {
	to    Refuser
	log   *slog.Logger
	queue chan refusal

	mu sync.Mutex
	of map[string]*recent
}

type refusal struct {
	name string
	cmd  rollout.Command
	why  string
}

// recent is what one person was refused of late.
type recent struct {
	at     []time.Time // of those that were recorded, oldest first
	missed int         // how many were not, since
}

// NewRefusals returns a recorder; Run makes it work.
func NewRefusals(to Refuser, log *slog.Logger) *Refusals {
	return &Refusals{to: to, log: log, queue: make(chan refusal, refusalsAhead), of: map[string]*recent{}}
}

// Run records until ctx is done, and then what is left. It returns nil.
func (r *Refusals) Run(ctx context.Context) error {
	for {
		select {
		case next := <-r.queue:
			r.record(ctx, next)
		case <-ctx.Done():
			for {
				select {
				case next := <-r.queue:
					r.record(ctx, next)
				default:
					return nil
				}
			}
		}
	}
}

func (r *Refusals) record(ctx context.Context, next refusal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	switch err := r.to.Refuse(ctx, next.name, next.cmd, next.why); {
	case errors.Is(err, rollout.ErrNotFound): // nothing to record it in; the access log has it
	case err != nil:
		r.log.WarnContext(ctx, "a refusal is not recorded", "rollout", next.name, "by", next.cmd.By, "why", next.why, "err", err)
	}
}

// add has a refusal recorded, unless there were too many.
func (r *Refusals) add(ctx context.Context, name string, cmd rollout.Command, why string, now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.of[cmd.By]
	if of == nil {
		if len(r.of) >= limitersKept {
			clear(r.of)
		}
		of = &recent{}
		r.of[cmd.By] = of
	}
	full := len(of.at) == refusalsPerMinute && now.Sub(of.at[0]) < time.Minute
	if !full {
		next := refusal{name, cmd, why}
		if of.missed > 0 {
			next.why = fmt.Sprintf("%s (and %d more refused before, which are not recorded)", why, of.missed)
		}
		select {
		case r.queue <- next:
			of.missed, of.at = 0, append(of.at, now)
			of.at = of.at[max(0, len(of.at)-refusalsPerMinute):]
			return
		default:
		}
	}
	of.missed++
	if of.missed == 1 {
		r.log.WarnContext(ctx, "refusals are counted, and not recorded for a while", "by", cmd.By, "rollout", name, "why", why)
	}
}

// refused has a no of the policy to a command recorded, if a person was told it.
func (s *server) refused(ctx context.Context, who Caller, name string, cmd rollout.Command, err error) {
	no, ok := errors.AsType[*fault](err)
	if ok && no.code == Forbidden && who.person() {
		s.Refusals.add(ctx, name, cmd, no.detail, time.Now())
	}
}

// noteRefusal is refused for a route that is for one action. That somebody may not
// look, or is no task, changes nothing and is left to the access log.
func (s *server) noteRefusal(ctx context.Context, c *call, what action, err error) {
	switch what {
	case toRead, toTokens, toVerify, toExport, toReport, toDecide:
		return
	default:
	}
	name := c.name()
	if name == "" || what.wide() {
		name = rollout.HouseName
	}
	if cmd, odd := c.sign(rollout.Command{Verb: rollout.Verb(what)}); odd == nil {
		s.refused(ctx, c.who, name, cmd, err)
	}
}
