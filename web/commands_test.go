package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestACommandIsSignedByItsTokenAndItsWay(t *testing.T) {
	const body = `{"verb":"rollback","reason":"pager","expect":7,"to":[{"lane":"writes","share":0}]}`
	want := rollout.Command{
		Verb: rollout.Rollback, By: "the-approver", Surface: "api", Request: "key-1", Reason: "pager",
		Expect: 7, To: []rollout.LaneShare{{Lane: "writes"}},
	}
	h := newHouse(t)
	if w := h.ask(Approver, "POST", "/api/v1/rollouts/orders-db/commands", body, "Idempotency-Key", "key-1"); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	h.ask(Approver, "POST", "/api/v1/rollouts/orders-db/commands", body, "Idempotency-Key", "key-1", "User-Agent", "rolloutctl/1.0")
	cli := want
	cli.Surface = "cli"
	if diff := cmp.Diff([]rollout.Command{want, cli}, h.desk.cmds); diff != "" {
		t.Error(diff)
	}
}

func TestACommandSaysWhatItsVerbNeeds(t *testing.T) {
	h := newHouse(t)
	for _, tt := range []struct {
		body string
		want rollout.Command
	}{
		{`{"verb":"handover","person":"the-operator"}`, rollout.Command{Person: "the-operator"}},
		{`{"verb":"advance","to":[{"lane":"reads","share":50}]}`, rollout.Command{To: []rollout.LaneShare{{Lane: "reads", Share: 50}}}},
		{`{"verb":"adopt","to":[{"lane":"reads","share":25}],"since":"2026-11-29T04:00:00+01:00"}`, rollout.Command{
			To: []rollout.LaneShare{{Lane: "reads", Share: 25}}, Since: time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC),
		}},
	} {
		h.desk.cmds = nil
		if w := h.ask(Admin, "POST", "/api/v1/rollouts/orders-db/commands", tt.body); w.Code != 200 {
			t.Errorf("%s: %d %s", tt.body, w.Code, w.Body)
			continue
		}
		got := rollout.Command{Person: h.desk.cmds[0].Person, To: h.desk.cmds[0].To, Since: h.desk.cmds[0].Since}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.body, diff)
		}
	}
}

