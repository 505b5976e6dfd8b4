package journal_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

func finding() []promise {
	return []promise{
		{"whatever is asked for is what is found, page by page, in either order", findsLikeModel},
		{"whoever is only named in an event has not caused it", namedOnly},
	}
}

func findsLikeModel(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	people := []string{"ann", "bob", `o"<é>`}
	states := map[string]rollout.State{"*": {Name: rollout.HouseName}}
	for n := range 60 {
		name := []string{"orders", "pay", "*"}[n%3]
		before, begun := states[name]
		next := noted("on and on")
		switch {
		case !begun:
			next = planned(plan(name, name))
		case n%4 == 0:
			next = held()
		}
		next.By = people[n%len(people)*n%len(people)]
		next.At = at.Add(time.Duration(n*n%17)*time.Second + time.Duration(n)*time.Microsecond)
		states[name] = add(t, j, before, next)
	}
	events := all(t, j)

	rapid.Check(t, func(r *rapid.T) {
		q := rollout.Query{
			Rollout: rapid.SampledFrom([]string{"", "", "orders", "*", "nobody"}).Draw(r, "rollout"),
			By:      rapid.SampledFrom([]string{"", "", people[0], people[2], "an"}).Draw(r, "by"),
			Kinds:   rapid.SliceOfN(rapid.SampledFrom([]rollout.Kind{rollout.Noted, rollout.HeldOn, rollout.Planned, "x"}), 0, 2).Draw(r, "kinds"),
			Limit:   rapid.IntRange(-1, 9).Draw(r, "limit"),
			Newest:  rapid.Bool().Draw(r, "newest"),
			After:   int64(rapid.IntRange(0, 70).Draw(r, "after")),
		}
		moment := rapid.SampledFrom(events).Draw(r, "moment").At
		switch rapid.IntRange(0, 2).Draw(r, "times") {
		case 1:
			q.From = moment
		case 2:
			q.From, q.Until = moment.Add(-5*time.Second), moment
		}
		want := asked(events, q)
		var got []rollout.Event
		for page := q; ; page.After = got[len(got)-1].Place {
			found, err := j.Find(t.Context(), page)
			if err != nil {
				r.Fatal(err)
			}
			got = append(got, found...)
			if len(found) < q.Limit || q.Limit < 1 {
				break
			}
		}
		same(r, want, got)
	})
}

// asked is what a query asks for, without its limit.
func asked(events []rollout.Event, q rollout.Query) []rollout.Event {
	var want []rollout.Event
	for i := range events {
		e := &events[i]
		behind := e.Place > q.After
		if q.Newest {
			behind = q.After == 0 || e.Place < q.After
		}
		if behind && q.Matches(e) {
			want = append(want, *e)
		}
	}
	if q.Newest {
		slices.Reverse(want)
	}
	return want
}

func namedOnly(t *testing.T, e *engine) {
	j := open(t, e.source(t))
	approved := event(rollout.Approved)
	approved.By, approved.Approval = "bob", &rollout.Approval{Lane: "reads", By: "cid"}
	add(t, j, rollout.State{}, planned(plan("orders", "db")), approved, approved, noted(`"by":"cid"`), approved)
	by := noted("here")
	by.By = "cid"
	s, err := j.State(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	add(t, j, s, by)
	for _, newest := range []bool{false, true} {
		found, err := j.Find(t.Context(), rollout.Query{By: "cid", Limit: 1, Newest: newest})
		if err != nil || len(found) != 1 || found[0].Why != "here" {
			t.Errorf("newest %v: found %+v, error %v", newest, found, err)
		}
	}
}

func TestFindingReadsByAnIndex(t *testing.T) {
	db := open(t, "sqlite::memory:").DB()
	for _, tt := range []struct {
		query rollout.Query
		want  string
	}{
		{rollout.Query{Rollout: "orders"}, "(rollout=?)"},
		{rollout.Query{Rollout: "orders", After: 3, Newest: true, By: "ann"}, "(rollout=?)"},
		{rollout.Query{After: 3, Kinds: []rollout.Kind{rollout.Noted}}, "(rowid>?)"},
		{rollout.Query{Newest: true, From: at}, "(rowid<?)"},
	} {
		query, args, err := journal.Search(&tt.query, 10)
		if err != nil {
			t.Fatal(err)
		}
		plans := explain(t, db, query, args...)
		if len(plans) != 1 { // a second one would sort
			t.Errorf("%+v is found by %q", tt.query, plans)
			continue
		}
		plan := plans[0]
		if !strings.HasPrefix(plan, "SEARCH events USING ") || !strings.HasSuffix(plan, tt.want) {
			t.Errorf("%+v is found by %q, want by %s", tt.query, plan, tt.want)
		}
	}
}

// explain returns how SQLite runs a statement.
func explain(t *testing.T, db *sql.DB, query string, args ...any) (plans []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var plan string
		if err := rows.Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plans
}
