package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// admit gives somebody a token, as the file has it, and returns it.
func (h *house) admit(t *testing.T, e Entry) string {
	t.Helper()
	plain := e.Mint()
	if err := EditTokens(h.path, func(list []Entry) ([]Entry, error) { return WithToken(list, e) }); err != nil {
		t.Fatal(err)
	}
	return plain
}

// with sends a request with a token.
func (h *house) with(token, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return h.ask("", method, path, body, append([]string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}, headers...)...)
}

func TestWhoamiTellsWhatATokenMayDoAndWhere(t *testing.T) {
	h := newHouse(t)
	token := h.admit(t, Entry{
		Name: "ann", Expires: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
		Grants: []Grant{{Role: Viewer}, {Role: Operator, Databases: []string{"orders", "billing"}}},
	})
	var got struct {
		Name    string              `json:"name"`
		Grants  []Grant             `json:"grants"`
		Expires time.Time           `json:"expires"`
		May     map[string][]string `json:"may"`
	}
	w := h.with(token, "GET", "/api/v1/whoami", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Name != "ann" || len(got.Grants) != 2 || got.Expires.Year() != 2999 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	for what, want := range map[string][]string{
		"read": {"*"}, "start": {"billing", "orders"}, "decide": {"*"},
		"approve": nil, "tokens": nil, "hold-all": nil, "report": nil,
	} {
		if diff := cmp.Diff(want, got.May[what]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if w := h.ask(Reporter, "GET", "/api/v1/whoami", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"service":"checkout"`) || !strings.Contains(w.Body.String(), `"may":{"decide":["*"],"report":["*"]}`) {
		t.Errorf("tasks are told %d %s", w.Code, w.Body)
	}
}

func TestATokenIsMadeOverTheAPIShownOnceAndGoodAtOnce(t *testing.T) {
	h := newHouse(t)
	w := h.ask(Admin, "POST", "/api/v1/tokens", `{"name":"ann","grants":[{"role":"operator","databases":["orders"]}],"expires_in":"90d","reason":"on call"}`, "Content-Type", "application/json")
	var made struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 {
		t.Fatalf("%d %v %s", w.Code, err, w.Body)
	}
	if left := time.Until(made.Expires); left < 89*day || left > 90*day {
		t.Errorf("90d is until %v", made.Expires)
	}
	if w := h.with(made.Token, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"start"}`); w.Code != 200 {
		t.Errorf("the token just made: %d %s", w.Code, w.Body)
	}
	list := h.ask(Admin, "GET", "/api/v1/tokens", "").Body.String()
	if !strings.Contains(list, `"name":"ann"`) || strings.Contains(list, made.Token) || strings.Contains(list, "sha256") {
		t.Errorf("listed as %s", list)
	}
	cmd, sum := h.rules.cmds[0], sha256.Sum256([]byte(made.Token))
	want := rollout.HouseCommand{
		Verb: rollout.MakeToken, By: "the-admin", Surface: "api", Request: cmd.Request, Reason: "on call",
		Subject: "ann: operator on orders, until " + made.Expires.Format(time.RFC3339) + ", digest " + hex.EncodeToString(sum[:4]),
	}
	if diff := cmp.Diff(want, cmd); diff != "" {
		t.Error(diff)
	}
	again := problemOf(t, h.ask(Admin, "POST", "/api/v1/tokens", `{"name":"ann","grants":[{"role":"viewer"}]}`, "Content-Type", "application/json"))
	if again.Status != 409 || !strings.Contains(again.Detail, "there is a token ann already, and it was shown once") || len(h.rules.cmds) != 1 {
		t.Errorf("the same name again: %d %s, %d recorded", again.Status, again.Detail, len(h.rules.cmds))
	}
}

func TestWithoutTheJournalNoTokenIsMadeAndOneCanBeTakenAway(t *testing.T) {
	h := newHouse(t)
	h.rules.err = fmt.Errorf("%w: dial tcp", rollout.ErrAway)
	p := problemOf(t, h.ask(Admin, "POST", "/api/v1/tokens", `{"name":"ann","grants":[{"role":"viewer"}]}`, "Content-Type", "application/json"))
	if entries, err := ReadTokens(h.path); p.Status != 503 || err != nil || len(entries) != len(roles()) {
		t.Errorf("making one: %d, %d tokens, %v", p.Status, len(entries), err)
	}
	w := h.ask(Admin, "DELETE", "/api/v1/tokens/the-viewer", "")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"recorded":false`) || !strings.Contains(w.Body.String(), "the journal is away") {
		t.Errorf("taking one away: %d %s", w.Code, w.Body)
	}
	if w := h.ask(Viewer, "GET", "/api/v1/rollouts", ""); w.Code != 401 {
		t.Errorf("the token that was taken away: %d", w.Code)
	}
	if !strings.Contains(h.log.String(), "a token was taken away and that is not recorded") {
		t.Error("the log does not say so")
	}
}

// A request id that has done something else takes no token away: that would not
// be on record.
func TestATokenIsNotTakenAwayByARequestThatIsRefused(t *testing.T) {
	h := newHouse(t)
	h.rules.err = rollout.Reused{Event: rollout.Event{Kind: rollout.Frozen, Request: "k-1"}}
	p := problemOf(t, h.ask(Admin, "DELETE", "/api/v1/tokens/the-viewer", "", "Idempotency-Key", "k-1"))
	if p.Status != 409 {
		t.Errorf("it is answered %d", p.Status)
	}
	if w := h.ask(Viewer, "GET", "/api/v1/rollouts", ""); w.Code != 200 {
		t.Errorf("and the token is gone: %d", w.Code)
	}
}

func TestATokenIsTakenAwayAtOnceAndOnce(t *testing.T) {
	h := newHouse(t)
	for n := range 3 {
		w := h.ask(Admin, "DELETE", "/api/v1/tokens/the-operator?reason=left", "", "Idempotency-Key", "k-1")
		if w.Code != 200 {
			t.Fatalf("time %d: %d %s", n, w.Code, w.Body)
		}
		if n == 0 {
			h.journal.add(rollout.Event{Rollout: rollout.HouseName, Kind: rollout.TokenTaken, By: "the-admin", Request: "k-1", Subject: h.rules.cmds[0].Subject})
		}
	}
	if len(h.rules.cmds) != 1 || h.rules.cmds[0].Verb != rollout.TakeToken || !strings.HasPrefix(h.rules.cmds[0].Subject, "the-operator: operator, digest ") || h.rules.cmds[0].Reason != "left" {
		t.Errorf("recorded %+v", h.rules.cmds)
	}
	if w := h.ask(Operator, "GET", "/api/v1/rollouts", ""); w.Code != 401 {
		t.Errorf("then it is answered %d", w.Code)
	}
	if other := problemOf(t, h.ask(Admin, "DELETE", "/api/v1/tokens/nobody", "", "Idempotency-Key", "k-1")); other.Status != 404 {
		t.Errorf("the same request for another token: %d", other.Status)
	}
	p := problemOf(t, h.ask(Admin, "DELETE", "/api/v1/tokens/the-operator", ""))
	if p.Status != 404 || p.Detail != "there is no token the-operator" {
		t.Errorf("another request for it: %d %s", p.Status, p.Detail)
	}
}

func TestTheLastTokenThatMayMakeTokensCannotBeTakenAway(t *testing.T) {
	h := newHouse(t)
	h.admit(t, Entry{Name: "of-one-database", Grants: []Grant{{Role: Admin, Databases: []string{"orders"}}}})
	h.admit(t, Entry{Name: "expired", Grants: []Grant{{Role: Admin}}, Expires: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
	p := problemOf(t, h.ask(Admin, "DELETE", "/api/v1/tokens/the-admin", ""))
	if p.Status != 409 || !strings.Contains(p.Detail, "the-admin is the last good token that is admin on all databases") {
		t.Errorf("%d %s", p.Status, p.Detail)
	}
	other := h.admit(t, Entry{Name: "other", Grants: []Grant{{Role: Admin}}})
	if w := h.ask(Admin, "DELETE", "/api/v1/tokens/the-admin", ""); w.Code != 200 {
		t.Errorf("with another one there: %d %s", w.Code, w.Body)
	}
	if p := problemOf(t, h.with(other, "DELETE", "/api/v1/tokens/other", "")); p.Status != 409 {
		t.Errorf("and then that: %d", p.Status)
	}
}

func TestNobodyMakesATokenThatMayDoMoreThanHe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		soon := time.Now().Add(24 * time.Hour).UTC()
		ends := h.admit(t, Entry{Name: "for-a-day", Grants: []Grant{{Role: Admin}}, Expires: soon})
		of := h.admit(t, Entry{Name: "of-orders", Grants: []Grant{{Role: Admin, Databases: []string{"orders"}}}})
		const viewer = `{"name":"x","grants":[{"role":"viewer","databases":["orders"]}]`
		for _, tt := range []struct {
			name, token, body string
			status            int
			detail            string
		}{
			{"an operator", h.tokens[Operator], viewer + `}`, 403, "make-token needs the role admin on all databases; the-operator is operator"},
			{"an admin of one database", of, viewer + `}`, 403, "make-token needs the role admin on all databases; of-orders is admin on orders"},
			{"for ever, by one that ends", ends, viewer + `}`, 403, "for-a-day may make no token that outlasts his own, which expires at 2000-01-02T00:00:00Z"},
			{"longer, by one that ends", ends, viewer + `,"expires_in":"25h"}`, 403, "outlasts his own"},
			{"as long, by one that ends", ends, viewer + `,"expires_in":"1d"}`, 201, ""},
		} {
			w := h.with(tt.token, "POST", "/api/v1/tokens", tt.body)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.detail) {
				t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
			}
		}
		if p := problemOf(t, h.with(of, "DELETE", "/api/v1/tokens/the-viewer", "")); p.Status != 403 {
			t.Errorf("an admin of one database takes one away: %d", p.Status)
		}
		if p := problemOf(t, h.with(of, "GET", "/api/v1/tokens", "")); p.Status != 403 {
			t.Errorf("an admin of one database lists them: %d", p.Status)
		}
	})
}

func TestABadWishForATokenIsNamed(t *testing.T) {
	h := newHouse(t)
	for body, want := range map[string]string{
		`{"grants":[{"role":"viewer"}]}`:                     "name: must be 1 to 100 letters",
		`{"name":"a b","grants":[{"role":"viewer"}]}`:        `name: "a b": must be 1 to 100 letters`,
		`{"name":"controller","grants":[{"role":"viewer"}]}`: `name: "controller": is the controller's own`,
		`{"name":"a"}`: "grants: there must be one at least",
		`{"name":"a","grants":[{"role":"boss"}]}`:                              `grants[0].role: "boss": must be viewer, operator, approver, admin or reporter`,
		`{"name":"a","grants":[{"role":"viewer","databases":["*"]}]}`:          `grants[0].databases[0]: "*": must be the name of a database`,
		`{"name":"a","grants":[{"role":"viewer"}],"service":"s"}`:              `service: "s": must be set for a reporter`,
		`{"name":"a","grants":[{"role":"reporter"}]}`:                          "service: must be set for a reporter",
		`{"name":"a","grants":[{"role":"viewer"}],"expires_in":"soon"}`:        `expires_in: "soon": must be like 90d, 12h or 45m, from 1m to 3650d`,
		`{"name":"a","grants":[{"role":"viewer"}],"expires_in":"59s"}`:         `expires_in: "59s": must be`,
		`{"name":"a","grants":[{"role":"viewer"}],"expires_in":"3651d"}`:       `expires_in: "3651d": must be`,
		`{"name":"a","grants":[{"role":"viewer"}],"expires_in":"-1d"}`:         `expires_in: "-1d": must be`,
		`{"name":"a","grants":[{"role":"viewer"}],"expires_in":90}`:            `expires_in: "number": must be a text`,
		`{"name":"a","grants":"viewer"}`:                                       `grants: "string": must be a list`,
		`{"name":"a","grants":[{"role":"viewer"}],"sha256":"x"}`:               "sha256: is no field of this",
		`{"name":"a","grants":[{"role":"viewer"}],"by":"x"}`:                   "by: is found out from the token",
		`{"name":"a","name":"b","grants":[{"role":"viewer"}]}`:                 "name: is there twice",
		`{"name":"a","grants":[{"role":"viewer"}],"reason":"\u001b"}`:          "reason: has a control character",
		`{"name":"a","grants":[{"role":"viewer"}],"request":"a b"}`:            `request: "a b": must be at most 128 letters`,
		`{"name":"a","grants":[{"role":"viewer","service":"s"}],"service":""}`: `unknown field "service"`,
	} {
		p := problemOf(t, h.ask(Admin, "POST", "/api/v1/tokens", body, "Content-Type", "application/json"))
		if p.Status != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %d %s, want %s", body, p.Status, p.Detail, want)
		}
	}
	for path, want := range map[string]string{
		"GET /api/v1/tokens?all=1":                    "all: there is no such parameter",
		"GET /api/v1/tokens?limit=0":                  `limit: "0": must be`,
		"GET /api/v1/whoami?x=1":                      "x: there is no such parameter",
		"POST /api/v1/tokens?x=1":                     "x: there is no such parameter",
		"DELETE /api/v1/tokens/the-viewer?why=x":      "why: there is no such parameter",
		"DELETE /api/v1/tokens/the-viewer?reason=%1b": "reason: has a control character",
	} {
		method, path, _ := strings.Cut(path, " ")
		p := problemOf(t, h.ask(Admin, method, path, `{}`, "Content-Type", "application/json"))
		if p.Status != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s %s: %d %s, want %s", method, path, p.Status, p.Detail, want)
		}
	}
	p := problemOf(t, h.ask(Admin, "DELETE", "/api/v1/tokens/the-viewer", "", "Idempotency-Key", "a b"))
	if p.Status != 400 || !strings.Contains(p.Detail, "Idempotency-Key") {
		t.Errorf("an odd key: %d %s", p.Status, p.Detail)
	}
	if entries, err := ReadTokens(h.path); err != nil || len(entries) != len(roles()) || len(h.rules.cmds) > 0 {
		t.Errorf("something was done all the same: %d tokens, %v, %v", len(entries), err, h.rules.cmds)
	}
}

func TestTokensAreListedPieceByPiece(t *testing.T) {
	h := newHouse(t)
	var names []string
	for after := ""; ; {
		query := "?limit=2"
		if after != "" {
			query += "&after=" + after
		}
		var part tokenList
		w := h.ask(Admin, "GET", "/api/v1/tokens"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &part); err != nil || len(part.Tokens) > 2 {
			t.Fatalf("%v: %s", err, w.Body)
		}
		for _, token := range part.Tokens {
			names = append(names, token.Name)
		}
		if after = part.Next; after == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"the-admin", "the-approver", "the-operator", "the-reporter", "the-viewer"}, names); diff != "" {
		t.Error(diff)
	}
}
