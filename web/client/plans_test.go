package client_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
	"github.com/seed-c8cbbb61/cutover/web"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

const planYAML = `
rollout: orders-db
owner: team-orders
kind: same-data
database: {name: orders, engine: aurora-mysql}
source: {host: orders.example, port: 3306, kind: direct}
target: {host: orders-proxy.example, port: 3306, kind: rds-proxy}
services: [{name: checkout, tasks: 20, pool_max: 5}]
lanes:
  - name: reads
    class: reads
    services: [checkout]
    flag: {key: orders-db-reads}
    stages: [{share: 50%, bake: 1h}, {share: 100%, bake: 1h}]
gates:
  - name: waits
    source: tasks
    metric: {name: worst_wait_ms, unit: ms}
    limit: {above: 50ms}
    on_breach: zero
`

// library has many versions of one plan, and one state.
type library struct {
	rooms

	events []rollout.Event
	state  rollout.State
}

func (l *library) Status(context.Context, string) (rollout.Status, error) {
	return rollout.Status{State: l.state}, l.err
}

func (l *library) Find(_ context.Context, q rollout.Query) ([]rollout.Event, error) {
	var found []rollout.Event
	for _, e := range l.events {
		if q.Matches(&e) && e.Place > q.After && len(found) < q.Limit {
			found = append(found, e)
		}
	}
	return found, l.err
}

func (l *library) Amend(_ context.Context, p *rollout.Plan, c rollout.Command) (rollout.State, error) {
	l.plan, l.cmd = p, c
	return rollout.State{Name: p.Name, PlanVersion: 2}, l.err
}

