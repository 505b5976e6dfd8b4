package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// troubled is a server that answers as a test says, and what it was asked to change.
type troubled struct {
	mu    sync.Mutex
	sent  []string // method and path of what changes something
	calls int      // that only look
}

// start starts it: looks and changes are answered by their number.
func (tr *troubled) start(t *testing.T, look, change func(n int) (status int, body any)) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tr.mu.Lock()
		var status int
		var body any
		if r.Method == http.MethodGet {
			tr.calls++
			status, body = look(tr.calls)
		} else {
			tr.sent = append(tr.sent, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key"))
			status, body = change(len(tr.sent))
		}
		tr.mu.Unlock()
		w.Header().Set("Date", noon.Format(http.TimeFormat))
		w.Header().Set("X-Request-Id", "SERVERS")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	t.Setenv("ROLLOUT_URL", server.URL)
	t.Setenv("ROLLOUT_TOKEN", "cut_x")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
}

// said is how a command has ended.
type said struct {
	code             int
	out, err, screen string
}

// does runs a command; a person answers with the lines of typed, if there are any.
func does(t *testing.T, typed string, args ...string) said {
	t.Helper()
	var out, errs, screen bytes.Buffer
	to := streams{in: strings.NewReader(typed), out: &out, err: &errs}
	if typed != "" {
		to.prompt = &screen
	}
	code := run(t.Context(), args, to)
	return said{code, out.String(), errs.String(), screen.String()}
}

// always answers the same.
func always(status int, body any) func(int) (int, any) {
	return func(int) (int, any) { return status, body }
}

// problemOf is a problem as the API words it.
func problemOf(status int, code string) (int, any) {
	return status, map[string]any{"code": code, "status": status, "detail": "it is " + code, "request_id": "SERVERS"}
}

func refusing(status int, code string) func(int) (int, any) {
	return func(int) (int, any) { return problemOf(status, code) }
}

func TestARollbackIsSentAlthoughTheLookBeforeItFails(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
		sent   int
	}{
		{500, "internal", 1},
		{502, "foreign", 1},
		{503, "away", 1},
		{504, "timeout", 1},
		{429, "too_many_requests", 1},
		{401, "unauthenticated", 0},
		{403, "forbidden", 0},
		{404, "not_found", 0},
	} {
		var tr troubled
		tr.start(t, refusing(tt.status, tt.code), always(http.StatusOK, at(rollout.RollingBack, 25).State))
		got := does(t, "\n\n", "rollback", "orders-db", "--wait", "0s")
		if len(tr.sent) != tt.sent || strings.Contains(got.screen, "Roll back now?") != (tt.sent > 0) {
			t.Errorf("%d: sent %q, asked %q, said %s", tt.status, tr.sent, got.screen, got.err)
		}
	}
}

func TestWhatRaisesIsNotSentWhereTheLookBeforeItFails(t *testing.T) {
	for _, verb := range []string{"advance", "start", "resume"} {
		var tr troubled
		tr.start(t, refusing(http.StatusServiceUnavailable, "away"), always(http.StatusOK, at(rollout.Baking, 25).State))
		if got := does(t, "", verb, "orders-db", "--yes"); got.code != exitNoAnswer || len(tr.sent) > 0 {
			t.Errorf("%s ended with %d, and sent %q", verb, got.code, tr.sent)
		}
	}
}

func TestAHoldAllIsSentAlthoughTheLookBeforeItFails(t *testing.T) {
	hold := map[string]any{"hold_all": rollout.Hold{Kind: rollout.HoldAll, Owner: "ann"}}
	for _, tt := range []struct {
		status int
		typed  string
		args   []string
		sent   int
	}{
		{503, "", []string{"--yes"}, 1},
		{429, "", []string{"--yes"}, 1},
		{503, "y\n", nil, 1},
		{503, "n\n", nil, 0},
		{403, "y\n", nil, 0},
	} {
		var tr troubled
		tr.start(t, refusing(tt.status, "odd"), always(http.StatusOK, hold))
		got := does(t, tt.typed, append([]string{"hold-all"}, tt.args...)...)
		if len(tr.sent) != tt.sent || (got.code == exitDone) != (tt.sent > 0) {
			t.Errorf("%+v: ended with %d, sent %q, said %s", tt, got.code, tr.sent, got.err)
		}
	}
}

