package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

// fleetSize is how many tasks there are.
const fleetSize = 30

// house is a controller with everything around it, in a bubble of its own time:
// a real journal, tasks that follow and report, metrics that can turn bad.
type house struct {
	t       *testing.T
	journal *journal.Journal
	store   *flags.Memory
	metrics *metrics
	fleet   *controller.Fleet
	options controller.Options

	*controller.Controller
	stop context.CancelFunc
	done chan error

	mu      sync.Mutex
	failing int64 // failed opens that each task on the target counts a second
	mute    bool  // tasks report nothing
}

var keys = []flags.Key{{Namespace: "default", Name: "orders-r"}, {Namespace: "default", Name: "orders-w"}}

// taskIDs returns a fleet in which each lane's first stage has a task: with 30
// tasks, 5 % of them by hash may well be none.
func taskIDs() []string {
	var ids []string
	for n := 0; len(ids) < fleetSize; n++ {
		id := fmt.Sprintf("task-%03d", n)
		first := len(ids) < len(keys) && !flags.Share(5).Holds(keys[len(ids)].Name, flags.TargetingKey(id))
		if !first {
			ids = append(ids, id)
		}
	}
	return ids
}

func plan() *rollout.Plan {
	limit, opens := 50.0, 0.5
	var stages []rollout.Stage
	for _, share := range []flags.Share{5, 25, 50, 100} {
		stages = append(stages, rollout.Stage{Share: share, Bake: 3 * time.Minute, MinTasks: 1})
	}
	lane := func(name string, class rollout.Class, key flags.Key) rollout.LanePlan {
		return rollout.LanePlan{Name: name, Class: class, Services: []string{"checkout"}, Flag: key, Stages: stages}
	}
	return &rollout.Plan{
		Name: "orders", Owner: "team-orders", Kind: rollout.SameData,
		Database: rollout.Database{Name: "orders", Engine: "aurora-mysql"},
		Source:   rollout.Endpoint{Host: "direct", Port: 3306, Kind: "direct"},
		Target:   rollout.Endpoint{Host: "proxy", Port: 3306, Kind: "rds-proxy"},
		Services: []rollout.Service{{Name: "checkout", Tasks: fleetSize, PoolMax: 10}},
		Lanes:    []rollout.LanePlan{lane("reads", rollout.Reads, keys[0]), lane("writes", rollout.Writes, keys[1])},
		Gates: []gates.Gate{
			{
				Name: "borrow-wait", Source: "cloudwatch", Metric: gates.Metric{Namespace: "AWS/RDS", Name: "borrow", Stat: "Maximum", Period: time.Minute},
				Limit: gates.Limit{Above: &limit, M: 1, N: 1}, Absent: gates.AbsentUnknown, OnBreach: gates.OnBreachZero, Scope: gates.ScopeDatabase,
			},
			{
				Name: "failed-opens", Source: "tasks", Metric: gates.Metric{Name: "failed_opens", Per: "second", Period: 10 * time.Second},
				Limit: gates.Limit{Above: &opens, M: 1, N: 1}, Absent: gates.AbsentUnknown, OnBreach: gates.OnBreachZero, Scope: gates.ScopeDatabase,
			},
		},
		Guard:    rollout.Guard{Every: 10 * time.Second},
		OnRaise:  rollout.OnRaiseHold,
		Converge: rollout.Converge{Within: 5 * time.Minute, MinReporting: 90, Interval: 10 * time.Second},
		Patience: 30 * time.Minute, Grace: 2 * time.Minute, Recovery: 10 * time.Minute,
		Soak: rollout.Soak{For: time.Hour},
	}
}

