package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

const commandsPath = "/api/v1/rollouts/orders-db/commands"

func TestARoleCountsOnItsDatabasesOnly(t *testing.T) {
	h := newHouse(t)
	grants := map[string][]Grant{
		"operates orders":           {{Role: Operator, Databases: []string{"orders"}}},
		"operates billing":          {{Role: Operator, Databases: []string{"billing"}}},
		"operates billing and sees": {{Role: Viewer}, {Role: Operator, Databases: []string{"billing"}}},
		"operates two":              {{Role: Operator, Databases: []string{"billing", "orders"}}},
	}
	for _, tt := range []struct {
		who, method, path, body string
		status                  int
		detail                  string
	}{
		{"operates orders", "POST", commandsPath, `{"verb":"start"}`, 200, ""},
		{"operates two", "POST", commandsPath, `{"verb":"start"}`, 200, ""},
		{"operates orders", "POST", commandsPath, `{"verb":"approve"}`, 403, "approve needs the role approver or admin on the database of orders-db; x is operator on orders"},
		{"operates billing", "POST", commandsPath, `{"verb":"start"}`, 403, "start needs the role operator or admin on the database of orders-db; x is operator on billing"},
		{"operates billing", "POST", commandsPath, `{"verb":"rollback"}`, 403, "rollback needs the role operator, approver or admin on the database of orders-db"},
		{"operates billing and sees", "POST", commandsPath, `{"verb":"start"}`, 403, "start needs the role operator or admin on database orders; x is viewer, operator on billing"},
		{"operates billing", "GET", "/api/v1/rollouts/orders-db", "", 403, "read needs the role viewer, operator, approver or admin on the database of orders-db"},
		{"operates billing", "GET", "/api/v1/rollouts/orders-db/events", "", 403, "on the database of orders-db"},
		{"operates billing and sees", "GET", "/api/v1/rollouts/orders-db", "", 200, ""},
		{"operates billing", "GET", "/api/v1/rollouts/nobody", "", 404, "no such rollout"},
		{"operates billing", "POST", "/api/v1/rollouts/nobody/commands", `{"verb":"start"}`, 404, "no such rollout"},
		{"operates orders", "POST", "/api/v1/hold-all", `{"reason":"x"}`, 403, "hold-all needs the role operator, approver or admin on all databases; x is operator on orders"},
		{"operates orders", "DELETE", "/api/v1/hold-all", "", 403, "release-all needs the role operator or admin on all databases"},
		{"operates orders", "POST", "/api/v1/freezes", `{"database":"orders","for":"1h"}`, 200, ""},
		{"operates orders", "POST", "/api/v1/freezes", `{"database":"billing","for":"1h"}`, 403, "freeze needs the role operator, approver or admin on database billing; x is operator on orders"},
		{"operates orders", "POST", "/api/v1/freezes", `{"database":"*","for":"1h"}`, 403, "freeze needs the role operator, approver or admin on all databases"},
		{"operates billing", "DELETE", "/api/v1/freezes/orders", "", 403, "thaw needs the role operator or admin on database orders"},
		{"operates orders", "POST", "/api/v1/quiet", `{"database":"billing","quiet":false,"what":"deploy","for":"1h"}`, 403, "disturb needs the role operator, approver or admin on database billing"},
		{"operates orders", "POST", "/api/v1/quiet", `{"database":"orders","quiet":false,"what":"deploy","for":"1h"}`, 200, ""},
		{"operates billing", "POST", "/api/v1/quiet", `{"database":"orders","quiet":true}`, 403, "quiet needs the role operator or admin on database orders"},
		{"operates billing", "POST", "/api/v1/rollouts/orders-db/preflight", "", 403, "preflight needs the role operator, approver or admin on the database of orders-db"},
	} {
		token := h.admit(t, Entry{Name: "x", Grants: grants[tt.who]})
		w := h.with(token, tt.method, tt.path, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.detail) {
			t.Errorf("who %s: %s %s %s: %d %s", tt.who, tt.method, tt.path, tt.body, w.Code, w.Body)
		}
		if w := h.ask(Admin, "DELETE", "/api/v1/tokens/x", ""); w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
}

func TestListsHaveOnlyWhatSomebodyMayRead(t *testing.T) {
	h := newHouse(t)
	of := func(name, database string) rollout.State {
		st := waitingOn(name)
		st.Plan.Database.Name = database
		return st
	}
	h.journal.states = []rollout.State{of("orders-db", "orders"), of("users-db", "users")}
	token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Viewer, Databases: []string{"users"}}}})
	for who, want := range map[string][]string{h.tokens[Viewer]: {"orders-db", "users-db"}, token: {"users-db"}} {
		var got struct {
			Rollouts []rollout.State `json:"rollouts"`
		}
		w := h.with(who, "GET", "/api/v1/rollouts", "")
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range got.Rollouts {
			names = append(names, got.Rollouts[i].Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAPlanIsStoredByWhoMayPlanOnItsDatabaseAndTheOneItLeaves(t *testing.T) {
	for _, tt := range []struct {
		name      string
		databases []string // that somebody operates
		plans     string   // the database that the plan names
		on        string   // that the rollout is on now; none: there is no such rollout
		status    int
		detail    string
	}{
		{"a new one on his own", []string{"orders"}, "orders", "", 201, ""},
		{"a new one on another", []string{"orders"}, "billing", "", 403, "plan needs the role operator or admin on database billing; x is operator on orders"},
		{"a change on his own", []string{"orders"}, "orders", "orders", 201, ""},
		{"away from another's", []string{"orders"}, "orders", "billing", 403, "plan needs the role operator or admin on the database of p"},
		{"from one to another of his", []string{"orders", "billing"}, "orders", "billing", 201, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Operator, Databases: tt.databases}}})
			s := server{Options: Options{Desk: h.desk}}
			h.desk.status = &rollout.Status{State: rollout.State{Plan: &rollout.Plan{Database: rollout.Database{Name: tt.on}}}}
			if tt.on == "" {
				h.desk.err = rollout.ErrNotFound
			}
			who, _, err := mustLoad(t, h.path).find(token)
			if err != nil {
				t.Fatal(err)
			}
			err = s.mayPlan(t.Context(), who, &rollout.Plan{Name: "p", Database: rollout.Database{Name: tt.plans}})
			if tt.status == http.StatusCreated {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if p := status(err); p.Status != tt.status || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("%d %s", p.Status, p.Detail)
			}
		})
	}
}

