package controller_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// afterGuard is the longest that a guard may take: a cycle of ten seconds, and one more.
const afterGuard = 11 * time.Second

func TestAFlakyFlagStoreDoesNotHideASteadyBreach(t *testing.T) {
	for _, every := range []int64{12, 6, 4, 2} {
		t.Run(fmt.Sprintf("one read in %d fails", every), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := &troubled{}
				h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
				h.beginWith(func(p *rollout.Plan) {
					p.Gates = p.Gates[:1]
					p.Gates[0].Limit.M, p.Gates[0].Limit.N, p.Gates[0].Delay = 2, 3, time.Minute
				})
				h.at(0, 50, time.Hour)
				time.Sleep(2 * time.Minute)
				var n atomic.Int64
				flaky := func(_ context.Context, key flags.Key) error {
					if key == keys[0] && n.Add(1)%every == 0 {
						return errDown
					}
					return nil
				}
				f.read.Store(&flaky)
				h.metrics.worsen()
				// Two whole buckets, a minute until the second is published, a read, a guard.
				h.at(0, 0, 5*time.Minute)
			})
		})
	}
}

// startAnother starts a rollout of another database, whose tasks never report.
func (h *house) startAnother(name string) {
	h.t.Helper()
	p := plan()
	p.Name, p.Database.Name = name, name
	p.Services[0].Name = name
	for i := range p.Lanes {
		p.Lanes[i].Services = []string{name}
		p.Lanes[i].Flag = flags.Key{Namespace: "other", Name: fmt.Sprintf("%s-%d", name, i)}
		h.store.Create(p.Lanes[i].Flag)
	}
	p.Converge.Interval = time.Hour // its preflight goes on looking
	if _, err := h.Plan(h.t.Context(), p, rollout.Command{By: "ann"}); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.Do(h.t.Context(), name, rollout.Command{Verb: rollout.Start, By: "ann"}); err != nil {
		h.t.Fatal(err)
	}
}

// watched notes when the flag of our reads was read.
func (f *troubled) watched(hook func(context.Context, flags.Key) error) (looks func() []time.Time) {
	var mu sync.Mutex
	var at []time.Time
	read := func(ctx context.Context, key flags.Key) error {
		if key == keys[0] {
			mu.Lock()
			at = append(at, time.Now())
			mu.Unlock()
		}
		return hook(ctx, key)
	}
	f.read.Store(&read)
	return func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(at)
	}
}

// gaps holds the times between looks to the longest that they may be.
func gaps(t *testing.T, looks []time.Time, most time.Duration) {
	t.Helper()
	if len(looks) < 3 {
		t.Errorf("only %d looks", len(looks))
	}
	for i := 1; i < len(looks); i++ {
		if gap := looks[i].Sub(looks[i-1]); gap > most {
			t.Errorf("the guard looked again only after %v, at most %v is due", gap, most)
		}
	}
}

func TestARolloutThatHangsKeepsNoOthersGuardWaiting(t *testing.T) {
	turns := map[string]func(*house){
		"a person's rollback": func(h *house) { h.do(rollout.Rollback) },
		"a breach":            func(h *house) { h.metrics.tell(412) },
	}
	for name, turn := range turns {
		for _, others := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s beside %d that hang", name, others), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					f := &troubled{}
					h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
					h.begin()
					h.at(0, 25, time.Hour)
					for n := range others {
						h.startAnother(fmt.Sprintf("other-%d", n))
					}
					time.Sleep(time.Minute)
					f.trouble(hanging)
					looks := f.watched(hanging)
					time.Sleep(2 * time.Minute)
					gaps(t, looks(), afterGuard)
					began := time.Now()
					turn(h)
					h.at(0, 0, 3*time.Minute)
					if bad := h.metrics.bad; !bad.IsZero() {
						began = bad // when it was readable
					}
					if took := time.Since(began); took > afterGuard {
						t.Errorf("at 0 only after %v", took)
					}
				})
			})
		}
	}
}

func TestARollbackWaitsForNoJournalThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j, f := &hangingJournal{}, &troubled{}
		h := build(t, func(o *controller.Options) {
			j.Journal, o.Journal = o.Journal, j
			f.Flags, o.Flags = o.Flags, f
		})
		h.begin()
		h.at(0, 50, time.Hour)
		time.Sleep(time.Minute)
		j.hangs.Store(true)
		h.metrics.set(func() { h.metrics.hang = true })
		looks := f.watched(func(context.Context, flags.Key) error { return nil })
		time.Sleep(2 * time.Minute)
		gaps(t, looks(), 10*time.Second+2*time.Second) // a cycle waits for the journal and for metrics first
		began := time.Now()
		h.do(rollout.Rollback)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("answered only after %v", took)
		}
		h.at(0, 0, time.Minute)
		if took := time.Since(began); took > afterGuard {
			t.Errorf("at 0 only after %v", took)
		}
		j.hangs.Store(false)
	})
}

func TestAPanicBreaksOnePassOnly(t *testing.T) {
	panics := func() func() {
		var once sync.Once
		return func() {
			broken := false
			once.Do(func() { broken = true })
			if broken {
				panic("as planned")
			}
		}
	}
	cases := map[string]struct {
		arm   func(h *house, f *troubled)
		tells string
	}{
		"in a reader of metrics": {
			func(h *house, _ *troubled) {
				fault := panics()
				h.metrics.set(func() { h.metrics.before = func(context.Context, time.Time, time.Time) { fault() } })
			},
			"a read broke off",
		},
		"in a read of a flag": {
			func(_ *house, f *troubled) {
				fault := panics()
				hook := func(context.Context, flags.Key) error { fault(); return nil }
				f.read.Store(&hook)
			},
			"reading it broke off",
		},
		"in a write of a flag": {
			func(_ *house, f *troubled) {
				fault := panics()
				hook := func(context.Context, flags.Key) error { fault(); return nil }
				f.write.Store(&hook)
			},
			"a pass broke off",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f, log := &troubled{}, &logbook{}
				h := build(t, func(o *controller.Options) {
					f.Flags, o.Flags = o.Flags, f
					o.Log = log.logger()
				})
				h.begin()
				h.at(0, 5, time.Hour)
				c.arm(h, f)
				h.at(0, 50, time.Hour)
				if log.tells(c.tells) == 0 || log.tells("as planned") == 0 {
					t.Errorf("the log does not tell %q", c.tells)
				}
			})
		})
	}
}

func TestAPlansGuardSetsThePace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &troubled{}
		h := build(t, func(o *controller.Options) {
			f.Flags, o.Flags = o.Flags, f
			o.Every = time.Minute
		})
		h.beginWith(func(p *rollout.Plan) { p.Guard.Every = 5 * time.Second })
		h.at(0, 5, time.Hour)
		looks := f.watched(func(context.Context, flags.Key) error { return nil })
		time.Sleep(time.Minute)
		gaps(t, looks(), 6*time.Second)
		status, err := h.Status(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if next := status.Next.Sub(status.Looked); next != 5*time.Second {
			t.Errorf("status says that it looks again after %v", next)
		}
	})
}
