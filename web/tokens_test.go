package web

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestTokensAreGivenAndTakenWithoutARestart(t *testing.T) {
	h := newHouse(t)
	look := func(token string) int {
		return h.ask("", "GET", "/api/v1/rollouts", "", "Authorization", "bearer "+token).Code
	}
	plain, entry := NewToken("ann", Viewer, "")
	if look(plain) != 401 {
		t.Fatal("a token is good before it was given")
	}
	if err := SaveTokens(h.path, []Entry{entry}); err != nil {
		t.Fatal(err)
	}
	if got := look(plain); got != 200 {
		t.Errorf("a token just given: %d", got)
	}
	if got := look(h.tokens[Viewer]); got != 401 {
		t.Errorf("a token just taken: %d", got)
	}
}

func TestAFileWrittenInPlaceIsSeenToo(t *testing.T) {
	h := newHouse(t)
	text, err := os.ReadFile(h.path)
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Replace(string(text), `"the-viewer"`, `"the-wiever"`, 1)
	if err := os.WriteFile(h.path, []byte(same), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ask(Viewer, "GET", "/api/v1/rollouts", "")
	if !strings.Contains(h.log.String(), `"by":"the-wiever"`) {
		t.Errorf("a change of the same length was not seen:\n%s", h.log)
	}
}

func TestWhileTheFileIsBrokenTheLastTokensStayGoodAndItIsSaidOnce(t *testing.T) {
	h := newHouse(t)
	for name, spoil := range map[string]func() error{
		"half-written": func() error { return os.WriteFile(h.path, []byte(`{"tokens":[`), 0o600) },
		"gone":         func() error { return os.Remove(h.path) },
	} {
		h.log.Reset()
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"rollback"}`); w.Code != 200 {
				t.Errorf("%s: rollback got %d", name, w.Code)
			}
		}
		if n := strings.Count(h.log.String(), "the last ones stay good"); n != 1 {
			t.Errorf("%s: said %d times", name, n)
		}
	}
}

func TestTheFileHasNoTokenAndOnlyItsOwnerReadsIt(t *testing.T) {
	h := newHouse(t)
	text, err := os.ReadFile(h.path)
	if err != nil {
		t.Fatal(err)
	}
	for role, token := range h.tokens {
		if !strings.HasPrefix(token, "cut_") || len(token) != len("cut_")+43 {
			t.Errorf("token of %s is %q", role, token)
		}
		if strings.Contains(string(text), strings.TrimPrefix(token, "cut_")) {
			t.Errorf("the file has the token of %s", role)
		}
	}
	info, err := os.Stat(h.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestABadFileOfTokensIsRefusedWithItsReason(t *testing.T) {
	const sum = `"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	other := `"sha256":"` + strings.Repeat("0", 64) + `"`
	one := func(rest string) string { return `{"tokens":[{` + sum + `,` + rest + `}]}` }
	for text, want := range map[string]string{
		``:                                 "parsing JSON",
		`{"tokens":[]} x`:                  "something follows",
		`{"token":[]}`:                     `unknown field "token"`,
		one(`"grants":[{"role":"admin"}]`): `tokens[0]: name: must be 1 to 100 letters`,
		one(`"grants":[{"role":"admin"}],"name":"controller"`):                                            `name: "controller": is the controller's own`,
		one(`"grants":[{"role":"admin"}],"name":"an n"`):                                                  `name: "an n": must be 1 to 100 letters, digits or any of`,
		one(`"grants":[{"role":"admin"}],"name":"` + strings.Repeat("x", 101) + `"`):                      "must be 1 to 100 letters",
		one(`"grants":[{"role":"root"}],"name":"a"`):                                                      `grants[0].role: "root": must be viewer, operator, approver, admin or reporter`,
		one(`"grants":[{"role":"viewer"},{"role":"viewer","databases":["x"]}],"name":"a"`):                `grants[1].role: "viewer": is there twice`,
		one(`"grants":[],"name":"a"`):                                                                     "grants: there must be one at least",
		one(`"name":"a"`):                                                                                 "grants: there must be one at least",
		one(`"grants":[{"role":"admin","database":["x"]}],"name":"a"`):                                    `tokens[0]: json: unknown field "database"`,
		one(`"grants":[{"role":"operator","databases":[]}],"name":"a"`):                                   "grants[0].databases: must name one at least; leave it out for all",
		one(`"grants":[{"role":"operator","databases":["*"]}],"name":"a"`):                                `grants[0].databases[0]: "*": must be the name of a database; leave databases out for all`,
		one(`"grants":[{"role":"operator","databases":["x","x"]}],"name":"a"`):                            `grants[0].databases[1]: "x": is there twice`,
		one(`"grants":[{"role":"reporter"}],"name":"a"`):                                                  `service: must be set for a reporter`,
		one(`"grants":[{"role":"reporter"},{"role":"viewer"}],"name":"a","service":"s"`):                  `grants[0].role: "reporter": must stand alone`,
		one(`"grants":[{"role":"reporter","databases":["x"]}],"name":"a","service":"s"`):                  "grants[0].databases: must be left out: a reporter has a service",
		one(`"grants":[{"role":"admin"}],"name":"a","service":"s"`):                                       `service: "s": must be set for a reporter, and for nobody else`,
		one(`"grants":[{"role":"admin"}],"name":"a","expires":"soon"`):                                    `expires: "soon": must be a time such as 2026-12-01T00:00:00Z`,
		one(`"grants":[{"role":"admin"}],"name":"a","expires":""`):                                        `expires: must be a time`,
		one(`"role":"admin","grants":[{"role":"admin"}],"name":"a"`):                                      `role: "admin": is short for one grant`,
		one(`"role":"root","name":"a"`):                                                                   `grants[0].role: "root"`,
		`{"tokens":[{"sha256":"abc","role":"admin","name":"a"}]}`:                                         "sha256: must be 64 hex digits",
		`{"tokens":[{` + sum + `,"role":"admin","name":"a"},{` + sum + `,"role":"admin","name":"b"}]}`:    "tokens[1]: sha256: is that of another token",
		`{"tokens":[{` + sum + `,"role":"admin","name":"a"},{` + other + `,"role":"viewer","name":"a"}]}`: `tokens[1]: name: "a": is taken`,
	} {
		path := filepath.Join(t.TempDir(), "tokens.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadTokens(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n gave %v, want %s", text, err, want)
		}
	}
	if _, err := LoadTokens(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file is no error")
	}
	if err := SaveTokens(filepath.Join(t.TempDir(), "x"), []Entry{{Name: "a"}}); err == nil {
		t.Error("a bad entry was saved")
	}
}

func TestARoleIsShortForOneGrantOnAllDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	_, entry := NewToken("ann", Operator, "")
	if err := os.WriteFile(path, []byte(`{"tokens":[{"name":"ann","role":"operator","sha256":"`+entry.SHA256+`"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Entry{entry}, got); diff != "" {
		t.Error(diff)
	}
}

func TestATokenIsGoodUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		plain, entry := NewToken("ann", Viewer, "")
		entry.Expires = time.Now().Add(time.Hour).UTC()
		if err := SaveTokens(h.path, []Entry{entry}); err != nil {
			t.Fatal(err)
		}
		look := func() *httptest.ResponseRecorder {
			return h.ask("", "GET", "/api/v1/rollouts", "", "Authorization", "Bearer "+plain)
		}
		time.Sleep(time.Hour - time.Second)
		if w := look(); w.Code != 200 {
			t.Errorf("a second before: %d", w.Code)
		}
		time.Sleep(time.Second)
		if p := problemOf(t, look()); p.Status != 401 || !strings.Contains(p.Detail, "the token of ann expired at 2000-01-01T01:00:00Z") {
			t.Errorf("then: %d %s", p.Status, p.Detail)
		}
	})
}

func TestTwoWhoChangeTheTokensAtOnceLoseNothing(t *testing.T) {
	h := newHouse(t)
	var group errgroup.Group
	for n := range 20 {
		group.Go(func() error {
			_, entry := NewToken(fmt.Sprintf("ann-%d", n), Viewer, "")
			return EditTokens(h.path, func(list []Entry) ([]Entry, error) { return append(list, entry), nil })
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	entries, err := ReadTokens(h.path)
	if err != nil || len(entries) != len(roles())+20 {
		t.Errorf("%d tokens, %v", len(entries), err)
	}
	stop := errors.New("stop")
	if err := EditTokens(h.path, func([]Entry) ([]Entry, error) { return nil, stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the change is %v", err)
	}
	if again, err := ReadTokens(h.path); err != nil || !cmp.Equal(entries, again) {
		t.Errorf("a change that failed left %v, %v", again, err)
	}
}

func TestWhoGuessesIsSlowedDownButNobodyBesideHim(t *testing.T) {
	h := newHouse(t)
	last := 0
	for range failuresAtOnce + 1 {
		last = h.ask("", "GET", "/api/v1/rollouts", "", "Authorization", "Bearer cut_guess").Code
	}
	w := h.ask("", "GET", "/api/v1/rollouts", "", "Authorization", "Bearer cut_guess")
	if p := problemOf(t, w); last != 429 || p.Code != TooManyFailures || w.Header().Get("Retry-After") == "" {
		t.Errorf("after %d failures: %d %s", failuresAtOnce+1, last, p.Code)
	}
	if w := h.ask(Operator, "POST", "/api/v1/rollouts/orders-db/commands", `{"verb":"rollback"}`); w.Code != 200 {
		t.Errorf("a rollback from the same address got %d", w.Code)
	}
}

func FuzzParseEntries(f *testing.F) {
	const sum = `"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	f.Add([]byte(`{"tokens":[{"name":"ann","grants":[{"role":"operator","databases":["orders"]}],` + sum + `,"expires":"2027-03-01T00:00:00+01:00"}]}`))
	f.Add([]byte(`{"tokens":[{"name":"t","role":"reporter","service":"checkout",` + sum + `}]}`))
	f.Add([]byte(`{"tokens":[{"name":"a","grants":null,` + sum + `}]}`))
	f.Add([]byte(`{"tokens":[{"name":"a","role":"viewer",` + sum + `,"expires":"9999-12-31T23:59:59-01:00"}]}`))
	f.Add([]byte(`{"tokens":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseEntries(text)
		if err != nil {
			return
		}
		for i := range entries {
			who := entries[i].caller()
			if who.Name == "" || who.Name == rollout.Controller || len(who.Grants) == 0 {
				t.Errorf("%q: somebody is %+v", text, who)
			}
			if ok, _ := may(who, toReport, anywhere); ok != (who.Service != "") || ok && len(who.Grants) > 1 {
				t.Errorf("%q: tasks are %+v", text, who)
			}
		}
		path := filepath.Join(t.TempDir(), "tokens.json")
		if err := SaveTokens(path, entries); err != nil {
			t.Fatalf("%q cannot be written again: %v", text, err)
		}
		if again, err := ReadTokens(path); err != nil || !cmp.Equal(entries, again) {
			t.Errorf("%q is read, written and read as %v, %v", text, again, err)
		}
	})
}