func mustLoad(t *testing.T, path string) *Tokens {
	t.Helper()
	tokens, err := LoadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestOfAJournalThatIsAwayNobodyIsKeptWaitingWhoMayAnyhow(t *testing.T) {
	h := newHouse(t)
	h.desk.status = &rollout.Status{}
	h.desk.do = func(context.Context) error { return nil }
	h.desk.err = fmt.Errorf("%w: no route to host", rollout.ErrAway)
	if w := h.ask(Operator, "POST", commandsPath, `{"verb":"rollback"}`); w.Code != 200 {
		t.Errorf("an operator of all: %d %s", w.Code, w.Body)
	}
	token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Operator, Databases: []string{"orders"}}}})
	if p := problemOf(t, h.with(token, "POST", commandsPath, `{"verb":"rollback"}`)); p.Status != 503 || p.Code != Away {
		t.Errorf("an operator of a database that nobody can tell: %d %s", p.Status, p.Detail)
	}
	if p := problemOf(t, h.ask(Viewer, "POST", commandsPath, `{"verb":"rollback"}`)); p.Status != 403 {
		t.Errorf("a viewer: %d %s", p.Status, p.Detail)
	}
}

// refuser keeps what was refused.
type refuser struct {
	mu   sync.Mutex
	err  error
	hang bool
	told []refusal
}

func (r *refuser) Refuse(ctx context.Context, name string, cmd rollout.Command, why string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, refusal{name, cmd, why})
	if r.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return r.err
}

// recording makes a house record refusals, until the test ends.
func (h *house) recording(t *testing.T, to Refuser) {
	t.Helper()
	log := slog.New(slog.NewJSONHandler(h.log, nil))
	r := NewRefusals(to, log)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	h.handler = New(Options{
		Desk: h.desk, House: h.rules, Inspector: h.look, Journal: h.journal, Fleet: h.fleet, Plans: plans,
		Tokens: mustLoad(t, h.path), Version: "v9", Refusals: r, Log: log,
	})
}

func TestWhatAPersonMayNotDoIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, r := newHouse(t), &refuser{}
		h.recording(t, r)
		limited := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Operator, Databases: []string{"billing"}}}})
		h.ask(Viewer, "POST", commandsPath, `{"verb":"rollback","reason":"pager"}`, "User-Agent", "rolloutctl/1")
		h.with(limited, "POST", commandsPath, `{"verb":"start"}`)
		h.ask(Viewer, "POST", "/api/v1/hold-all", `{"reason":"x"}`, "Content-Type", "application/json")
		h.with(limited, "POST", "/api/v1/freezes", `{"database":"orders","for":"1h"}`)
		h.with(limited, "POST", "/api/v1/tokens", `{"name":"y","grants":[{"role":"admin"}]}`)
		h.with(limited, "DELETE", "/api/v1/tokens/the-admin", "")
		h.ask(Operator, "POST", commandsPath, `{"verb":"handover","person":"nobody"}`)
		h.ask(Viewer, "POST", "/api/v1/plans", "rollout: orders-db")
		// What is not recorded: a look, tasks, and who is not signed in.
		h.with(limited, "GET", "/api/v1/rollouts/orders-db", "")
		h.ask(Reporter, "POST", commandsPath, `{"verb":"rollback"}`)
		h.ask("", "POST", commandsPath, `{"verb":"rollback"}`)
		synctest.Wait()
		var got []string
		for _, told := range r.told {
			got = append(got, fmt.Sprintf("%s %s by %s via %s: %s", told.name, told.cmd.Verb, told.cmd.By, told.cmd.Surface, told.why))
		}
		want := []string{
			"orders-db rollback by the-viewer via cli: rollback needs the role operator, approver or admin on the database of orders-db; the-viewer is viewer",
			"orders-db start by x via api: start needs the role operator or admin on the database of orders-db; x is operator on billing",
			"* hold-all by the-viewer via api: hold-all needs the role operator, approver or admin on all databases; the-viewer is viewer",
			"* freeze by x via api: freeze needs the role operator, approver or admin on database orders; x is operator on billing",
			"* make-token by x via api: make-token needs the role admin on all databases; x is operator on billing",
			"* take-token by x via api: take-token needs the role admin on all databases; x is operator on billing",
			"orders-db handover by the-operator via api: person nobody: nobody of that name has a good token; to move a rollout needs the role operator or admin on its database: the-admin could take it",
			"* plan by the-viewer via api: plan needs the role operator or admin; the-viewer is viewer",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOfOnePersonTenRefusalsAMinuteAreRecordedAndTheRestCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, r := newHouse(t), &refuser{}
		h.recording(t, r)
		for n := range 50 {
			if w := h.ask(Viewer, "POST", commandsPath, `{"verb":"rollback"}`); w.Code != 403 {
				t.Fatalf("refusal %d: %d", n, w.Code)
			}
			time.Sleep(100 * time.Millisecond)
		}
		h.ask(Approver, "POST", commandsPath, `{"verb":"start"}`)
		synctest.Wait()
		if len(r.told) != refusalsPerMinute+1 {
			t.Errorf("%d are recorded", len(r.told))
		}
		if n := strings.Count(h.log.String(), "refusals are counted, and not recorded for a while"); n != 1 {
			t.Errorf("the log says so %d times", n)
		}
		time.Sleep(time.Minute)
		h.ask(Viewer, "POST", commandsPath, `{"verb":"rollback"}`)
		synctest.Wait()
		if last := r.told[len(r.told)-1].why; !strings.HasSuffix(last, "(and 40 more refused before, which are not recorded)") {
			t.Errorf("the next one says %q", last)
		}
	})
}

func TestARefusalThatCannotBeRecordedDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, r := newHouse(t), &refuser{hang: true}
		h.recording(t, r)
		began := time.Now()
		for range 3 * refusalsAhead {
			h.ask(Viewer, "POST", commandsPath, `{"verb":"rollback"}`)
			h.ask(Approver, "POST", commandsPath, `{"verb":"start"}`)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("answered after %v", took)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if !strings.Contains(h.log.String(), "a refusal is not recorded") {
			t.Error("the log does not say so")
		}
	})
}

func TestARefusalOnNoRolloutIsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, r := newHouse(t), &refuser{err: fmt.Errorf("recording a refusal: %w", rollout.ErrNotFound)}
		h.recording(t, r)
		h.ask(Viewer, "POST", "/api/v1/rollouts/nothing/commands", `{"verb":"rollback"}`)
		synctest.Wait()
		if len(r.told) != 1 || strings.Contains(h.log.String(), "not recorded") {
			t.Errorf("told %v, logged %s", r.told, h.log)
		}
	})
}