func build(t *testing.T, change ...func(*controller.Options)) *house {
	j, err := journal.Open(t.Context(), "sqlite::memory:", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, journal: j, store: &flags.Memory{}, metrics: &metrics{value: 1}, fleet: controller.NewFleet(time.Now)}
	for _, key := range keys {
		h.store.Create(key)
	}
	h.options = controller.Options{
		Journal: j, Flags: h.store, Metrics: map[string]controller.Metrics{"cloudwatch": h.metrics}, Fleet: h.fleet,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Lead: j.Lead,
	}
	for _, f := range change {
		f(&h.options)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var tasks sync.WaitGroup
	for _, id := range taskIDs() {
		tasks.Go(func() { h.task(ctx, id) })
	}
	h.open()
	t.Cleanup(func() {
		stop()
		tasks.Wait()
		h.close()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// open starts a controller; close ends it, as a process ends.
func (h *house) open() {
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	h.Controller, h.stop, h.done = controller.New(h.options), stop, make(chan error, 1)
	go func(c *controller.Controller, done chan error) { done <- c.Run(ctx) }(h.Controller, h.done)
}

func (h *house) close() {
	h.stop()
	if err := <-h.done; err != nil {
		h.t.Error(err)
	}
	h.done <- nil // closing twice does no harm
}

// hearing makes tasks report to another fleet; the controller must be closed.
func (h *house) hearing(fleet *controller.Fleet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fleet, h.options.Fleet = fleet, fleet
}

// restart is a new process: it has heard of nobody and read nothing.
func (h *house) restart() {
	h.close()
	h.hearing(controller.NewFleet(time.Now))
	h.open()
}

// task decides every five seconds and reports every ten, at once after a change.
func (h *house) task(ctx context.Context, id string) {
	started, reported, hash := time.Now(), time.Time{}, flags.TargetingKey(id)
	var on [2]bool
	var failed [2]int64
	for {
		changed := false
		r := rollout.TaskReport{Task: id, Service: "checkout", StartedAt: started, SentAt: time.Now()}
		h.mu.Lock()
		failing, mute := h.failing, h.mute
		h.mu.Unlock()
		for l, key := range keys {
			if s, err := h.store.Read(ctx, key); err == nil {
				now := s.Share.Holds(key.Name, hash)
				changed = changed || now != on[l]
				on[l] = now
			}
			if on[l] {
				failed[l] += 5 * failing
			}
			r.Lanes = append(r.Lanes, rollout.LaneReport{Lane: []string{"reads", "writes"}[l], Decided: on[l], FailedOpens: failed[l]})
		}
		if !mute && (changed || time.Since(reported) >= 10*time.Second) {
			reported = time.Now()
			h.mu.Lock()
			fleet := h.fleet
			h.mu.Unlock()
			if err := fleet.Report(ctx, r); err != nil {
				h.t.Error(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// begin plans and starts the rollout.
func (h *house) begin() {
	h.t.Helper()
	h.beginWith(func(*rollout.Plan) {})
}

// beginWith plans and starts it by a changed plan.
func (h *house) beginWith(change func(*rollout.Plan)) {
	h.t.Helper()
	p := plan()
	change(p)
	if _, err := h.Plan(h.t.Context(), p, rollout.Command{By: "ann", Surface: "cli"}); err != nil {
		h.t.Fatal(err)
	}
	time.Sleep(15 * time.Minute) // tasks report, metrics have a history
	h.do(rollout.Start)
}

func (h *house) do(verb rollout.Verb) {
	h.t.Helper()
	if _, err := h.Do(h.t.Context(), "orders", rollout.Command{Verb: verb, By: "ann", Surface: "cli"}); err != nil {
		h.t.Fatalf("%s: %v", verb, err)
	}
}

// until lets time pass until the rollout is in a phase.
func (h *house) until(phase rollout.Phase, most time.Duration) {
	h.t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); {
		if h.state().Phase == phase {
			return
		}
		time.Sleep(15 * time.Second)
	}
	h.t.Fatalf("after %v it is %s, not %s\n%s", most, h.state().Phase, phase, h.story())
}

// at lets time pass until a lane's flag has a share.
func (h *house) at(lane int, share flags.Share, most time.Duration) {
	h.t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); {
		if h.share(lane) == share {
			return
		}
		time.Sleep(time.Second)
	}
	h.t.Fatalf("after %v lane %d is at %v, not %v\n%s", most, lane, h.share(lane), share, h.story())
}

func (h *house) state() rollout.State {
	s, err := h.journal.State(context.WithoutCancel(h.t.Context()), "orders")
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *house) share(lane int) flags.Share {
	s, err := h.store.Read(h.t.Context(), keys[lane])
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Share
}

func (h *house) events() []rollout.Event {
	events, err := h.journal.Events(context.WithoutCancel(h.t.Context()), "orders", 0, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	return events
}

// story is what the journal tells of the shares, one word an event.
func (h *house) story() string {
	var words []string
	for _, e := range h.events() {
		switch e.Kind {
		case rollout.Raised, rollout.Lowered, rollout.Late, rollout.TakenBack, rollout.HeldOn, rollout.Proven, rollout.SoakBegan, rollout.Adopted, rollout.BecameStuck:
			word := string(e.Kind)
			if e.Kind == rollout.Raised {
				word = fmt.Sprintf("%s:%v", e.Lane, e.To)
			}
			if e.Hold != nil {
				word += ":" + string(e.Hold.Kind)
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

const ladder = "reads:5% reads:25% reads:50% reads:100% writes:5% writes:25% writes:50% writes:100% soaking"

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) { t.Helper(); synctest.Test(t, test) }

func has(events []rollout.Event, kind rollout.Kind) bool {
	return slices.ContainsFunc(events, func(e rollout.Event) bool { return e.Kind == kind })
}
