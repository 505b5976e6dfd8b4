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
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// goesBack makes the metric a gate whose breach steps back.
func goesBack(p *rollout.Plan) { p.Gates[0].OnBreach = gates.OnBreachPrevious }

func TestARolloutHeldAfterABreachIsStillGuarded(t *testing.T) {
	for name, wait := range map[string]time.Duration{"a breach at once": 0, "a breach much later": 20 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.beginWith(goesBack)
				h.at(0, 50, time.Hour)
				h.until(rollout.Baking, 10*time.Minute)
				h.metrics.tell(412)
				h.at(0, 25, 10*time.Minute)
				h.metrics.tell(1)
				h.until(rollout.Held, 10*time.Minute)
				time.Sleep(wait)
				h.metrics.tell(412)
				h.at(0, 0, 10*time.Minute) // the second breach in an attempt
			})
		})
	}
}

func TestARolloutWhoseTasksDoNotFollowIsStillGuarded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.beginWith(goesBack)
		h.at(0, 25, time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		var task sync.WaitGroup
		defer task.Wait()
		defer stop()
		task.Go(func() { h.stubborn(ctx) })
		h.at(0, 50, time.Hour)
		h.until(rollout.Held, 10*time.Minute)
		h.metrics.tell(412)
		h.at(0, 25, 10*time.Minute)
	})
}

// stubborn is a task that stays on the source, though it is asked for at 50 %.
func (h *house) stubborn(ctx context.Context) {
	asked := func(id string, share flags.Share) bool { return share.Holds(keys[0].Name, flags.TargetingKey(id)) }
	id := ""
	for n := 0; !asked(id, 50) || asked(id, 25); n++ {
		id = fmt.Sprintf("stubborn-%d", n)
	}
	started := time.Now()
	for ctx.Err() == nil {
		r := rollout.TaskReport{Task: id, Service: "checkout", StartedAt: started, SentAt: time.Now(), Lanes: []rollout.LaneReport{{Lane: "reads"}, {Lane: "writes"}}}
		if err := h.fleet.Report(ctx, r); err != nil {
			h.t.Error(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// stepping is a house whose cycles are driven by hand, by a clock that can be put back.
type stepping struct {
	*house
	back atomic.Int64
}

func (s *stepping) clock() time.Time {
	return time.Now().Add(-time.Duration(s.back.Load())).UTC().Round(0)
}

// pass lets time pass, a cycle each ten seconds.
func (s *stepping) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Second) {
		s.Cycle(s.t.Context(), s.clock())
	}
}

// steppedBack returns a house at 25 % whose clock has just gone back an hour.
func steppedBack(t *testing.T) *stepping {
	h := build(t)
	h.begin()
	h.at(0, 25, time.Hour)
	h.until(rollout.Baking, 10*time.Minute)
	h.close()
	s := &stepping{house: h}
	h.hearing(controller.NewFleet(s.clock)) // it is the machine's clock
	h.Controller = controller.New(h.options)
	s.pass(time.Minute)
	s.back.Store(int64(time.Hour))
	return s
}

func TestNothingRisesByAClockThatWentBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := steppedBack(t)
		s.pass(30 * time.Minute)
		if s.share(0) != 25 {
			t.Errorf("the share went from 25%% to %v: %s", s.share(0), s.story())
		}
		status, err := s.Status(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(status.Waits, func(w rollout.Wait) bool { return w.Subject == "clock" }) {
			t.Errorf("nobody is told that the clock is in doubt: %+v", status.Waits)
		}
		s.back.Store(0) // it has caught up
		s.pass(30 * time.Minute)
		if s.share(0) < 50 {
			t.Errorf("half an hour after the clock was right again: %v, %s", s.share(0), s.story())
		}
	})
}

func TestABreachRollsBackByAClockThatWentBack(t *testing.T) {
	breaches := map[string]func(*house){
		"a metric": func(h *house) { h.metrics.tell(412) },
		"what tasks report": func(h *house) {
			h.mu.Lock()
			h.failing = 1
			h.mu.Unlock()
		},
	}
	for name, breach := range breaches {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := steppedBack(t)
				s.pass(time.Minute)
				breach(s.house)
				s.pass(2 * time.Minute)
				if s.share(0) != 0 {
					t.Errorf("two minutes of breach, still at %v: %s", s.share(0), s.story())
				}
			})
		})
	}
}

func TestSilentTasksAreNotLiveByAClockThatWentBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := steppedBack(t)
		s.mu.Lock()
		s.mute = true
		s.mu.Unlock()
		s.pass(time.Minute)
		status, err := s.Status(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if live := status.Lanes[0].Tasks.Live; live != 0 {
			t.Errorf("%d tasks pass for live that have said nothing for a minute", live)
		}
	})
}
