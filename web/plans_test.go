package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
)

// versioned is a house whose orders-db is held by the second version of its plan.
func versioned(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	first, second := planOf("orders-db"), planOf("orders-db")
	second.Lanes[0].Stages[0].Bake = 2 * time.Hour
	h.journal.events = []rollout.Event{
		{Rollout: "orders-db", Seq: 1, Place: 1, Kind: rollout.Planned, At: began, By: "ann", Why: "the peak", Plan: first},
		{Rollout: "users-db", Seq: 1, Place: 2, Kind: rollout.Planned, At: began, By: "ann", Plan: planOf("users-db")},
		{Rollout: "orders-db", Seq: 2, Place: 3, Kind: rollout.Started, At: began, By: "ann"},
		{Rollout: "orders-db", Seq: 3, Place: 4, Kind: rollout.Proposed, At: began, By: "ann", Why: "too strict", Plan: second},
		{Rollout: "orders-db", Seq: 4, Place: 5, Kind: rollout.Amended, At: began.Add(time.Hour), By: "ben", Plan: second, Loosens: []string{"x"}},
	}
	status := statusOf("orders-db")
	status.State.Phase, status.State.Plan, status.State.PlanVersion, status.State.PlanHash = rollout.Held, second, 2, second.Hash()
	h.desk.status = &status
	return h
}

