package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// refuses holds that a command is refused, for a reason that a person can act on.
func (h *house) refuses(verb rollout.Verb) {
	h.t.Helper()
	_, err := h.Do(h.t.Context(), "orders", rollout.Command{Verb: verb, By: "ben"})
	if !errors.As(err, new(rollout.Refusal)) {
		h.t.Errorf("%s: %v; want a refusal", verb, err)
	}
}

func TestNobodyWithdrawsWhileAFlagMayHaveAShare(t *testing.T) {
	ready := func(h *house) {
		h.beginWith(func(p *rollout.Plan) { p.Lanes[0].Stages[0].Manual = true })
		h.until(rollout.Ready, 10*time.Minute)
	}
	rolledBack := func(h *house) {
		h.begin()
		h.at(0, 5, time.Hour)
		h.do(rollout.Rollback)
		h.until(rollout.RolledBack, 10*time.Minute)
	}
	phases := map[string]func(*house){"ready": ready, "rolled back": rolledBack}
	flaws := map[string]func(*house, *troubled){
		"a flag has a share":    func(h *house, _ *troubled) { h.store.Put(keys[1], 50) },
		"a flag cannot be read": func(_ *house, f *troubled) { f.trouble(down) },
		"the store does not answer": func(_ *house, f *troubled) {
			f.trouble(func(ctx context.Context, _ flags.Key) error { <-ctx.Done(); return ctx.Err() })
		},
	}
	for phase, begin := range phases {
		for flaw, bring := range flaws {
			t.Run(phase+", "+flaw, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					f := &troubled{}
					h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
					begin(h)
					bring(h, f)
					h.refuses(rollout.Withdraw)
					time.Sleep(time.Minute)
					if h.share(1) > 0 {
						h.refuses(rollout.Withdraw)
					}
					f.cure()
					time.Sleep(5 * time.Minute)
					if h.share(1) > 0 { // another hand's raise of what had no share: a person lowers it
						h.do(rollout.Rollback)
						h.at(1, 0, time.Minute)
					}
					for end := time.Now().Add(10 * time.Minute); h.state().Phase.Lowering() && time.Now().Before(end); {
						time.Sleep(10 * time.Second)
					}
					h.do(rollout.Withdraw)
				})
			})
		}
	}
}

func TestAfterTheSoakAnApprovalDiesWithAGate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.beginWith(func(p *rollout.Plan) {
			p.Soak.For = 10 * time.Minute
			for i := range p.Lanes {
				p.Lanes[i].Stages = p.Lanes[i].Stages[3:]
			}
		})
		h.until(rollout.Soaking, time.Hour)
		h.refuses(rollout.Complete)
		time.Sleep(15 * time.Minute)
		h.refuses(rollout.Complete) // nobody has approved it
		h.do(rollout.Approve)
		h.metrics.set(func() { h.metrics.course = func(time.Time) (float64, bool) { return 0, false } })
		time.Sleep(5 * time.Minute)
		if !has(h.events(), rollout.Voided) {
			t.Errorf("the approval outlives its gate: %s", h.story())
		}
		h.refuses(rollout.Complete)
		h.metrics.set(func() { h.metrics.course = nil })
		time.Sleep(5 * time.Minute)
		h.refuses(rollout.Complete) // what is dead stays dead
		h.do(rollout.Approve)
		h.do(rollout.Complete)
		if phase := h.state().Phase; phase != rollout.Completed {
			t.Errorf("it is %s", phase)
		}
	})
}

func TestAHoldInPreflightHolds(t *testing.T) {
	all := func(verb rollout.Verb) func(*house) {
		return func(h *house) { h.house(rollout.HouseCommand{Verb: verb, Alone: true}) }
	}
	for name, of := range map[string]struct{ hold, release func(*house) }{
		"hold":     {func(h *house) { h.do(rollout.HoldIt) }, func(h *house) { h.do(rollout.Resume) }},
		"hold-all": {all(rollout.HoldForAll), all(rollout.ReleaseAll)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				mute := func(mute bool) {
					h.mu.Lock()
					defer h.mu.Unlock()
					h.mute = mute
				}
				mute(true) // the preflight looks again until tasks report
				h.begin()
				time.Sleep(20 * time.Second)
				if phase := h.state().Phase; phase != rollout.Preflight {
					t.Fatalf("it is %s", phase)
				}
				of.hold(h)
				mute(false)
				time.Sleep(30 * time.Minute)
				if h.share(0) != 0 || h.state().Phase != rollout.Held {
					t.Errorf("held in preflight; half an hour later it is %s at %v", h.state().Phase, h.share(0))
				}
				of.release(h)
				h.at(0, 5, 10*time.Minute)
			})
		})
	}
}

func TestARollbackWithoutTheJournalSurvivesWhateverIsAppended(t *testing.T) {
	stores := map[string]func(*troubled){
		"the flags are down, too": func(f *troubled) { f.trouble(down) },
		"the flags are lowered":   func(*troubled) {},
	}
	appended := map[string]func(*house) error{
		"a note": func(h *house) error {
			_, err := h.Do(h.t.Context(), "orders", rollout.Command{Verb: rollout.Note, By: "ben", Reason: "looking"})
			return err
		},
		"a hold": func(h *house) error {
			_, err := h.Do(h.t.Context(), "orders", rollout.Command{Verb: rollout.HoldIt, By: "ben"})
			return err
		},
		"another leader": func(h *house) error { h.anotherLeads(); return nil },
	}
	for store, trouble := range stores {
		for what, another := range appended {
			t.Run(store+", "+what, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					stopped, f := &awayJournal{}, &troubled{}
					h := build(t, func(o *controller.Options) {
						stopped.Journal, o.Journal = o.Journal, stopped
						f.Flags, o.Flags = o.Flags, f
					})
					h.begin()
					h.at(0, 50, time.Hour)
					time.Sleep(time.Minute)
					trouble(f)
					stopped.away.Store(true)
					order := rollout.Command{Verb: rollout.Rollback, By: "ann", Reason: "orders time out", Request: "r-7", Surface: "cli"}
					if _, err := h.Do(t.Context(), "orders", order); err != nil {
						t.Fatal(err)
					}
					time.Sleep(65 * time.Second)
					stopped.away.Store(false)
					if err := another(h); err != nil {
						t.Fatal(err)
					}
					f.cure()
					h.at(0, 0, time.Minute)
					h.until(rollout.RolledBack, 10*time.Minute)
					told(t, h.events(), order)
				})
			})
		}
	}
}

// told holds the journal to tell a rollback once, with who wanted it and why.
func told(t *testing.T, events []rollout.Event, order rollout.Command) {
	t.Helper()
	n := 0
	for _, e := range events {
		if e.Request == order.Request {
			n++
			if e.Kind != rollout.Lowered || e.By != order.By || e.Why != order.Reason || e.Surface != order.Surface {
				t.Errorf("%s asked for a rollback: %s; the journal tells %+v", order.By, order.Reason, e)
			}
		}
	}
	if n != 1 {
		t.Errorf("the journal tells it %d times", n)
	}
}
