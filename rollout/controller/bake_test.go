package controller_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// bakeOf returns a lane's stages with another bake in one of them.
func bakeOf(p *rollout.Plan, lane, stage int, bake time.Duration) {
	p.Lanes[lane].Stages = slices.Clone(p.Lanes[lane].Stages)
	p.Lanes[lane].Stages[stage].Bake = bake
}

func TestABakeMayLastLongerThanReportsAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t, func(o *controller.Options) { o.Every = time.Minute })
		h.beginWith(func(p *rollout.Plan) {
			counter, gauge := p.Gates[1], p.Gates[1]
			counter.Metric.Period, gauge.Metric.Period = time.Minute, time.Minute
			gauge.Name, gauge.Metric.Name = "worst-wait", "worst_wait_ms"
			p.Gates = []gates.Gate{counter, gauge}
			p.Guard.Every = time.Minute
			bakeOf(p, 0, 0, 150*time.Minute) // reports are kept for two hours
		})
		h.at(0, 5, time.Hour)
		began := time.Now()
		h.at(0, 25, 170*time.Minute)
		if took := time.Since(began); took < 150*time.Minute {
			t.Errorf("a bake of 150 minutes took only %v", took)
		}
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
		h.at(0, 100, time.Hour)
		h.at(1, 5, time.Hour) // nor their own first stage
	})
}

func TestARestartKeepsTheBakeAndHoldsNothing(t *testing.T) {
	phases := map[string]struct {
		change func(*rollout.Plan)
		begun  rollout.Phase
		over   func(*house) bool
	}{
		"in a bake": {
			func(p *rollout.Plan) { bakeOf(p, 0, 0, time.Hour) },
			rollout.Baking, func(h *house) bool { return h.share(0) > 5 },
		},
		"in a soak": {
			func(p *rollout.Plan) {
				for i := range p.Lanes {
					p.Lanes[i].Stages = p.Lanes[i].Stages[3:]
				}
			},
			rollout.Soaking, func(h *house) bool { return h.state().Soaked },
		},
	}
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.beginWith(phase.change)
				h.until(phase.begun, time.Hour)
				began := time.Now()
				time.Sleep(50 * time.Minute)
				before := len(h.events())
				// A cold start: the first looks have no answer yet.
				h.metrics.set(func() {
					h.metrics.before = func(context.Context, time.Time, time.Time) { time.Sleep(700 * time.Millisecond) }
				})
				h.restart()
				for !phase.over(h) && time.Since(began) < 2*time.Hour {
					time.Sleep(15 * time.Second)
				}
				if took := time.Since(began); took > 70*time.Minute {
					t.Errorf("an hour took %v with a restart in it: %s", took, h.story())
				}
				for _, e := range h.events()[before:] {
					if e.Page || e.Kind == rollout.HeldOn || e.Kind == rollout.Rebaked {
						t.Errorf("a restart brings about %s: %s", e.Kind, e.Why)
					}
				}
			})
		})
	}
}

func TestDataFourPeriodsOldDoNotPass(t *testing.T) {
	ends := map[string]func(*metrics){
		"the source hangs": func(m *metrics) { m.hang = true },
		"nothing is published any more": func(m *metrics) {
			last := time.Now()
			m.course = func(bucket time.Time) (float64, bool) { return 1, bucket.Before(last) }
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.beginWith(func(p *rollout.Plan) { p.Lanes[0].Stages[1].Manual = true })
				h.until(rollout.Waiting, time.Hour)
				h.metrics.set(func() { end(h.metrics) })
				time.Sleep(4 * time.Minute)
				status, err := h.Status(t.Context(), "orders")
				if err != nil {
					t.Fatal(err)
				}
				if v := status.Verdicts[0]; v.Allows() || v.Cause == "" {
					t.Errorf("data four minutes old, each minute due: %+v", v)
				}
				h.do(rollout.Advance)
				time.Sleep(30 * time.Minute)
				if h.share(0) != 5 {
					t.Errorf("it rose to %v on data of half an hour ago", h.share(0))
				}
			})
		})
	}
}

func TestALongSoakReadsSmallWindows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		var mu sync.Mutex
		var longest time.Duration
		h.beginWith(func(p *rollout.Plan) {
			silent := p.Gates[0]
			silent.Name, silent.Metric.Name, silent.Absent = "errors", notBegun, gates.AbsentZero
			p.Gates = append(p.Gates[:1], silent)
			p.Soak.For = 24 * time.Hour
			for i := range p.Lanes {
				p.Lanes[i].Stages = p.Lanes[i].Stages[3:]
			}
		})
		h.until(rollout.Soaking, time.Hour)
		reads := 0
		h.metrics.set(func() {
			h.metrics.before = func(_ context.Context, from, to time.Time) {
				mu.Lock()
				defer mu.Unlock()
				longest, reads = max(longest, to.Sub(from)), reads+1
			}
		})
		time.Sleep(2 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if longest > 15*time.Minute || reads < 200 {
			t.Errorf("of %d reads in two hours of soak, one asks for %v of data", reads, longest)
		}
	})
}
