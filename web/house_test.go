package web

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestWhatIsAskedOfAllRolloutsArrivesSigned(t *testing.T) {
	at := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	text := at.Format(time.RFC3339)
	cmd := func(c rollout.HouseCommand) rollout.HouseCommand {
		c.By, c.Surface, c.Request = "the-admin", "api", "k-1"
		return c
	}
	for name, tt := range map[string]struct {
		before             *rollout.HouseCommand // that has to be obeyed first
		method, path, body string
		want               rollout.HouseCommand
	}{
		"hold-all": {nil, "POST", "/hold-all", `{"reason":"storm"}`, cmd(rollout.HouseCommand{Verb: rollout.HoldForAll, Reason: "storm"})},
		"release-all": {
			&rollout.HouseCommand{Verb: rollout.HoldForAll}, "DELETE", "/hold-all?reason=over", "",
			cmd(rollout.HouseCommand{Verb: rollout.ReleaseAll, Reason: "over"}),
		},
		"a freeze until a moment": {
			nil, "POST", "/freezes", `{"database":"orders","from":"2026-11-29T23:00:00+01:00","until":"` + text + `","reason":"peak"}`,
			cmd(rollout.HouseCommand{Verb: rollout.Freezing, Database: "orders", From: time.Date(2026, 11, 29, 22, 0, 0, 0, time.UTC), Until: at, Reason: "peak"}),
		},
		"a freeze for a while": {
			nil, "POST", "/freezes", `{"database":"*","for":"1h"}`, cmd(rollout.HouseCommand{Verb: rollout.Freezing, Database: "*", Until: at}),
		},
		"a freeze for a while from a moment": {
			nil, "POST", "/freezes", `{"database":"*","from":"` + text + `","for":"1h"}`,
			cmd(rollout.HouseCommand{Verb: rollout.Freezing, Database: "*", From: at, Until: at.Add(time.Hour)}),
		},
		"the end of a freeze": {
			&rollout.HouseCommand{Verb: rollout.Freezing, Database: "a b", Until: at}, "DELETE", "/freezes/a%20b?reason=over", "",
			cmd(rollout.HouseCommand{Verb: rollout.Thaw, Database: "a b", Reason: "over"}),
		},
		"a deploy": {
			nil, "POST", "/quiet", `{"database":"orders","quiet":false,"what":"deploy checkout 2.4","until":"` + text + `"}`,
			cmd(rollout.HouseCommand{Verb: rollout.Disturb, Database: "orders", What: "deploy checkout 2.4", Until: at}),
		},
		"its end": {
			&rollout.HouseCommand{Verb: rollout.Disturb, Database: "orders", What: "deploy", Until: at}, "POST", "/quiet", `{"database":"orders","quiet":true}`,
			cmd(rollout.HouseCommand{Verb: rollout.Quiet, Database: "orders"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			if tt.before != nil {
				tt.before.By = "ben"
				if _, err := h.rules.DoHouse(t.Context(), *tt.before); err != nil {
					t.Fatal(err)
				}
			}
			w := h.ask(Admin, tt.method, "/api/v1"+tt.path, tt.body, "Idempotency-Key", "k-1")
			if w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			got := h.rules.cmds[len(h.rules.cmds)-1]
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApproxTime(5*time.Second)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAReleaseKnowsWhetherThereIsAnybodyElse(t *testing.T) {
	h := newHouse(t)
	var entries []Entry
	for _, role := range []Role{Admin, Viewer, Approver} {
		plain, entry := NewToken("only-"+string(role), role, "")
		entries, h.tokens[role] = append(entries, entry), plain
	}
	if err := SaveTokens(h.path, entries); err != nil {
		t.Fatal(err)
	}
	h.ask(Approver, "POST", "/api/v1/hold-all", `{"reason":"storm"}`)
	got := of[heldAll](t, h.ask(Admin, "DELETE", "/api/v1/hold-all", "").Body.Bytes())
	if cmds := h.rules.cmds; len(cmds) != 2 || !cmds[1].Alone || got.Hold != nil {
		t.Errorf("asked %+v, then %+v", cmds, got)
	}
}

func TestAnAskForReleaseIsVoidAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.ask(Approver, "POST", "/api/v1/hold-all", `{"reason":"storm"}`)
		first := of[heldAll](t, h.ask(Operator, "DELETE", "/api/v1/hold-all", "").Body.Bytes())
		if first.Hold == nil || first.Releasing != "the-operator" || first.AskedAt.IsZero() {
			t.Errorf("asked: %+v", first)
		}
		time.Sleep(rollout.ApprovalLife + time.Second)
		later := of[heldAll](t, h.ask(Viewer, "GET", "/api/v1/hold-all", "").Body.Bytes())
		if later.Hold == nil || later.Releasing != "" || !later.AskedAt.IsZero() {
			t.Errorf("a day later: %+v", later)
		}
	})
}

func TestFreezesAndDisturbancesAreShownToThoseWhomTheyConcern(t *testing.T) {
	h := newHouse(t)
	for _, database := range []string{"users", "orders", "*"} {
		if w := h.ask(Admin, "POST", "/api/v1/freezes", `{"database":"`+database+`","for":"1h"}`); w.Code != 200 {
			t.Fatal(w.Body)
		}
		if w := h.ask(Admin, "POST", "/api/v1/quiet", `{"database":"`+database+`","quiet":false,"what":"x","for":"1h"}`); w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
	h.rules.state.House.Freezes = append(h.rules.state.House.Freezes, rollout.Freeze{Database: "users-old", Until: time.Now().Add(-time.Hour)})
	token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Operator, Databases: []string{"users"}}}})
	names := func(token, query string) (freezes, disturbances []string, next string) {
		f := of[freezeList](t, h.with(token, "GET", "/api/v1/freezes"+query, "").Body.Bytes())
		for _, one := range f.Freezes {
			freezes = append(freezes, one.Database)
		}
		d := of[disturbanceList](t, h.with(token, "GET", "/api/v1/quiet"+query, "").Body.Bytes())
		for _, one := range d.Disturbances {
			disturbances = append(disturbances, one.Database)
		}
		return freezes, disturbances, f.Next
	}
	f, d, _ := names(token, "")
	equal(t, "freezes of users", f, "*", "users")
	equal(t, "disturbances of users", d, "*", "users")
	if w := h.ask(Admin, "POST", "/api/v1/freezes", `{"database":"orders","for":"2h"}`); w.Code != 200 { // they add up
		t.Fatal(w.Body)
	}
	f, _, next := names(h.tokens[Viewer], "?limit=2")
	equal(t, "the first freezes", f, "*", "orders")
	f, _, _ = names(h.tokens[Viewer], "?after="+url.QueryEscape(next))
	equal(t, "the last freezes", f, "orders", "users")
	for _, body := range []string{`{"database":"orders","for":"1h"}`, `{"database":"*","for":"1h"}`} {
		p := problemOf(t, h.with(token, "POST", "/api/v1/freezes", body, "Content-Type", "application/json"))
		if p.Code != Forbidden || !strings.Contains(p.Detail, "x is operator on users") {
			t.Errorf("%s: %s %s", body, p.Code, p.Detail)
		}
	}
	if p := problemOf(t, h.with(token, "DELETE", "/api/v1/freezes/orders", "")); p.Code != Forbidden {
		t.Errorf("the end of another's freeze: %s", p.Code)
	}
}

func TestWhileTheJournalIsAwayNobodyKnowsWhatStands(t *testing.T) {
	h := newHouse(t)
	h.rules.err = errors.Join(rollout.ErrAway, errors.New("no route to host"))
	for _, path := range []string{"/hold-all", "/freezes", "/quiet"} {
		if p := problemOf(t, h.ask(Viewer, "GET", "/api/v1"+path, "")); p.Code != Away {
			t.Errorf("%s: %s", path, p.Code)
		}
	}
	if p := problemOf(t, h.ask(Operator, "POST", "/api/v1/hold-all", `{}`)); p.Code != Away {
		t.Errorf("hold-all: %s", p.Code)
	}
}