func TestARollbackThatIsNotSeenToBeDoneIsNotCalledProven(t *testing.T) {
	before := at(rollout.Held, 25) // as it was before the command, by a server that lags behind
	done := at(rollout.RolledBack, 0)
	done.State.Version = 50
	for _, tt := range []struct {
		name   string
		status *rollout.Status
		want   int
	}{
		{"rolled back", done, exitDone},
		{"a state of a later version of the server", at("parked", 0), exitStopped},
		{"baking", at(rollout.Baking, 25), exitStopped},
		{"as it was before", before, exitStopped},
	} {
		var tr troubled
		obeyed := at(rollout.RollingBack, 25).State
		obeyed.Version = 49
		if tt.status != before && tt.status != done {
			tt.status.State.Version = 50
		}
		tr.start(t, always(http.StatusOK, tt.status), always(http.StatusOK, obeyed))
		got := does(t, "", "rollback", "orders-db", "--wait", "300ms")
		if got.code != tt.want || strings.Contains(got.out, "proven by the tasks") != (tt.want == exitDone) {
			t.Errorf("%s: ended with %d, and said:\n%s%s", tt.name, got.code, got.out, got.err)
		}
	}
}

func TestAProfileIsNotNeededWhereURLAndTokenAreGiven(t *testing.T) {
	const stale, good = "use: gone\n", "use: here\nprofiles:\n  here: {url: \"http://127.0.0.1:1\", token: cut_p}\n"
	for _, tt := range []struct {
		name string
		env  map[string]string // beside the URL; a empty one is none
		file string
		mode os.FileMode
		args []string
		want int
	}{
		{name: "no home at all", env: map[string]string{"HOME": "", "XDG_CONFIG_HOME": ""}},
		{name: "no home, and no token", env: map[string]string{"HOME": "", "XDG_CONFIG_HOME": "", "ROLLOUT_TOKEN": ""}},
		{name: "a file that others may read", file: good, mode: 0o644},
		{name: "a file that is broken", file: "{", mode: 0o600},
		{name: "a profile in use that is gone", file: stale, mode: 0o600},
		{name: "one that is gone, and no token", file: stale, mode: 0o600, env: map[string]string{"ROLLOUT_TOKEN": ""}},
		{name: "others may read the token that is wanted", file: good, mode: 0o644, env: map[string]string{"ROLLOUT_TOKEN": ""}, want: exitUsage},
		{name: "a profile in use that is gone, and no URL", file: stale, mode: 0o600, env: map[string]string{"ROLLOUT_URL": ""}, want: exitUsage},
		{name: "a profile that is named", args: []string{"--profile", "gone"}, file: good, mode: 0o600, want: exitUsage},
		{name: "a profile that the environment names", env: map[string]string{"ROLLOUT_PROFILE": "gone"}, file: good, mode: 0o600, want: exitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tr troubled
			tr.start(t, always(http.StatusOK, at(rollout.RolledBack, 0)), always(http.StatusOK, at(rollout.RolledBack, 0).State))
			home := os.Getenv("XDG_CONFIG_HOME")
			t.Setenv("ROLLOUT_HOME", home)
			t.Setenv("ROLLOUT_TOKEN_FILE", "")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			if tt.file != "" {
				path := filepath.Join(home, "rolloutctl", "config.yaml")
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tt.file), tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			if got := does(t, "", append([]string{"rollback", "orders-db"}, tt.args...)...); got.code != tt.want {
				t.Errorf("ended with %d, and said %s", got.code, got.err)
			}
		})
	}
}