// lend serves a library whose plan has so many versions, each baking a minute longer.
func lend(t *testing.T, versions int) (*library, *client.Client) {
	t.Helper()
	l := &library{}
	began := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	for n := range versions {
		p, err := planfile.Parse("plan.yaml", []byte(planYAML))
		if err != nil {
			t.Fatal(err)
		}
		p.Lanes[0].Stages[0].Bake += time.Duration(n) * time.Minute
		kind := rollout.Amended
		if n == 0 {
			kind = rollout.Planned
		}
		l.events = append(l.events,
			rollout.Event{Rollout: "orders-db", Place: int64(2*n + 1), Seq: uint64(2*n + 1), Kind: kind, At: began, By: "ann", Why: "more", Plan: p},
			rollout.Event{Rollout: "orders-db", Place: int64(2*n + 2), Seq: uint64(2*n + 2), Kind: rollout.Noted, At: began, By: "ann"})
		l.state = rollout.State{Name: "orders-db", Version: uint64(2*n + 2), Phase: rollout.Held, Plan: p, PlanHash: p.Hash(), PlanVersion: n + 1, Lanes: []rollout.Lane{{Name: "reads", Intended: 50}}}
	}
	plain, entry := web.NewToken("ann", web.Admin, "")
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := web.SaveTokens(path, []web.Entry{entry}); err != nil {
		t.Fatal(err)
	}
	tokens, err := web.LoadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(web.Options{
		Desk: l, Journal: l, Fleet: l, Amender: l, Plans: planfile.Parse, Tokens: tokens, Log: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(server.Close)
	return l, client.New(server.URL, plain, http.Client{})
}

func TestEveryVersionOfAPlanCanBeRead(t *testing.T) {
	_, c := lend(t, 230)
	all, err := c.PlanVersions(t.Context(), "orders-db")
	if err != nil || len(all) != 230 {
		t.Fatalf("%d versions, %v", len(all), err)
	}
	for n, v := range all {
		if v.Version != n+1 || v.Plan != nil || v.Hash == "" || v.Seq != uint64(2*n+1) {
			t.Fatalf("version %d is %+v", n+1, v)
		}
	}
	third, err := c.PlanVersion(t.Context(), "orders-db", 3)
	if err != nil || third.Hash != all[2].Hash || third.Plan.Hash() != third.Hash {
		t.Errorf("version 3 is %+v, %v", third, err)
	}
	text, err := c.PlanFile(t.Context(), "orders-db", 3)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := planfile.Parse("again.yaml", text); err != nil || p.Hash() != third.Hash {
		t.Errorf("its file is another plan: %v\n%s", err, text)
	}
}

func TestAVersionThatIsNotThereIsNotFound(t *testing.T) {
	_, c := lend(t, 2)
	for name, version := range map[string]int{"orders-db": 3, "nobody": 1} {
		if _, err := c.PlanVersion(t.Context(), name, version); !notFound(err) {
			t.Errorf("version %d of %s: %v", version, name, err)
		}
		if _, err := c.PlanFile(t.Context(), name, version); !notFound(err) {
			t.Errorf("the file of version %d of %s: %v", version, name, err)
		}
	}
	if _, err := c.PlanVersions(t.Context(), "nobody"); !notFound(err) {
		t.Errorf("the versions of nobody: %v", err)
	}
}

func notFound(err error) bool {
	p, ok := errors.AsType[*client.Problem](err)
	return ok && p.Status == http.StatusNotFound && p.Code == "not_found"
}

func TestAPlanIsCheckedAgainstTheOneThatIsStored(t *testing.T) {
	l, c := lend(t, 2)
	found, err := c.CheckPlan(t.Context(), []byte(planYAML))
	if err != nil || l.plan != nil {
		t.Fatalf("%v, stored %v", err, l.plan)
	}
	want := client.PlanCheck{
		Rollout: "orders-db", Hash: found.Plan.Hash(), Plan: found.Plan, Version: 2,
		Changes: []rollout.Difference{{
			Field: "lanes[reads].stages[50%].bake", Was: "1h1m", Is: "1h", Sense: rollout.Loosens, Why: "shorter: less data before the next step",
		}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.err = rollout.ErrNotFound
	if found, err := c.CheckPlan(t.Context(), []byte(planYAML)); err != nil || found.Version != 0 || len(found.Changes) > 0 {
		t.Errorf("a new plan: %+v, %v", found, err)
	}
}

func TestAnAmendmentIsTriedAndSent(t *testing.T) {
	l, c := lend(t, 1)
	longer := strings.Replace(planYAML, "{share: 100%, bake: 1h}", "{share: 75%, bake: 1h}, {share: 100%, bake: 1h}", 1)
	both := strings.Replace(longer, "above: 50ms", "above: 80ms", 1)
	found, err := c.CheckAmendment(t.Context(), "orders-db", []byte(both), rollout.Command{})
	if err != nil || l.plan != nil {
		t.Fatalf("%v, amended by %v", err, l.plan)
	}
	want := client.Amendment{
		Rollout: "orders-db", Revision: 2, Version: 1, Changes: found.Changes,
		Loosens: []string{"gates[waits].limit.above"}, Tightens: []string{"lanes[reads].stages[75%]"},
		Refused: "what loosens a plan needs a reason: gates[waits].limit.above from 50ms to 80ms",
	}
	if diff := cmp.Diff(want, found); diff != "" || len(found.Changes) != 2 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found, err := c.CheckAmendment(t.Context(), "orders-db", []byte(both), rollout.Command{Reason: "why"}); err != nil || found.Refused != "" {
		t.Errorf("with a reason: %+v, %v", found, err)
	}
	cmd := rollout.Command{By: "somebody else", Reason: "why", Expect: 2, Request: "r-1"}
	if state, err := c.Amend(t.Context(), "orders-db", []byte(both), cmd); err != nil || state.PlanVersion != 2 {
		t.Errorf("%+v, %v", state, err)
	}
	cmd.By, cmd.Surface = "ann", "api"
	if diff := cmp.Diff(cmd, l.cmd); diff != "" {
		t.Errorf("the command arrived otherwise:\n%s", diff)
	}
	if _, err := c.Amend(t.Context(), "users-db", []byte(both), cmd); err == nil || !strings.Contains(err.Error(), "must be users-db") {
		t.Errorf("a plan of another rollout: %v", err)
	}
}