func TestARolloutIsOfferedOnlyToWhoCouldGoOnWithIt(t *testing.T) {
	h := newHouse(t)
	h.admit(t, Entry{Name: "ann", Grants: []Grant{{Role: Operator, Databases: []string{"orders"}}}})
	h.admit(t, Entry{Name: "bob", Grants: []Grant{{Role: Viewer}, {Role: Operator, Databases: []string{"billing"}}}})
	h.admit(t, Entry{Name: "eve", Grants: []Grant{{Role: Operator}}, Expires: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
	for person, want := range map[string]string{
		"ann":          "",
		"the-admin":    "",
		"the-approver": "person the-approver: accept needs the role operator or admin on database orders; the-approver is approver: ann and the-admin could take it",
		"bob":          "accept needs the role operator or admin on database orders; bob is viewer, operator on billing: ann and the-admin could take it",
		"eve":          "person eve: nobody of that name has a good token",
		"the-reporter": "person the-reporter: nobody of that name has a good token",
		"nobody":       "person nobody: nobody of that name has a good token",
	} {
		h.desk.cmds = nil
		w := h.ask(Operator, "POST", commandsPath, `{"verb":"handover","person":"`+person+`"}`)
		switch {
		case want == "" && (w.Code != 200 || len(h.desk.cmds) != 1):
			t.Errorf("%s: %d %s", person, w.Code, w.Body)
		case want != "" && (w.Code != 409 || !strings.Contains(w.Body.String(), want) || len(h.desk.cmds) > 0):
			t.Errorf("%s: %d %s", person, w.Code, w.Body)
		}
	}
	err := mayTake([]Caller{{Name: "ann", Grants: []Grant{{Role: Operator}}}}, "bob", "ann", "orders")
	if !errors.As(err, new(rollout.Refusal)) || !strings.HasSuffix(err.Error(), "nobody else has that; an admin can make a token") {
		t.Errorf("where nobody else could: %v", err)
	}
}

func TestReleaseAllTakesTwoWhereThereAreTwo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		beside []Grant // what somebody else has
		ends   time.Time
		first  int // how many of one person's releases it takes
	}{
		{"an operator of all", []Grant{{Role: Operator}}, time.Time{}, 2},
		{"an operator of one database", []Grant{{Role: Operator, Databases: []string{"orders"}}}, time.Time{}, 1},
		{"an approver", []Grant{{Role: Approver}}, time.Time{}, 1},
		{"one whose token has expired", []Grant{{Role: Operator}}, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), 1},
	} {
		t.Run("beside there is "+tt.name, func(t *testing.T) {
			h := newHouse(t)
			_, ann := NewToken("ann", Admin, "")
			if err := SaveTokens(h.path, []Entry{ann}); err != nil {
				t.Fatal(err)
			}
			token := h.admit(t, Entry{Name: "bea", Grants: []Grant{{Role: Admin}}})
			if err := EditTokens(h.path, func(list []Entry) ([]Entry, error) { return WithoutToken(list, "ann", time.Now()) }); err != nil {
				t.Fatal(err)
			}
			other := h.admit(t, Entry{Name: "cay", Grants: tt.beside, Expires: tt.ends})
			if w := h.with(token, "POST", "/api/v1/hold-all", `{"reason":"x"}`); w.Code != 200 {
				t.Fatal(w.Body)
			}
			w := h.with(token, "DELETE", "/api/v1/hold-all", "")
			if w.Code != 200 || strings.Contains(w.Body.String(), `"hold_all":null`) != (tt.first == 1) {
				t.Fatalf("the first release: %d %s", w.Code, w.Body)
			}
			if tt.first == 1 {
				return
			}
			if p := problemOf(t, h.with(token, "DELETE", "/api/v1/hold-all", "")); p.Status != 409 || !strings.Contains(p.Detail, "a second person must release, too") {
				t.Errorf("the same person again: %d %s", p.Status, p.Detail)
			}
			if w := h.with(other, "DELETE", "/api/v1/hold-all", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"hold_all":null`) {
				t.Errorf("the second person: %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestEveryActionHasSomebodyWhoMayAndAnAdminMayAllButReport(t *testing.T) {
	for _, what := range actions() {
		if got := slices.Contains(needed(what), Admin); got == (what == toReport) || len(needed(what)) == 0 {
			t.Errorf("%s is for %v", what, needed(what))
		}
	}
}
