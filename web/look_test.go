package web

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// of decodes an answer.
func of[T any](t *testing.T, text []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func TestRolloutsAreFoundByWhatTheyAre(t *testing.T) {
	h := newHouse(t)
	add := func(name string, phase rollout.Phase, owner string) {
		st := waitingOn(name)
		st.Phase, st.Owner = phase, owner
		h.journal.states = append(h.journal.states, st)
	}
	add("users-db", rollout.Held, "ben")
	add("orders-db", rollout.Baking, "ann")
	add("carts-db", rollout.Held, "ann")
	for query, want := range map[string][]string{
		"":                             {"carts-db", "orders-db", "users-db"},
		"?state=held":                  {"carts-db", "users-db"},
		"?state=held,baking&owner=ann": {"carts-db", "orders-db"},
		"?owner=team-orders":           {"carts-db", "orders-db", "users-db"},
		"?database=users":              {"users-db"},
		"?database=nothing":            nil,
		"?after=carts-db&limit=1":      {"orders-db"},
		"?after=carts&limit=2":         {"carts-db", "orders-db"},
		"?after=users-db":              nil,
	} {
		list := of[rolloutList](t, h.ask(Viewer, "GET", "/api/v1/rollouts"+query, "").Body.Bytes())
		var names []string
		for i := range list.Rollouts {
			names = append(names, list.Rollouts[i].Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		if more := query == "?after=carts-db&limit=1" || query == "?after=carts&limit=2"; (list.Next != "") != more {
			t.Errorf("%s: next is %q", query, list.Next)
		}
	}
}

func TestAnAnswerThatIsTheSameIsNotSentAgain(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/api/v1/rollouts", "/api/v1/rollouts/orders-db", "/api/v1/openapi.yaml", "/api/v1/events", "/healthz"} {
		first := h.ask(Viewer, "GET", path, "")
		tag := first.Header().Get("ETag")
		if first.Code != 200 || len(tag) < 20 || strings.HasPrefix(tag, "W/") {
			t.Fatalf("%s: %d, ETag %q", path, first.Code, tag)
		}
		for name, tt := range map[string]struct {
			method, tags string
			want         int
		}{
			"the same":           {"GET", tag, 304},
			"asked by HEAD":      {"HEAD", tag, 304},
			"weakly the same":    {"GET", "W/" + tag, 304},
			"one of several":     {"GET", `"x", ` + tag, 304},
			"whatever there is":  {"GET", "*", 304},
			"another":            {"GET", `"x"`, 200},
			"without its quotes": {"GET", strings.Trim(tag, `"`), 200},
		} {
			w := h.ask(Viewer, tt.method, path, "", "If-None-Match", tt.tags)
			if w.Code != tt.want || w.Header().Get("ETag") != tag || tt.want == 304 && (w.Body.Len() > 0 || w.Header().Get("Content-Type") != "") {
				t.Errorf("%s, %s: %d, ETag %q, %d bytes", path, name, w.Code, w.Header().Get("ETag"), w.Body.Len())
			}
		}
	}
	before := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db", "").Header().Get("ETag")
	changed := statusOf("orders-db")
	changed.State.Version++
	h.desk.status = &changed
	if after := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db", "", "If-None-Match", before); after.Code != 200 || after.Header().Get("ETag") == before {
		t.Errorf("what changed is answered %d", after.Code)
	}
	if w := h.ask(Viewer, "GET", "/api/v1/rollouts/nobody", "", "If-None-Match", "*"); w.Code != 404 || w.Header().Get("ETag") != "" {
		t.Errorf("a problem is answered %d", w.Code)
	}
	if w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold"}`, "If-None-Match", "*"); w.Code != 200 || w.Header().Get("ETag") != "" {
		t.Errorf("a command is answered %d", w.Code)
	}
}

func TestTheKindOfAnAnswerIsTheOneThatIsWantedMost(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                       "application/json",
		"*/*":                                    "application/json",
		"text/*":                                 "text/event-stream",
		"application/problem+json":               "application/json",
		"text/event-stream, */*;q=0.1":           "text/event-stream",
		"text/event-stream;q=0.5, */*":           "application/json",
		"application/json;q=0, */*":              "text/event-stream",
		"text/html, application/*;q=0.2":         "application/json",
		"text/html":                              "",
		"application/json;q=0":                   "",
		"application/json;q=x":                   "application/json",
		";;;, text/event-stream":                 "text/event-stream",
		"text/event-stream;q=0, application/xml": "",
	} {
		values := []string{accept}
		if accept == "" {
			values = nil
		}
		got, err := negotiate(values, []string{"application/json", "text/event-stream"})
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v; want %q", accept, got, err, want)
		}
	}
}

