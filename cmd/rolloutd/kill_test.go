package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// deaths are how often the random test kills the service.
const deaths = 50

// TestDeathAroundEveryAnswer lets the stand-ins kill rolloutd around the n-th
// answer that it gets since its start, before the answer's effect and after it,
// for every n until a start gets that far no more; then it must come to the end.
func TestDeathAroundEveryAnswer(t *testing.T) {
	w, trigger := layToKill(t, flipttest.V2)
	w.begin(killTasks, killLadder)
	const answers = 36 // a start, a cycle with a raise and its checks, and a cycle after
	for n := 1; n <= answers; n++ {
		for _, after := range []bool{false, true} {
			trigger.arm(n, after, w.process)
			select {
			case <-w.done:
			case <-time.After(time.Minute):
				t.Fatalf("rolloutd got no %d answers", n)
			}
			w.start()
		}
	}
	trigger.disarm()
	w.finish(killLadder)
}

// TestRandomDeaths kills rolloutd at random moments.
func TestRandomDeaths(t *testing.T) {
	w, _ := layToKill(t, flipttest.V1)
	w.begin(killTasks, killLadder)
	for range deaths {
		wait := time.NewTimer(time.Duration(rand.IntN(1500)) * time.Millisecond)
		<-wait.C
		w.kill()
		w.start()
	}
	w.finish(killLadder)
}

const killTasks = 10

var killLadder = []flags.Share{10, 50, 100}

// trigger kills a process around an answer of the stand-ins.
type trigger struct {
	mu    sync.Mutex
	left  int
	after bool
	kill  func()
}

func (g *trigger) arm(n int, after bool, p *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.after = n, after
	g.kill = func() { _ = p.cmd.Process.Kill() } // a process that is gone already is what was wanted
}

func (g *trigger) disarm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = 0
}

// before counts an answer, and reports whether the process was killed ahead of its effect.
func (g *trigger) before() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left > 0 && !g.after {
		if g.left--; g.left == 0 {
			g.kill()
			return true
		}
	}
	return false
}

// done counts an answer whose effect is there, and reports whether the process was killed behind it.
func (g *trigger) done() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left > 0 && g.after {
		if g.left--; g.left == 0 {
			g.kill()
			return true
		}
	}
	return false
}

// ofRolloutd reports whether a request is rolloutd's, and not a task's.
func ofRolloutd(r *http.Request) bool {
	return !strings.Contains(r.URL.Path, "/snapshot") && !strings.HasPrefix(r.URL.Path, "/ofrep/")
}

// layToKill lays all wires, with tasks in this process and stand-ins that can kill.
func layToKill(t *testing.T, version flipttest.Version) (*wires, *trigger) {
	t.Helper()
	g := &trigger{}
	w := lay(t, version)
	w.metrics.Func(headroomMetric, func(time.Time) (float64, bool) { return 1200, w.published(0) > 0 })
	w.flipt.Before(func(_ http.ResponseWriter, r *http.Request) bool { return ofRolloutd(r) && g.before() })
	w.flipt.After(func(r *http.Request) bool { return ofRolloutd(r) && g.done() })
	asked := func() { // a reading changes nothing, so before its answer and after it are one
		g.before()
		g.done()
	}
	w.asked.Store(&asked)
	w.watchShares()
	w.runTasks()
	return w, g
}

// runTasks lets tasks run in this process, on the real API.
func (w *wires) runTasks() {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	desk := client.New(w.url, w.token("reporter", "checkout", "checkout-tasks"), http.Client{})
	var tasks sync.WaitGroup
	for _, id := range fleetOf40(killLadder)[:killTasks] {
		hash, began := flags.TargetingKey(id), time.Now()
		tasks.Go(func() {
			tick := time.NewTicker(400 * time.Millisecond)
			defer tick.Stop()
			for {
				r := rollout.TaskReport{Task: id, Service: "checkout", StartedAt: began, SentAt: time.Now()}
				for l, lane := range []string{"reads", "writes"} {
					r.Lanes = append(r.Lanes, rollout.LaneReport{Lane: lane, Decided: w.published(l).Holds(laneFlags[l].Name, hash)})
				}
				_ = desk.Report(ctx, r) // rolloutd is dead now and then
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	w.t.Cleanup(func() {
		stop()
		tasks.Wait()
	})
}

// watchShares holds what the flag store serves, at each of its writes, against
// what may never be seen there: a share that is no stage, falls, or skips one.
func (w *wires) watchShares() {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	var watch sync.WaitGroup
	var seen [2]atomic.Int64
	watch.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			for l := range laneFlags {
				was, now := flags.Share(seen[l].Load()), w.published(l)
				if now != was && now != nextOf(killLadder, was) {
					w.t.Errorf("lane %d went from %v to %v", l, was, now)
				}
				seen[l].Store(int64(now))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	w.t.Cleanup(func() {
		stop()
		watch.Wait()
	})
}

func nextOf(ladder []flags.Share, share flags.Share) flags.Share {
	for _, s := range ladder {
		if s > share {
			return s
		}
	}
	return share
}

// finish waits for the end of the ladder and holds the journal against what may never happen.
func (w *wires) finish(ladder []flags.Share) {
	w.t.Helper()
	w.until(rollout.Soaking, 2*time.Minute)
	events := w.events()
	w.t.Logf("transcript:\n%s", transcript(events))
	checkJournal(w.t, events, ladder)
	leaders := 0
	for _, e := range events {
		if e.Kind == rollout.Led {
			leaders++
		}
	}
	w.t.Logf("%d leaders", leaders)
}
