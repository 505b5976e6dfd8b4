package journal_test

import (
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal/mariadbtest"
)

// BenchmarkAppend shows what an event costs, on disk when it returns.
func BenchmarkAppend(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchmarkAppend(b, &engine{name: "sqlite"})
	})
	b.Run("mariadb", func(b *testing.B) {
		benchmarkAppend(b, &engine{name: "mariadb", server: mariadbtest.Start(b)})
	})
}

func benchmarkAppend(b *testing.B, e *engine) {
	j := open(b, e.source(b))
	s := add(b, j, rollout.State{}, planned(plan("orders", "db")), event(rollout.Started))
	for b.Loop() {
		s = add(b, j, s, noted("on and on"))
	}
}
