package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	for text, want := range map[string]string{
		``:                "parsing JSON",
		`{"tokens":[]} x`: "something follows",
		`{"token":[]}`:    `unknown field "token"`,
		`{"tokens":[{` + sum + `,"role":"admin"}]}`:                                                                                    `tokens[0]: name ""`,
		`{"tokens":[{` + sum + `,"role":"admin","name":"controller"}]}`:                                                                `name "controller"`,
		`{"tokens":[{` + sum + `,"role":"root","name":"a"}]}`:                                                                          `role "root": must be viewer, operator, approver, admin or reporter`,
		`{"tokens":[{` + sum + `,"role":"reporter","name":"a"}]}`:                                                                      `service "": must be set for a reporter`,
		`{"tokens":[{` + sum + `,"role":"admin","name":"a","service":"s"}]}`:                                                           `service "s": must be set for a reporter, and for nobody else`,
		`{"tokens":[{"sha256":"abc","role":"admin","name":"a"}]}`:                                                                      "sha256: must be 64 hex digits",
		`{"tokens":[{` + sum + `,"role":"admin","name":"a"},{` + sum + `,"role":"admin","name":"b"}]}`:                                 "sha256: is that of another token",
		`{"tokens":[{` + sum + `,"role":"admin","name":"a"},{"sha256":"` + strings.Repeat("0", 64) + `","role":"viewer","name":"a"}]}`: `name "a": is taken`,
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

func TestFailuresAreNotKeptWithoutEnd(t *testing.T) {
	f := newFailures()
	for i := range 3 * addressesKept {
		f.allow("10.0." + string(rune('a'+i%26)) + strings.Repeat("x", i/26))
	}
	if len(f.of) > addressesKept {
		t.Errorf("keeps %d addresses", len(f.of))
	}
}
