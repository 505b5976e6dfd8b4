package main

import (
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

func TestWhatSomebodyMayNotDoIsInTheJournalAndATokenIsGoodAtOnce(t *testing.T) {
	r := newRolloutd(t)
	plan, err := os.ReadFile("../../deploy/plans/orders-db.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.admin.Plan(t.Context(), plan, rollout.Command{}); err != nil {
		t.Fatal(err)
	}
	elsewhere, _, err := r.admin.MakeToken(t.Context(), client.Token{
		Name: "ann", Grants: []client.Grant{{Role: "viewer"}, {Role: "operator", Databases: []string{"billing"}}},
	}, time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	ann := client.New(r.url, elsewhere, http.Client{})
	_, err = ann.Do(t.Context(), "orders-db", rollout.Command{Verb: rollout.Start})
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusForbidden {
		t.Fatalf("ann starts a rollout on another database: %v", err)
	}
	eventually(t, 10*time.Second, "the refusal is in the journal", func() bool {
		events, _, err := ann.Events(t.Context(), "orders-db", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		last := events[len(events)-1]
		return last.Kind == rollout.Refused && last.By == "ann" &&
			last.Why == "start needs the role operator or admin on database orders; ann is viewer, operator on billing"
	})
	if err := r.admin.TakeToken(t.Context(), "ann", ""); err != nil {
		t.Fatal(err)
	}
	_, err = ann.Whoami(t.Context())
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusUnauthorized {
		t.Errorf("after it was taken away: %v", err)
	}
	all, _, err := r.admin.AllEvents(t.Context(), client.EventFilter{}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []rollout.Kind
	for _, e := range all {
		if e.Rollout == rollout.HouseName {
			kinds = append(kinds, e.Kind)
		}
	}
	if len(kinds) != 2 || kinds[0] != rollout.TokenMade || kinds[1] != rollout.TokenTaken {
		t.Errorf("of the token the journal has %v", kinds)
	}
}
