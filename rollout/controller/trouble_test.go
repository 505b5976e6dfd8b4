package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// troubled is a flag store whose reads and writes first go through a hook.
type troubled struct {
	controller.Flags
	hook atomic.Pointer[func(context.Context, flags.Key) error]
}

func (f *troubled) trouble(hook func(context.Context, flags.Key) error) { f.hook.Store(&hook) }

func (f *troubled) through(ctx context.Context, key flags.Key) error {
	if hook := f.hook.Load(); hook != nil {
		return (*hook)(ctx, key)
	}
	return nil
}

func (f *troubled) Read(ctx context.Context, key flags.Key) (flags.Setting, error) {
	if err := f.through(ctx, key); err != nil {
		return flags.Setting{}, err
	}
	return f.Flags.Read(ctx, key)
}

func (f *troubled) Write(ctx context.Context, key flags.Key, c flags.Change) (flags.Setting, error) {
	if err := f.through(ctx, key); err != nil {
		return flags.Setting{}, err
	}
	return f.Flags.Write(ctx, key, c)
}

// beginWith plans a changed plan and starts it.
func (h *house) beginWith(change func(*rollout.Plan)) {
	h.t.Helper()
	p := plan()
	change(p)
	if _, err := h.Plan(h.t.Context(), p, rollout.Command{By: "ann"}); err != nil {
		h.t.Fatal(err)
	}
	time.Sleep(15 * time.Minute)
	h.do(rollout.Start)
}

func TestAFlakyFlagStoreDoesNotHideASteadyBreach(t *testing.T) {
	for _, every := range []int64{12, 6, 4, 2} {
		t.Run(fmt.Sprintf("one read in %d fails", every), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := &troubled{}
				h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
				h.beginWith(func(p *rollout.Plan) { p.Gates[0].Limit.M, p.Gates[0].Limit.N = 2, 3 })
				h.at(0, 50, time.Hour)
				var n atomic.Int64
				f.trouble(func(_ context.Context, key flags.Key) error {
					if key == keys[0] && n.Add(1)%every == 0 {
						return errors.New("503")
					}
					return nil
				})
				time.Sleep(2 * time.Minute)
				h.metrics.tell(412)
				h.at(0, 0, 6*time.Minute)
			})
		})
	}
}

func TestAPanicBreaksOnePassOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &troubled{}
		h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
		h.begin()
		h.at(0, 25, time.Hour)
		var once sync.Once
		f.trouble(func(context.Context, flags.Key) error {
			broken := false
			once.Do(func() { broken = true })
			if broken {
				panic("as planned")
			}
			return nil
		})
		h.until(rollout.Soaking, 2*time.Hour)
	})
}

func TestARolloutThatHangsKeepsNoOthersGuardWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &troubled{}
		h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
		for n := range 12 {
			h.startAnother(fmt.Sprintf("other-%d", n))
		}
		h.begin()
		h.at(0, 50, time.Hour)
		f.trouble(func(ctx context.Context, key flags.Key) error {
			if key.Namespace == "other" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		time.Sleep(time.Minute)
		began := time.Now()
		h.do(rollout.Rollback)
		h.at(0, 0, time.Minute)
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("a rollback took %v beside rollouts that hang", took)
		}
	})
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

// usurped is a journal in which another leader takes over right before a raise is recorded.
type usurped struct {
	controller.Journal
	once sync.Once
	take func()
}

func (j *usurped) Append(ctx context.Context, s rollout.State, e rollout.Event) (rollout.State, rollout.Event, error) {
	if e.Kind == rollout.Raised && e.From == 5 {
		j.once.Do(j.take)
	}
	return j.Journal.Append(ctx, s, e)
}

func TestAFormerLeaderNeitherRaisesNorSignsForTheNewOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		j := &usurped{}
		h := build(t, func(o *controller.Options) { j.Journal, o.Journal = o.Journal, j })
		var led rollout.State
		j.take = func() {
			epoch, err := h.journal.Lead(context.Background())
			if err != nil {
				t.Error(err)
			}
			led, _, err = h.journal.Append(context.Background(), h.state(), rollout.Event{Kind: rollout.Led, At: time.Now(), By: rollout.Controller, Epoch: epoch})
			if err != nil {
				t.Error(err)
			}
		}
		h.begin()
		time.Sleep(time.Hour)
		for _, e := range h.events() {
			if e.Kind == rollout.Raised && e.Seq > led.Version {
				t.Errorf("event %d raises %s to %v after another had led", e.Seq, e.Lane, e.To)
			}
		}
		if s, err := h.store.Read(t.Context(), keys[0]); err != nil || led.Version == 0 || s.Stamp.Epoch >= led.Epoch || s.Share != 5 {
			t.Errorf("the flag is %+v, %v; the new leader's epoch is %d", s, err, led.Epoch)
		}
	})
}

