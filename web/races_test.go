package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
	"github.com/seed-c8cbbb61/cutover/web"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// races is how often people press at once: 1000 takes two minutes with -race.
var races = flag.Int("races", 250, "how often people press at once")

// atOnce is how many press in one race. There are more people than that, since
// nobody may ask too often.
const atOnce, crowd = 8, 400

// arena is a server with a real controller and journal, and many people.
type arena struct {
	journal *journal.Journal
	people  [crowd]*client.Client
}

func newArena(t *testing.T) *arena {
	log := slog.New(slog.DiscardHandler)
	j, err := journal.Open(t.Context(), "sqlite::memory:", log)
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{journal: j}
	plain, tokens := everybody(t)
	desk := controller.New(controller.Options{
		Journal: j, Flags: &flags.Memory{}, Metrics: map[string]controller.Metrics{}, Fleet: controller.NewFleet(time.Now), Log: log, Lead: j.Lead,
		Patience: 30 * time.Second, // many press at once on a busy machine
	})
	server := httptest.NewServer(web.New(web.Options{Desk: desk, Journal: j, Fleet: controller.NewFleet(time.Now), Plans: planfile.Parse, Tokens: tokens, Version: "v9", Log: log}))
	for i := range a.people {
		a.people[i] = client.New(server.URL, plain[i], http.Client{})
	}
	t.Cleanup(func() {
		server.Close()
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// everybody has every role, each under a name of his own.
func everybody(t *testing.T) (plain [crowd]string, tokens *web.Tokens) {
	t.Helper()
	var entries []map[string]any
	for i := range plain {
		plain[i] = fmt.Sprintf("cut_person-%d", i)
		sum := sha256.Sum256([]byte(plain[i]))
		entries = append(entries, map[string]any{
			"name": fmt.Sprintf("person-%d", i), "grants": []map[string]string{{"role": "admin"}}, "sha256": hex.EncodeToString(sum[:]),
		})
	}
	text, err := json.Marshal(map[string]any{"tokens": entries})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if tokens, err = web.LoadTokens(path); err != nil {
		t.Fatal(err)
	}
	return plain, tokens
}

// where a rollout stands when people press: each takes another command of theirs.
var stands = []string{"waiting for approvals and a go", "held by a person", "soaked"}

// brought appends the events that bring a rollout there, as a controller would.
func (a *arena) brought(t *testing.T, name, where string) {
	t.Helper()
	limit := 50.0
	stages := []rollout.Stage{{Share: 10, Bake: time.Minute}, {Share: 100, Bake: time.Minute, Approvals: 1, Manual: true}}
	p := &rollout.Plan{
		Name: name, Kind: rollout.SameData, Database: rollout.Database{Name: name},
		Services: []rollout.Service{{Name: "checkout", Tasks: 10}},
		Lanes:    []rollout.LanePlan{{Name: "reads", Class: rollout.Reads, Services: []string{"checkout"}, Flag: flags.Key{Namespace: "default", Name: name}, Stages: stages}},
		Gates:    []gates.Gate{{Name: "wait", Source: "tasks", Metric: gates.Metric{Name: "opened", Period: time.Minute}, Limit: gates.Limit{Above: &limit, M: 1, N: 1}}},
	}
	to := func(kind rollout.Kind, share flags.Share) rollout.Event {
		return rollout.Event{Kind: kind, Lane: "reads", To: share, Revision: "r", Stamp: int64(share)}
	}
	events := []rollout.Event{
		{Kind: rollout.Planned, Plan: p},
		{Kind: rollout.Started},
		{Kind: rollout.Checked, Report: &rollout.Report{}},
		to(rollout.Raised, 10), to(rollout.Confirmed, 10),
		{Kind: rollout.Settled},
		{Kind: rollout.Baked, Evidence: "e"},
	}
	switch where {
	case "held by a person":
		events = append(events, rollout.Event{Kind: rollout.HeldOn, Hold: &rollout.Hold{Kind: rollout.HoldPerson, Owner: "ann"}})
	case "soaked":
		events = append(events, to(rollout.Raised, 100), to(rollout.Confirmed, 100),
			rollout.Event{Kind: rollout.Settled}, rollout.Event{Kind: rollout.Baked, Evidence: "e"},
			rollout.Event{Kind: rollout.SoakBegan}, rollout.Event{Kind: rollout.SoakEnded, Evidence: "e"})
	}
	var s rollout.State
	for _, e := range events {
		e.At, e.By = time.Now(), rollout.Controller
		var err error
		if s, _, err = a.journal.Append(t.Context(), s, e); err != nil {
			t.Fatal(err)
		}
	}
}

// Rollback against advance, approve and resume: whoever was first, it rolls
// back, each thing came to pass once, and what comes later is refused.
func TestARollbackWinsEveryRace(t *testing.T) {
	a := newArena(t)
	verbs := []rollout.Verb{rollout.Rollback, rollout.Advance, rollout.Approve, rollout.Resume}
	for n := range *races {
		name := fmt.Sprintf("race-%04d", n)
		where := stands[n%len(stands)]
		a.brought(t, name, where)
		var start, done sync.WaitGroup
		start.Add(1)
		for i := range atOnce {
			person := a.people[(n*atOnce+i)%crowd]
			done.Go(func() {
				start.Wait()
				verb := verbs[(i+n)%len(verbs)]
				_, err := person.Do(t.Context(), name, rollout.Command{Verb: verb, Request: fmt.Sprintf("%s-%s", name, verb)})
				var refused *client.Problem
				if err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusConflict) {
					t.Errorf("%s, %s: %s: %v", name, where, verb, err)
				}
			})
		}
		start.Done()
		done.Wait()
		a.rolledBack(t.Context(), t, a.people[(n*atOnce)%crowd], name, where)
		if t.Failed() {
			return
		}
	}
}

// rolledBack holds what the journal has of a race to what a person would expect.
func (a *arena) rolledBack(ctx context.Context, t *testing.T, later *client.Client, name, where string) {
	t.Helper()
	s, err := a.journal.State(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if s.Phase != rollout.RollingBack || s.Lanes[0].Target != 0 || s.Lanes[0].Intended != 0 || s.Go || len(s.Approvals) > 0 {
		t.Errorf("%s, %s: it is %s at %v, go %v, %d approvals", name, where, s.Phase, s.Lanes[0].Intended, s.Go, len(s.Approvals))
	}
	events, err := a.journal.Events(ctx, name, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	count := map[rollout.Kind]int{}
	down := false
	for _, e := range events {
		if e.By == rollout.Controller {
			continue
		}
		count[e.Kind]++
		down = down || e.Kind == rollout.Lowered
		if down && e.Kind != rollout.Lowered && e.Kind != rollout.Refused {
			t.Errorf("%s, %s: after the rollback it was %s", name, where, e.Kind)
		}
	}
	for kind, n := range count {
		if n != 1 && kind != rollout.Refused {
			t.Errorf("%s, %s: %s came to pass %d times", name, where, kind, n)
		}
	}
	if count[rollout.Lowered] != 1 {
		t.Errorf("%s, %s: %d rollbacks", name, where, count[rollout.Lowered])
	}
	_, err = later.Do(ctx, name, rollout.Command{Verb: rollout.Advance})
	var refused *client.Problem
	if !errors.As(err, &refused) || refused.Code != "refused" {
		t.Errorf("%s, %s: an advance after it: %v", name, where, err)
	}
}