func TestAMetricThatIsNoNumberHidesNothing(t *testing.T) {
	h := newHouse(t)
	seen := statusOf("orders-db")
	seen.Verdicts[0] = gates.Verdict{Gate: "borrow-wait", Result: gates.Inconclusive, Cause: gates.NaN, Value: math.NaN(), Why: "no number"}
	h.desk.status = &seen
	got := of[rollout.Status](t, h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db", "").Body.Bytes())
	if len(got.Verdicts) != 1 || got.Verdicts[0].Cause != gates.NaN {
		t.Errorf("the status has %+v", got.Verdicts)
	}
	h.look.gates = []rollout.Reading{{
		Gate: seen.State.Plan.Gates[0], Verdict: seen.Verdicts[0],
		Points: []gates.Point{{Start: began, Value: 1}, {Start: began, Value: math.Inf(1)}, {Start: began, Value: math.NaN()}, {Start: began, Value: 2}},
	}}
	list := of[gateList](t, h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/gates?while=2h", "").Body.Bytes())
	if len(list.Gates) != 1 || len(list.Gates[0].Points) != 2 || h.look.while != 2*time.Hour {
		t.Errorf("the gates are %+v, of the last %v", list.Gates, h.look.while)
	}
}

func TestTasksAreCountedInWholeAndShownInParts(t *testing.T) {
	h := newHouse(t)
	task := func(name string, reads, writes rollout.TaskUse) {
		h.look.tasks = append(h.look.tasks, rollout.TaskStatus{
			Task: name, Service: "checkout", StartedAt: began, HeardAt: began,
			Lanes: []rollout.TaskLane{{Lane: "reads", Use: reads}, {Lane: "writes", Use: writes}},
		})
	}
	task("t3", rollout.Lagging, rollout.OnSource)
	task("t1", rollout.OnTarget, rollout.OnSource)
	task("t2", rollout.OnTarget, rollout.Lagging)
	counts := map[string]map[rollout.TaskUse]int{
		"reads":  {rollout.OnTarget: 2, rollout.Lagging: 1},
		"writes": {rollout.OnSource: 2, rollout.Lagging: 1},
	}
	for query, want := range map[string][]string{
		"":                         {"t1", "t2", "t3"},
		"?use=lagging":             {"t2", "t3"},
		"?use=lagging&lane=reads":  {"t3"},
		"?use=lagging,target":      {"t1", "t2", "t3"},
		"?use=stray":               nil,
		"?limit=1":                 {"t1"},
		"?after=checkout%20t1":     {"t2", "t3"},
		"?lane=writes&use=lagging": {"t2"},
	} {
		list := of[taskList](t, h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/tasks"+query, "").Body.Bytes())
		var names []string
		for _, task := range list.Tasks {
			names = append(names, task.Task)
		}
		if !cmp.Equal(names, want) || !cmp.Equal(list.Counts, counts) || (query == "?limit=1") != (list.Next == "checkout t1") {
			t.Errorf("%s: %v, %v, next %q", query, names, list.Counts, list.Next)
		}
	}
}

func TestWhatWaitsForApprovalSaysWhoMayGiveItAndWhyNot(t *testing.T) {
	step := waitingOn("orders-db")
	given := step
	given.Approvals = []rollout.Approval{
		{By: "the-approver", Plan: step.PlanHash, At: time.Now(), Expires: time.Now().Add(time.Hour)},
		{By: "eve", Plan: step.PlanHash, At: began, Expires: time.Now().Add(-time.Hour)},
	}
	soaked := waitingOn("orders-db")
	soaked.Phase, soaked.Soaked = rollout.Soaking, true
	soaking := soaked
	soaking.Soaked = false
	amended := waitingOn("orders-db")
	amended.Phase, amended.Proposal = rollout.Held, &rollout.Proposal{Plan: planOf("orders-db"), By: "the-admin", At: began, Loosens: []string{"soak.for from 7d to 1d"}}
	free := waitingOn("orders-db")
	free.Lanes[0].Intended, free.Lanes[0].Baked, free.Lanes[0].Confirmed = 100, true, 100 // writes' first stage needs no approval
	for name, tt := range map[string]struct {
		state rollout.State
		as    Role
		what  subject
		given int
		may   bool
		why   string
	}{
		"a step":                        {step, Approver, aStep, 0, true, ""},
		"a step, for an operator":       {step, Operator, aStep, 0, false, "approve needs the role approver or admin on database orders"},
		"a step that I approved":        {given, Approver, aStep, 1, false, "the-approver has approved this step already"},
		"a step that another approved":  {given, Admin, aStep, 1, true, ""},
		"the completion":                {soaked, Approver, aCompletion, 0, true, ""},
		"an amendment of mine":          {amended, Admin, anAmendment, 0, false, "a second person must approve"},
		"an amendment of somebody else": {amended, Approver, anAmendment, 0, true, ""},
		"a soak that is not over":       {soaking, Approver, "", 0, false, ""},
		"a step that needs none":        {free, Approver, "", 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.journal.states = []rollout.State{tt.state}
			h.desk.status = &rollout.Status{State: tt.state}
			all := of[approvalList](t, h.ask(tt.as, "GET", "/api/v1/approvals", "").Body.Bytes())
			one := of[approvalList](t, h.ask(tt.as, "GET", "/api/v1/rollouts/orders-db/approvals", "").Body.Bytes())
			if diff := cmp.Diff(all, one); diff != "" {
				t.Errorf("of all (-) and of one (+):\n%s", diff)
			}
			if tt.what == "" {
				if len(all.Approvals) > 0 {
					t.Errorf("waits: %+v", all.Approvals)
				}
				return
			}
			a := all.Approvals[0]
			if a.What != tt.what || a.May != tt.may || !strings.Contains(a.Why, tt.why) || len(a.Given) != tt.given || a.Version != 7 {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestEventsOfAllAreReadPieceByPieceAndAreOnlyOnesOwn(t *testing.T) {
	h := newHouse(t)
	for range 2500 {
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, By: "ben", At: began})
	}
	h.journal.add(rollout.Event{Rollout: "users-db", Kind: rollout.Noted, By: "ben", At: began})
	token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Viewer, Databases: []string{"users"}}}})
	got := of[eventList](t, h.with(token, "GET", "/api/v1/events?limit=1", "").Body.Bytes())
	if len(got.Events) != 1 || got.Events[0].Rollout != "users-db" || got.Next != 2504 {
		t.Errorf("%d events, next %d", len(got.Events), got.Next)
	}
	seen, after := 0, "0"
	for {
		part := of[struct {
			Events []rollout.Event `json:"events"`
			Next   json.Number     `json:"next"`
		}](t, h.ask(Viewer, "GET", "/api/v1/events?limit=1000&by=ben&kind=noted,held&after="+after, "").Body.Bytes())
		seen += len(part.Events)
		if part.Next.String() == after {
			break
		}
		after = part.Next.String()
	}
	if seen != 2501 {
		t.Errorf("saw %d events", seen)
	}
}

func TestAConflictSaysWhatChangedAndStaysOneWhenNobodyKnows(t *testing.T) {
	h := newHouse(t)
	h.desk.do = func(context.Context) error { return rollout.ErrConflict }
	seen := statusOf("orders-db")
	seen.State.Version = 30
	h.desk.status = &seen
	for range 25 {
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Raised, By: rollout.Controller, At: began, Lane: "reads", From: 10, To: 25})
	}
	h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Refused, By: "the-operator", At: began, Request: "k-1"})
	conflict := func(expect string) Problem {
		t.Helper()
		w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold","expect":`+expect+`}`, "Idempotency-Key", "k-1")
		if p := problemOf(t, w); p.Status != 409 || p.Code != Conflict {
			t.Fatalf("%d %s", p.Status, p.Code)
		}
		return problemOf(t, w)
	}
	p := conflict("3")
	if p.Changed == nil || p.Changed.Expected != 3 || p.Changed.Now != 30 || len(p.Changed.Events) != 20 {
		t.Fatalf("changed: %+v", p.Changed)
	}
	if first := p.Changed.Events[0]; first.Seq != 4 || first.Kind != rollout.Raised || first.By != "controller" || first.What != "reads 10% to 25%" {
		t.Errorf("the first: %+v", first)
	}
	if p := conflict("27"); len(p.Changed.Events) != 1 || p.Changed.Events[0].Seq != 28 {
		t.Errorf("its own refusal is told as a change: %+v", p.Changed)
	}
	h.journal.err = errors.New("no route to host")
	if p := conflict("3"); p.Changed != nil {
		t.Errorf("the journal is away, and it changed: %+v", p.Changed)
	}
}

func TestOneRouteThatHangsOrPanicsLeavesTheOthersBe(t *testing.T) {
	for name, look := range map[string]func(context.Context){
		"hangs":  func(ctx context.Context) { <-ctx.Done() },
		"panics": func(context.Context) { panic("hunter2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				h.look.look = look
				done := make(chan Problem)
				go func() { done <- problemOf(t, h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/gates", "")) }()
				synctest.Wait()
				before := time.Now()
				for _, path := range []string{"/api/v1/rollouts", "/api/v1/rollouts/orders-db", "/api/v1/events", "/api/v1/approvals", "/healthz"} {
					if w := h.ask(Viewer, "GET", path, ""); w.Code != http.StatusOK {
						t.Errorf("%s: %d", path, w.Code)
					}
				}
				if w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"rollback"}`); w.Code != http.StatusOK {
					t.Errorf("rollback: %d", w.Code)
				}
				if took := time.Since(before); took > 0 {
					t.Errorf("the others waited %v", took)
				}
				p := <-done
				if took := time.Since(before); p.Status < 500 || took > patience || strings.Contains(p.Detail, "hunter2") {
					t.Errorf("it was answered %d after %v: %s", p.Status, took, p.Detail)
				}
			})
		})
	}
}
