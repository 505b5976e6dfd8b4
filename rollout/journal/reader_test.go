package journal_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func names() []promise {
	return []promise{
		{"names that differ in case, accents or a dot are different rollouts", namesApart},
		{"names that the databases would take differently are refused", namesRefused},
		{"rollouts are listed by name", listed},
		{"a rollout that is not there is not found, and has no events", notFound},
		{"events are read in pages", pages},
	}
}

func readers() []promise {
	return []promise{
		{"a reader keeps its place, also after the journal is opened again", keepsPlace},
		{"a reader's place never goes back, whoever keeps it", neverBack},
		{"a place that is not there yet cannot be kept", notYet},
	}
}

func namesApart(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	for i, name := range []string{"pay", "Pay", "PAY", "páy", "pa\u0301y", "pay.", "ｐay", "支払い", "🚦"} {
		p := plan(name, strings.Repeat("d", i+1))
		s := add(t, j, rollout.State{}, planned(p), event(rollout.Started))
		got, err := j.State(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		same(t, s, got)
	}
	mustHold(t, j)
}

func namesRefused(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	longest := strings.Repeat("é", 95) + "x"
	s := add(t, j, rollout.State{}, planned(plan(longest, "db")))
	for _, name := range []string{"", " pay", "pay ", "pay\u00a0", "pay\n", "p\xffy", longest + "x"} {
		if _, _, err := j.Append(t.Context(), rollout.State{}, planned(plan(name, "db"))); err == nil {
			t.Errorf("rollout %q was stored", name)
		}
		if name == "" {
			continue
		}
		request := noted("asked for")
		request.Request = name
		if _, _, err := j.Append(t.Context(), s, request); err == nil {
			t.Errorf("request %q was stored", name)
		}
		if err := j.Keep(t.Context(), name, 0); err == nil {
			t.Errorf("reader %q was stored", name)
		}
	}
	spaced := add(t, j, rollout.State{}, planned(plan("pay", "db ")))
	if _, _, err := j.Append(t.Context(), spaced, event(rollout.Started)); err == nil || !strings.Contains(err.Error(), `database "db "`) {
		t.Errorf("got %v, want that the database's name is refused", err)
	}
	mustHold(t, j)
}

func listed(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	if states, err := j.States(t.Context()); err != nil || len(states) != 0 {
		t.Errorf("%d rollouts, error %v; want none", len(states), err)
	}
	for _, name := range []string{"b", "a", "B", "é", "a-1"} {
		add(t, j, rollout.State{}, planned(plan(name, "db")))
	}
	states, err := j.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range states {
		got = append(got, s.Name)
	}
	same(t, []string{"B", "a", "a-1", "b", "é"}, got)
}

func notFound(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	if _, err := j.State(t.Context(), "nobody"); !errors.Is(err, rollout.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	if events, err := j.Events(t.Context(), "nobody", 0, 10); err != nil || len(events) != 0 {
		t.Errorf("%d events, error %v; want none", len(events), err)
	}
}

func pages(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	s := add(t, j, rollout.State{}, planned(plan("orders", "db")))
	add(t, j, rollout.State{}, planned(plan("between", "db")))
	add(t, j, s, noted("a"), noted("b"), noted("c"))
	for _, page := range []struct {
		after uint64
		limit int
		want  []uint64
	}{
		{0, 2, []uint64{1, 2}},
		{2, 1, []uint64{3}},
		{3, 9, []uint64{4}},
		{4, 9, nil},
		{1, 0, []uint64{2, 3, 4}},
		{1, -1, []uint64{2, 3, 4}},
	} {
		events, err := j.Events(t.Context(), "orders", page.after, page.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, e := range events {
			got = append(got, e.Seq)
		}
		same(t, page.want, got)
	}
	since, err := j.Since(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(since) != 2 || since[0].Rollout != "between" || since[1].Why != "a" {
		t.Errorf("got %+v, want the events at places 2 and 3", since)
	}
}

func keepsPlace(t *testing.T, e *engine) {
	source := e.source(t)
	j := open(t, source)
	add(t, j, rollout.State{}, planned(plan("orders", "db")), noted("a"), noted("b"))
	wantPlace := func(reader string, want int64) {
		t.Helper()
		if got, err := open(t, source).Place(t.Context(), reader); err != nil || got != want {
			t.Errorf("%s is at %d, error %v; want %d", reader, got, err, want)
		}
	}
	wantPlace("slack", 0)
	for _, place := range []int64{0, 2, 3} {
		if err := j.Keep(t.Context(), "slack", place); err != nil {
			t.Fatal(err)
		}
		wantPlace("slack", place)
	}
	wantPlace("Slack", 0)
}

func neverBack(t *testing.T, e *engine) {
	source := e.source(t)
	journals := openMany(t, source, 2)
	s := add(t, journals[0], rollout.State{}, planned(plan("orders", "db")))
	for range 7 {
		s = add(t, journals[0], s, noted("more"))
	}
	var keeping sync.WaitGroup
	for place := range int64(9) {
		keeping.Go(func() {
			if err := journals[place%2].Keep(t.Context(), "slack", place); err != nil {
				t.Error(err)
			}
		})
	}
	keeping.Wait()
	if err := journals[0].Keep(t.Context(), "slack", 3); err != nil {
		t.Fatal(err)
	}
	if place, err := journals[1].Place(t.Context(), "slack"); err != nil || place != 8 {
		t.Errorf("at %d, error %v; want 8", place, err)
	}
}

func notYet(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	add(t, j, rollout.State{}, planned(plan("orders", "db")))
	if err := j.Keep(t.Context(), "slack", 2); err == nil {
		t.Error("place 2 of 1 was kept")
	}
	if place, err := j.Place(t.Context(), "slack"); err != nil || place != 0 {
		t.Errorf("at %d, error %v; want 0", place, err)
	}
}
