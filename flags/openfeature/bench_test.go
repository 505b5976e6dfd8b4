package openfeature_test

import (
	"testing"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags/openfeature"
)

func decided(tb testing.TB) *openfeature.Provider {
	tb.Helper()
	store := newSite(tb, 50)
	provider, err := openfeature.New(openfeature.Options{URL: store.URL, TaskID: "task-1", Every: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	if err := provider.InitWithContext(tb.Context(), of.EvaluationContext{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(provider.Shutdown)
	return provider
}

func TestADecisionAllocatesNothing(t *testing.T) {
	provider := decided(t)
	if n := testing.AllocsPerRun(1000, func() { provider.Decide(reads) }); n != 0 {
		t.Errorf("a decision makes %v allocations, want none", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	provider := decided(b)
	b.ReportAllocs()
	for b.Loop() {
		provider.Decide(reads)
	}
}

func BenchmarkDecideInParallel(b *testing.B) {
	provider := decided(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			provider.Decide(reads)
		}
	})
}

func BenchmarkThroughOpenFeature(b *testing.B) {
	store := newSite(b, 50)
	app, err := start(b, openfeature.Options{URL: store.URL, TaskID: "task-1", Every: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		app.Boolean(b.Context(), reads, false, of.EvaluationContext{})
	}
}
