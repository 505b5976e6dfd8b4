package rollout_test

import (
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// BenchmarkDecide decides about a healthy rollout in the middle of its ladder.
func BenchmarkDecide(b *testing.B) {
	w := climbOnce()[6].clone()
	seen := w.look(&w.me.state, false)
	b.ReportAllocs()
	for b.Loop() {
		rollout.Decide(&w.me.state, &seen, w.now)
	}
}

// BenchmarkFold folds the events of a healthy rollout, from plan to soak.
func BenchmarkFold(b *testing.B) {
	rungs := climbOnce()
	events := rungs[len(rungs)-1].events
	b.ReportAllocs()
	for b.Loop() {
		rollout.Fold(events)
	}
	b.ReportMetric(float64(len(events)), "events")
}