func TestAChangeThatHasNoAnswerIsToldHowToRepeatIt(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
	}{{503, "away"}, {502, "foreign"}, {504, "timeout"}, {429, "too_many_requests"}} {
		var tr troubled
		tr.start(t, always(http.StatusOK, at(rollout.Baking, 25)), refusing(tt.status, tt.code))
		got := does(t, "", "rollback", "orders-db", "--reason", "not --request-id", "--request-id", "mine")
		for _, want := range []string{
			"it may or may not have been done; the same request id never acts twice",
			"next: rolloutctl rollback orders-db --reason 'not --request-id' --request-id mine\n", "break-glass sets the flags",
		} {
			if got.code != exitNoAnswer || !strings.Contains(got.err, want) {
				t.Errorf("%d: ended with %d, and did not say %q:\n%s", tt.status, got.code, want, got.err)
			}
		}
		got = does(t, "", "note", "--reason", "the rollback --request-id", "--", "orders-db")
		if strings.Contains(got.err, "break-glass") || !strings.Contains(got.err, " --request-id cli-") || !strings.Contains(got.err, " -- orders-db\n") {
			t.Errorf("a note: said %s", got.err)
		}
		got = does(t, "", "rollback", "orders-db", "--request-id", "mine", "-o", "json")
		if !strings.Contains(got.err, `"request_id":"mine","server_request_id":"SERVERS"`) {
			t.Errorf("as JSON: %s", got.err)
		}
	}
}

func TestTheLineThatRepeatsAStepMeansThatStep(t *testing.T) {
	status := at(rollout.Waiting, 25)
	var tr troubled
	tr.start(t, always(http.StatusOK, status), refusing(http.StatusServiceUnavailable, "away"))
	got := does(t, "", "advance", "orders-db", "--yes")
	if want := "next: rolloutctl advance orders-db --yes --to reads:50 --request-id cli-"; !strings.Contains(got.err, want) {
		t.Errorf("does not say %q:\n%s", want, got.err)
	}
	c := rollout.Command{Verb: rollout.Advance}
	s := &session{repeats: true}
	if s.mean(&c, &status.State); len(c.To) > 0 {
		t.Errorf("a request that may have been sent before takes the step of today: %v", c.To)
	}
}

func TestAStepThatIsRepeatedAsksForItsOwnConfirmation(t *testing.T) {
	s := at(rollout.Waiting, 100).State
	s.Lanes[0].Baked = true // the next step is the first of the writes
	for lane, want := range map[string]level{"reads": askYes, "writes": askName, "": askName} {
		c := rollout.Command{Verb: rollout.Advance}
		if lane != "" {
			c.To = []rollout.LaneShare{{Lane: lane, Share: 1}}
		}
		if got := levelOf(&c, &s); got != want {
			t.Errorf("%q asks at level %d, want %d", lane, got, want)
		}
	}
}

func TestWhoWaitsGoesOnWhereTheServerIsAwayForAWhile(t *testing.T) {
	for _, tt := range []struct {
		status int
		code   string
	}{{503, "away"}, {502, "foreign"}, {504, "timeout"}, {429, "too_many_requests"}} {
		troubledThen := func(n int) (int, any) {
			if n == 1 {
				return problemOf(tt.status, tt.code)
			}
			return http.StatusOK, at(rollout.RolledBack, 0)
		}
		for want, args := range map[int][]string{
			exitDone:       {"wait", "orders-db", "--for", "state=rolled_back"},
			exitRolledBack: {"status", "orders-db", "-w", "--every", "10ms"},
		} {
			var tr troubled
			tr.start(t, troubledThen, nil)
			if got := does(t, "", args...); got.code != want || !strings.Contains(got.out+got.err, "no answer, asking again: it is "+tt.code) {
				t.Errorf("%d: %v ended with %d, and said %s%s", tt.status, args, got.code, got.out, got.err)
			}
		}
	}
	var tr troubled
	tr.start(t, refusing(http.StatusForbidden, "forbidden"), nil)
	if got := does(t, "", "wait", "orders-db", "--for", "state=held"); got.code != exitNotAllowed {
		t.Errorf("who may not look waits all the same: %d", got.code)
	}
}

func TestWhoWaitsInVainForAnAnswerIsToldSo(t *testing.T) {
	var tr troubled
	tr.start(t, refusing(http.StatusServiceUnavailable, "away"), nil)
	if got := does(t, "", "wait", "orders-db", "--for", "state=held", "--timeout", "100ms"); got.code != exitNoAnswer {
		t.Errorf("ended with %d, and said %s", got.code, got.err)
	}
}
