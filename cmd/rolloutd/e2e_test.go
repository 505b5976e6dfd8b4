package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

var fullLadder = []flags.Share{1, 10, 25, 50, 75, 100}

func TestAFullWalkOnRealWires(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		t.Run(fmt.Sprintf("Flipt v%d, MariaDB, CloudWatch, 40 task processes", version), func(t *testing.T) {
			w := lay(t, version)
			w.metrics.Func(headroomMetric, func(time.Time) (float64, bool) { return 1200, w.published(0) > 0 })
			w.startTasks(fleetOf40(fullLadder))
			w.begin(40, fullLadder)
			status := w.until(rollout.Soaking, 5*time.Minute)
			events := w.events()
			t.Logf("transcript:\n%s", transcript(events))
			checkJournal(t, events, fullLadder)
			for i, lane := range status.Lanes {
				if lane.Tasks.On != 40 || w.published(i) != flags.All {
					t.Errorf("lane %s: %d of 40 tasks report that they use the target, published %v", lane.Name, lane.Tasks.On, w.published(i))
				}
			}
		})
	}
}

func TestABadTargetIsRolledBackFromReads50(t *testing.T) {
	// S05's series: what the proxy holds open at reads 50 %, minute by minute, of
	// the 3,360 connections that it may.
	s05 := []float64{1600, 2900, 3190, 3200}
	var since time.Time
	w := lay(t, flipttest.V2)
	w.metrics.Func(headroomMetric, func(at time.Time) (float64, bool) {
		switch share := w.published(0); {
		case share == 0:
			since = time.Time{}
			return 0, true
		case share < 50:
			return 64 * float64(share), true
		case since.IsZero():
			since = at
		}
		return s05[min(max(0, int(at.Sub(since)/time.Second)), len(s05)-1)], true
	})
	w.startTasks(fleetOf40(fullLadder))
	w.begin(40, fullLadder)
	status := w.until(rollout.RolledBack, 3*time.Minute)
	events := w.events()
	t.Logf("transcript:\n%s", transcript(events))
	checkJournal(t, events, fullLadder)
	highest := flags.None
	for _, e := range events {
		if e.Kind == rollout.Raised {
			highest = max(highest, e.To)
		}
	}
	if highest != 50 {
		t.Errorf("it came to %v; a gate sees it at 50%%", highest)
	}
	for i, lane := range status.Lanes {
		if lane.Tasks.On != 0 || lane.Tasks.Live != 40 || w.published(i) != 0 {
			t.Errorf("lane %s: %d of %d tasks still use the target, published %v", lane.Name, lane.Tasks.On, lane.Tasks.Live, w.published(i))
		}
	}
}

func TestABreachIsAtZeroWithMariaDBStopped(t *testing.T) {
	short := []flags.Share{50, 100}
	w := lay(t, flipttest.V2)
	w.metrics.Func(headroomMetric, func(time.Time) (float64, bool) { return 1200, w.published(0) > 0 })
	w.startTasks(fleetOf40(short)[:10])
	w.begin(10, short)
	eventually(t, time.Minute, "reads are at 50%", func() bool { return w.published(0) == 50 })
	w.mariadb.Stop()
	breached := time.Now()
	w.metrics.Func(headroomMetric, func(at time.Time) (float64, bool) {
		if w.published(0) == 0 {
			return 0, true
		}
		return 3200, true
	})
	eventually(t, 30*time.Second, "reads are at 0", func() bool { return w.published(0) == 0 })
	t.Logf("flag at 0 %v after the first bad second; two bad seconds make a breach", time.Since(breached).Round(10*time.Millisecond))
	w.mariadb.StartAgain()
	w.until(rollout.RolledBack, time.Minute)
	events := w.events()
	t.Logf("transcript:\n%s", transcript(events))
	late := false
	for _, e := range events {
		late = late || e.Kind == rollout.Late
	}
	if !late {
		t.Error("the journal does not tell what was done without it")
	}
}
