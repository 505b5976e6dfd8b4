package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// TooManyRequests is the code of a 429: this token asks too often.
const TooManyRequests Code = "too_many_requests"

// Rates is how often one token may ask. What is zero has a default.
type Rates struct {
	Reads    Rate // 100 a second, 500 at once
	Commands Rate // 20 a second, 100 at once; what stops or lowers is never limited
	Reports  Rate // 2,000 a second, 10,000 at once: a service's tasks share a token
}

// Rate is how often something may be done.
type Rate struct {
	PerSecond float64
	AtOnce    int
}

// limits holds each token to its rates.
type limits struct{ reads, commands, reports *limiters }

func newLimits(r Rates) *limits {
	return &limits{
		reads:    newLimiters(r.Reads, Rate{PerSecond: 100, AtOnce: 500}),
		commands: newLimiters(r.Commands, Rate{PerSecond: 20, AtOnce: 100}),
		reports:  newLimiters(r.Reports, Rate{PerSecond: 2000, AtOnce: 10_000}),
	}
}

// take counts what a token asks for, or says how long it has to wait.
func (l *limits) take(name string, what action) error {
	var of *limiters
	switch what {
	case toDecide, action(rollout.Rollback), action(rollout.HoldIt), action(rollout.HoldForAll):
		return nil // tasks must follow their flags, and people must be able to stop
	case toRead, toVerify, toExport:
		of = l.reads
	case toReport:
		of = l.reports
	default:
		of = l.commands
	}
	wait := of.take(name)
	if wait == 0 {
		return nil
	}
	return &fault{
		status: http.StatusTooManyRequests, code: TooManyRequests,
		header: http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(wait.Seconds())))}},
		detail: fmt.Sprintf("%s asks too often: more than %g a second. rollback, hold and hold-all are never limited", name, float64(of.rate)),
	}
}

// limiters limits how often each of many may do something.
type limiters struct {
	rate   rate.Limit
	atOnce int

	mu sync.Mutex
	of map[string]*rate.Limiter
}

// limitersKept is how many are remembered.
const limitersKept = 1024

func newLimiters(given, usual Rate) *limiters {
	if given == (Rate{}) {
		given = usual
	}
	return &limiters{rate: rate.Limit(given.PerSecond), atOnce: given.AtOnce, of: map[string]*rate.Limiter{}}
}

// take counts one and returns 0 if it is within the limit; else how long until it would be.
func (l *limiters) take(who string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.of[who]
	if limiter == nil {
		if len(l.of) >= limitersKept {
			clear(l.of) // forgiving everybody is better than growing without end
		}
		limiter = rate.NewLimiter(l.rate, l.atOnce)
		l.of[who] = limiter
	}
	taken := limiter.Reserve()
	wait := taken.Delay()
	if wait > 0 {
		taken.Cancel()
	}
	return wait
}
