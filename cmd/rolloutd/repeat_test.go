package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// asking is one request, and what it may answer each time.
type asking struct {
	id      string
	ask     func(context.Context, *client.Client, string) error
	refused string // the code that it is refused with, each time
}

func askings(plan []byte) []asking {
	const name = "orders-db"
	return []asking{
		{"plan-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Plan(ctx, plan, rollout.Command{Request: id})
			return err
		}, ""},
		{"note-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Do(ctx, name, rollout.Command{Verb: rollout.Note, Reason: "lunch", Request: id})
			return err
		}, ""},
		{"offer-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Do(ctx, name, rollout.Command{Verb: rollout.HandOver, Person: "admin", Request: id})
			return err
		}, ""},
		{"advance-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Do(ctx, name, rollout.Command{Verb: rollout.Advance, Request: id})
			return err
		}, "refused"},
		{"stale-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Do(ctx, name, rollout.Command{Verb: rollout.Note, Reason: "late", Request: id, Expect: 4711})
			return err
		}, "conflict"},
		{"hold-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.HoldAll(ctx, rollout.HouseCommand{Reason: "storm", Request: id})
			return err
		}, ""},
		{"freeze-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Freeze(ctx, rollout.HouseCommand{Database: "orders", Until: time.Now().Add(time.Hour), Request: id})
			return err
		}, ""},
		{"thaw-1", func(ctx context.Context, c *client.Client, id string) error {
			_, err := c.Thaw(ctx, rollout.HouseCommand{Database: "nothing", Request: id})
			return err
		}, "refused"},
	}
}

// answered holds an answer to what it must be each time.
func (a *asking) answered(t *testing.T, err error) {
	t.Helper()
	if p, _ := errors.AsType[*client.Problem](err); (a.refused == "") != (err == nil) || err != nil && (p == nil || p.Code != a.refused) {
		t.Errorf("%s was answered %v, want %q", a.id, err, a.refused)
	}
}

func TestARequestActsOnceHoweverOftenItIsSent(t *testing.T) {
	r := newRolloutd(t)
	plan, err := os.ReadFile("../../deploy/plans/orders-db.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := askings(plan)
	callers := make([]*client.Client, len(all)) // one each: a token may ask only so often
	for i, a := range all {
		callers[i] = client.New(r.url, r.token("admin", "", "for-"+a.id), http.Client{})
		a.answered(t, a.ask(t.Context(), callers[i], a.id)) // the first of a hundred: later ones rest on the plan
	}
	var group errgroup.Group
	group.SetLimit(16)
	for n := range 99 * len(all) {
		i := n % len(all)
		group.Go(func() error {
			all[i].answered(t, all[i].ask(t.Context(), callers[i], all[i].id))
			return nil
		})
	}
	_ = group.Wait() // it has no errors
	r.kill()
	r.start()
	for i, a := range all {
		a.answered(t, a.ask(t.Context(), callers[i], a.id))
	}
	reused := asking{id: "note-1", refused: "request_reused"}
	_, err = callers[1].Do(t.Context(), "orders-db", rollout.Command{Verb: rollout.Withdraw, Request: "note-1"})
	reused.answered(t, err)

	events, _, err := r.admin.AllEvents(t.Context(), client.EventFilter{}, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, e := range events {
		times[e.Request]++
	}
	for _, a := range all {
		if times[a.id] != 1 {
			t.Errorf("%s is in %d events", a.id, times[a.id])
		}
	}
}

func TestAStreamDoesNotKeepTheServerFromEnding(t *testing.T) {
	r := newRolloutd(t)
	if _, err := r.admin.HoldAll(t.Context(), rollout.HouseCommand{Reason: "storm"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told []string
	for e, err := range r.admin.StreamAll(ctx, client.EventFilter{}, 0) {
		if told = append(told, fmt.Sprint(e.Kind, err != nil)); err != nil {
			break
		}
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	<-r.done
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if len(told) != 2 || told[0] != "held_allfalse" || told[1] != "true" {
		t.Errorf("the stream told %q", told)
	}
}