func TestAHeldRolloutIsStillGuardedByPreviousGates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.beginWith(func(p *rollout.Plan) { p.Gates[0].OnBreach = gates.OnBreachPrevious })
		h.at(0, 50, time.Hour)
		h.until(rollout.Baking, 10*time.Minute)
		h.metrics.tell(412)
		h.at(0, 25, 10*time.Minute)
		h.metrics.tell(1)
		h.until(rollout.Held, 10*time.Minute)
		time.Sleep(20 * time.Minute)
		h.metrics.tell(412)
		h.at(0, 0, 10*time.Minute) // the second breach in an attempt
	})
}

func TestAClockThatGoesBackRaisesNothingAndLowersAllTheSame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		h.stop()
		if err := <-h.done; err != nil {
			t.Fatal(err)
		}
		c, back := controller.New(h.options), time.Duration(0)
		pass := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Second) {
				c.Cycle(t.Context(), time.Now().Add(back).UTC().Round(0))
			}
		}
		pass(time.Minute)
		at := h.share(0)
		back = -time.Hour
		pass(20 * time.Minute)
		if h.share(0) > at {
			t.Errorf("the share rose from %v to %v by a clock in doubt", at, h.share(0))
		}
		h.metrics.tell(412)
		pass(5 * time.Minute)
		if h.share(0) != 0 {
			t.Errorf("five minutes of breach by a clock in doubt: %v", h.share(0))
		}
		h.open() // for the clean-up
	})
}

func TestABakeMayLastLongerThanReportsAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.beginWith(func(p *rollout.Plan) {
			p.Gates = p.Gates[1:]
			p.Gates[0].Metric.Name = "worst_wait_ms"
			p.Lanes[0].Stages[0].Bake = 4 * time.Hour
		})
		h.at(0, 5, time.Hour)
		h.at(0, 25, 5*time.Hour)
	})
}

func TestAWritesGateThatHasNotBegunKeepsNoReadsWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.beginWith(func(p *rollout.Plan) {
			late := p.Gates[0]
			late.Name, late.Metric.Name, late.Absent = "writes-wait", notBegun, gates.AbsentNotStarted
			late.Scope, late.Lanes = gates.ScopeLane, []string{"writes"}
			p.Gates = append(p.Gates, late)
		})
		h.at(0, 100, 2*time.Hour)
	})
}

func TestARestartKeepsTheBake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.beginWith(func(p *rollout.Plan) { p.Lanes[0].Stages[1].Bake = time.Hour })
		h.at(0, 25, time.Hour)
		h.until(rollout.Baking, 10*time.Minute)
		began := time.Now()
		time.Sleep(50 * time.Minute)
		h.close()
		h.options.Fleet = controller.NewFleet(time.Now) // a new process has heard of nobody
		h.mu.Lock()
		h.fleet = h.options.Fleet
		h.mu.Unlock()
		h.open()
		h.at(0, 50, 20*time.Minute)
		if took := time.Since(began); took > 70*time.Minute || has(h.events(), rollout.HeldOn) {
			t.Errorf("a bake of an hour took %v with a restart in it: %s", took, h.story())
		}
	})
}

func TestARollbackWithoutTheJournalIsToldWithItsPerson(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stopped, f := &awayJournal{}, &troubled{}
		h := build(t, func(o *controller.Options) {
			stopped.Journal, o.Journal = o.Journal, stopped
			f.Flags, o.Flags = o.Flags, f
		})
		h.begin()
		h.at(0, 50, time.Hour)
		time.Sleep(time.Minute)
		f.trouble(func(context.Context, flags.Key) error { return errors.New("503") })
		stopped.away.Store(true)
		order := rollout.Command{Verb: rollout.Rollback, By: "ann", Reason: "orders time out", Request: "r-7", Surface: "cli"}
		if _, err := h.Do(t.Context(), "orders", order); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		stopped.away.Store(false)
		if _, err := h.Do(t.Context(), "orders", rollout.Command{Verb: rollout.Note, By: "ben", Reason: "looking"}); err != nil {
			t.Fatal(err)
		}
		f.trouble(func(context.Context, flags.Key) error { return nil })
		h.at(0, 0, time.Minute)
		h.until(rollout.RolledBack, 10*time.Minute)
		for _, e := range h.events() {
			if e.Kind == rollout.Lowered && e.By == "ann" && e.Why == "orders time out" && e.Request == "r-7" {
				return
			}
		}
		t.Errorf("the journal does not tell who wanted it: %s", h.story())
	})
}

func TestNobodyWithdrawsFromAShare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 5, time.Hour)
		h.do(rollout.Rollback)
		h.until(rollout.RolledBack, 10*time.Minute)
		h.store.Put(keys[1], 50)
		_, err := h.Do(t.Context(), "orders", rollout.Command{Verb: rollout.Withdraw, By: "ann"})
		if !errors.As(err, new(rollout.Refusal)) {
			t.Errorf("withdrawing while a flag is at 50%%: %v", err)
		}
		h.at(1, 0, time.Minute)
	})
}