func TestACommandWithoutAnIdHasTheRequestsOwn(t *testing.T) {
	h := newHouse(t)
	h.ask(Admin, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold"}`, "X-Request-Id", "req-9")
	h.ask(Admin, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold","request":"mine"}`)
	if got := []string{h.desk.cmds[0].Request, h.desk.cmds[1].Request}; !cmp.Equal(got, []string{"req-9", "mine"}) {
		t.Errorf("request ids %q", got)
	}
}

func TestACommandIsFinishedThoughWhoGaveItHasGone(t *testing.T) {
	h := newHouse(t)
	ctx, hangUp := context.WithCancel(t.Context())
	var within error
	h.desk.do = func(ctx context.Context) error {
		hangUp()
		within = ctx.Err()
		return nil
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/rollouts/orders-db/commands", strings.NewReader(`{"verb":"rollback"}`))
	r.Header.Set("Authorization", "Bearer "+h.tokens[Operator])
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if within != nil || w.Code != http.StatusOK {
		t.Errorf("the rollback was cut off: %v, %d", within, w.Code)
	}
}

func TestADeskThatDoesNotAnswerIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.desk.do = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		p := problemOf(t, h.ask(Admin, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"hold"}`))
		if took := time.Since(began); p.Status != 504 || took != patience {
			t.Errorf("got %d after %v", p.Status, took)
		}
	})
}

func TestAPlanIsStoredAndADryRunIsNot(t *testing.T) {
	h := newHouse(t)
	w := h.ask(Operator, "POST", "/api/v1/plans?dry_run=true", "rollout: orders-db")
	var dry struct {
		Rollout string        `json:"rollout"`
		Hash    string        `json:"plan_hash"`
		Plan    *rollout.Plan `json:"plan"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &dry); err != nil || dry.Rollout != "orders-db" || dry.Hash != dry.Plan.Hash() {
		t.Errorf("dry run: %v %s", err, w.Body)
	}
	if h.desk.plan != nil {
		t.Fatal("a dry run was stored")
	}
	w = h.ask(Operator, "POST", "/api/v1/plans?expect=4&dry_run=false", "rollout: orders-db", "Idempotency-Key", "k")
	if w.Code != 201 || w.Header().Get("Location") != "/api/v1/rollouts/orders-db" {
		t.Errorf("%d, Location %q", w.Code, w.Header().Get("Location"))
	}
	want := []rollout.Command{{By: "the-operator", Surface: "api", Request: "k", Expect: 4}}
	if diff := cmp.Diff(want, h.desk.cmds); diff != "" {
		t.Error(diff)
	}
}

func TestAReportIsTakenWithFieldsThatWeDoNotKnow(t *testing.T) {
	h := newHouse(t)
	w := h.ask(Reporter, "POST", "/api/v1/reports", `{"task":"t1","service":"checkout","sent_at":"2026-11-30T03:00:00Z",
		"mood":{"A":1,"a":2},"lanes":[{"lane":"reads","share_seen":25,"decided":true,"open":3,"colour":"blue"}]}`)
	if w.Code != http.StatusNoContent || w.Body.Len() > 0 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	lane := h.fleet.reports[0].Lanes[0]
	if *lane.ShareSeen != 25 || !lane.Decided || lane.Open != 3 {
		t.Errorf("taken as %+v", lane)
	}
}

func TestEventsAreReadPieceByPiece(t *testing.T) {
	h := newHouse(t)
	var seen []uint64
	after := "0"
	for range 3 {
		w := h.ask(Viewer, "GET", "/api/v1/rollouts/orders-db/events?limit=2&after="+after, "")
		var page struct {
			Events []rollout.Event `json:"events"`
			Next   json.Number     `json:"next"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Events == nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		for _, e := range page.Events {
			seen = append(seen, e.Seq)
		}
		after = page.Next.String()
	}
	if !cmp.Equal(seen, []uint64{1, 2, 3}) || after != "3" {
		t.Errorf("saw %v, next after %s", seen, after)
	}
}

func TestRolloutsAreListedByNameAndNoneIsAnEmptyList(t *testing.T) {
	h := newHouse(t)
	body := h.ask(Viewer, "GET", "/api/v1/rollouts", "").Body.String()
	if orders, users := strings.Index(body, "orders-db"), strings.Index(body, "users-db"); orders < 0 || users < orders {
		t.Errorf("listed as %s", body)
	}
	h = newHouse(t)
	h.journal.events = nil
	if body := h.ask(Viewer, "GET", "/api/v1/rollouts", "").Body.String(); body != "{\"rollouts\":[],\"next\":\"\"}\n" {
		t.Errorf("none is %s", body)
	}
}

func FuzzParseOrder(f *testing.F) {
	f.Add([]byte(`{"verb":"rollback","to":[{"lane":"writes","share":0}],"expect":7,"reason":"x"}`))
	f.Add([]byte(`{"verb":"adopt","to":[{"lane":"reads","share":25}],"since":"2026-11-29T03:00:00Z"}`))
	f.Add([]byte(`{"verb":"handover","person":"ann"}`))
	f.Add([]byte(`{"verb":"hold","by":"ann"}`))
	f.Add([]byte(`{"verb":"hold","verb":"rollback"}`))
	f.Add([]byte(`[[[[{"to":null}]]]]`))
	f.Add([]byte("{\"reason\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cmd, err := parseOrder(text, time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC))
		if err != nil {
			if p := status(err); p.Status != http.StatusBadRequest || p.Detail == "" {
				t.Errorf("%q: %d %q", text, p.Status, p.Detail)
			}
			return
		}
		if cmd.By != "" || cmd.Surface != "" {
			t.Errorf("%q signs itself: %+v", text, cmd)
		}
		if len(cmd.To) > 0 && !slices.Contains(aimed(), cmd.Verb) {
			t.Errorf("%q: %s has targets", text, cmd.Verb)
		}
		for _, to := range cmd.To {
			if to.Lane == "" || !to.Share.Valid() || to.Revision != "" {
				t.Errorf("%q: target %+v", text, to)
			}
		}
	})
}