// file is a plan as its file.
func file(t *testing.T, p *rollout.Plan) string {
	t.Helper()
	text, err := planfile.Format(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestThePlansOfARolloutAreTold(t *testing.T) {
	h := versioned(t)
	var got versionList
	if w := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/plans", ""); json.Unmarshal(w.Body.Bytes(), &got) != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := versionList{Plans: []rollout.PlanVersion{
		{Version: 1, Hash: h.journal.events[0].Plan.Hash(), Seq: 1, By: "ann", At: began, Why: "the peak"},
		{Version: 2, Hash: h.journal.events[4].Plan.Hash(), Seq: 4, By: "ben", At: began.Add(time.Hour), Why: "too strict", Loosens: []string{"x"}, Proposer: "ann"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for query, want := range map[string]string{"?limit=1": "1, next 1", "?limit=1&after=1": "2, next 0", "?after=9": ", next 0"} {
		var got versionList
		w := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/plans"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var versions []string
		for _, v := range got.Plans {
			versions = append(versions, fmt.Sprint(v.Version))
		}
		if text := fmt.Sprintf("%s, next %d", strings.Join(versions, " "), got.Next); text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
}

func TestAVersionIsAnsweredAsWhatIsAskedFor(t *testing.T) {
	h := versioned(t)
	w := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/plans/2", "", "Accept", "application/yaml")
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || kind != "application/yaml" || w.Body.String() != file(t, h.journal.events[4].Plan) {
		t.Errorf("%d %s:\n%s", w.Code, kind, w.Body)
	}
	w = h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/plans/1", "")
	var v rollout.PlanVersion
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Plan.Hash() != h.journal.events[0].Plan.Hash() {
		t.Errorf("version 1 is %s", w.Body)
	}
	if w := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/plans/1", "", "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("what one has already is answered with %d", w.Code)
	}
}

func TestWhatIsAskedOfPlansMustMakeSense(t *testing.T) {
	const good = "rollout: orders-db"
	tests := []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"GET", "/rollouts/orders-db/plans/0", "", 400, "version"},
		{"GET", "/rollouts/orders-db/plans/x", "", 400, "version"},
		{"GET", "/rollouts/orders-db/plans/3", "", 404, "has no version 3; the newest is 2"},
		{"GET", "/rollouts/nobody-db/plans", "", 404, "no such rollout"},
		{"GET", "/rollouts/nobody-db/plans/1", "", 404, "no such rollout"},
		{"GET", "/rollouts/orders-db/plans?limit=0", "", 400, "limit"},
		{"GET", "/rollouts/orders-db/plans?before=1", "", 400, "there is no such parameter"},
		{"GET", "/rollouts/orders-db/plans/1?x=1", "", 400, "there is no such parameter"},
		{"POST", "/rollouts/orders-db/amendments", "", 400, "is empty"},
		{"POST", "/rollouts/orders-db/amendments?dry_run=yes", good, 400, "dry_run"},
		{"POST", "/rollouts/orders-db/amendments?expect=-1", good, 400, "expect"},
		{"POST", "/rollouts/orders-db/amendments?reason=" + strings.Repeat("x", 1001), good, 400, "reason"},
		{"POST", "/rollouts/orders-db/amendments", "owner: me", 422, "rollout"},
		{"POST", "/rollouts/users-db/amendments", good, 400, "must be users-db, as the path says"},
	}
	h := versioned(t)
	h.desk.status = nil
	for _, tt := range tests {
		p := problemOf(t, h.ask(Admin, tt.method, "/api/v1"+tt.path, tt.body))
		if p.Status != tt.status || !strings.Contains(p.Detail, tt.detail) {
			t.Errorf("%s %.60s: %d %s", tt.method, tt.path, p.Status, p.Detail)
		}
	}
	if len(h.desk.cmds) > 0 {
		t.Errorf("it came to the desk: %+v", h.desk.cmds)
	}
}

func TestAPlanIsComparedWithTheOneThatIsStored(t *testing.T) {
	h := versioned(t)
	var got checked
	w := h.ask(Operator, "POST", "/api/v1/plans?dry_run=true", "rollout: orders-db")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got.Version != 2 || len(got.Changes) != 1 || got.Changes[0].String() != "lanes[reads].stages[10%].bake from 2h to 1h" {
		t.Errorf("version %d, %v", got.Version, got.Changes)
	}
	for name, err := range map[string]error{"a new plan": rollout.ErrNotFound, "without the journal": rollout.ErrAway} {
		h.desk.err = err
		w := h.ask(Operator, "POST", "/api/v1/plans?dry_run=true", "rollout: orders-db")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"changes":[]`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestAnAmendmentIsTriedWithoutHarm(t *testing.T) {
	const path = "/api/v1/rollouts/orders-db/amendments?dry_run=true"
	h := versioned(t)
	try := func(query string) proposed {
		t.Helper()
		var got proposed
		w := h.ask(Operator, "POST", path+query, "rollout: orders-db")
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return got
	}
	want := proposed{
		Rollout: "orders-db", Revision: 7, Version: 2, Loosens: []string{"lanes[reads].stages[10%].bake"}, Tightens: []string{},
		Changes: []rollout.Difference{{
			Field: "lanes[reads].stages[10%].bake", Was: "2h", Is: "1h", Sense: rollout.Loosens, Why: "shorter: less data before the next step",
		}},
		Refused: "what loosens a plan needs a reason: lanes[reads].stages[10%].bake from 2h to 1h",
	}
	if diff := cmp.Diff(want, try("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := try("&reason=why"); got.Refused != "" {
		t.Errorf("with a reason: %s", got.Refused)
	}
	h.desk.status.State.Phase = rollout.Baking
	if got := try("&reason=why"); !strings.Contains(got.Refused, "a plan is amended while it is held") {
		t.Errorf("while it bakes: %q", got.Refused)
	}
	h.desk.status.State.Phase = rollout.Held
	higher := *h.desk.status.State.Plan
	limit := 1.0
	higher.Gates = slices.Clone(higher.Gates)
	higher.Gates[0].Limit.Above = &limit
	h.desk.status.State.Plan = &higher
	h.desk.status.Verdicts = []gates.Verdict{{Gate: "borrow-wait", Result: gates.Fail, Breach: true}}
	if got := try("&reason=why"); !strings.Contains(got.Refused, "gate borrow-wait is in breach") {
		t.Errorf("while its gate is in breach: %q", got.Refused)
	}
	if len(h.desk.cmds) > 0 {
		t.Errorf("it came to the desk: %+v", h.desk.cmds)
	}
}

func TestAnAmendmentIsSigned(t *testing.T) {
	h := versioned(t)
	w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/amendments?expect=7&reason=why", "rollout: orders-db", "Idempotency-Key", "key-1", "User-Agent", "rolloutctl/1.0")
	want := []rollout.Command{{By: "the-operator", Surface: "cli", Request: "key-1", Reason: "why", Expect: 7}}
	if diff := cmp.Diff(want, h.desk.cmds); diff != "" || w.Code != http.StatusOK || h.desk.plan == nil {
		t.Errorf("%d: (-want +got)\n%s", w.Code, diff)
	}
	h.desk.err = rollout.ErrConflict
	p := problemOf(t, h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/amendments?expect=2", "rollout: orders-db"))
	if p.Status != http.StatusConflict || p.Code != Conflict {
		t.Errorf("a stale revision: %d %s", p.Status, p.Code)
	}
	h.desk.err = rollout.Refusal("hold it first")
	if p := problemOf(t, h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/amendments", "rollout: orders-db")); p.Status != http.StatusConflict || p.Code != Refused {
		t.Errorf("a refusal: %d %s", p.Status, p.Code)
	}
}

func TestThePlansNeedTheJournal(t *testing.T) {
	h := versioned(t)
	h.journal.fail(rollout.ErrAway)
	for _, path := range []string{"plans", "plans/1"} {
		if p := problemOf(t, h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/"+path, "")); p.Code != Away {
			t.Errorf("%s: %d %s", path, p.Status, p.Code)
		}
	}
}
