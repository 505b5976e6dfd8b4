package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// Options are the flags that every command has. What a person must mean anew
// each time, such as --yes, has no environment variable.
type Options struct {
	Output string `short:"o" enum:"text,wide,json" default:"text" env:"ROLLOUT_OUTPUT" placeholder:"FORMAT" help:"text, wide (more columns and facts) or json." group:"Output"`
	TZ     string `name:"tz" env:"ROLLOUT_TZ" default:"utc" placeholder:"ZONE" help:"Zone of times: utc, local, or a name such as Asia/Tokyo." group:"Output"`
	Color  string `enum:"auto,always,never" default:"auto" env:"ROLLOUT_COLOR" placeholder:"WHEN" help:"auto, always or never; nothing is said by colour alone." group:"Output"`
	ASCII  bool   `name:"ascii" env:"ROLLOUT_ASCII" help:"Draw with ASCII only." group:"Output"`
	Quiet  bool   `short:"q" help:"Of a command that changes something, say only what is wrong." group:"Output"`
	Debug  bool   `env:"ROLLOUT_DEBUG" help:"Tell on stderr what is asked of the server, and how long it takes; never a token." group:"Output"`

	// Of these three, the variables are read by server: one of a flag must not win
	// over the flag of another.
	URL       string         `name:"url" placeholder:"URL" help:"The server ($ROLLOUT_URL); by default the profile's, or http://127.0.0.1:8080." group:"Server"`
	Profile   string         `placeholder:"NAME" help:"The profile that login has stored ($ROLLOUT_PROFILE); by default the one in use." group:"Server"`
	TokenFile string         `placeholder:"FILE" help:"File with the token ($ROLLOUT_TOKEN_FILE); $ROLLOUT_TOKEN is the token itself." group:"Server"`
	Timeout   *time.Duration `placeholder:"DURATION" help:"How long to wait for an answer, 15s at most; of wait, for what is waited for, 30m if nobody says." group:"Server"`

	Yes       bool   `short:"y" help:"Answer yes to what asks for it." group:"Change"`
	Confirm   string `placeholder:"NAME" help:"Answer what asks for the rollout's name." group:"Change"`
	NoInput   bool   `env:"ROLLOUT_NO_INPUT" help:"Never ask, even on a terminal." group:"Change"`
	Reason    string `placeholder:"TEXT" help:"Why; it goes into the journal." group:"Change"`
	DryRun    bool   `short:"n" help:"Say what would happen, and change nothing." group:"Change"`
	ExpectRev uint64 `placeholder:"N" help:"Act only if the rollout is still at this revision, which status shows." group:"Change"`
	RequestID string `placeholder:"ID" help:"Id of this request; the same id never acts twice." group:"Change"`
}

// session is one run of a command.
type session struct {
	Options
	streams
	args   []string // of the command line, to repeat it
	api    *client.Client
	clock  *clock
	zone   *time.Location
	screen screen        // of stdout
	errors screen        // of stderr, which may go elsewhere
	lines  *bufio.Reader // of what a person answers; nil until asked

	verb     rollout.Verb        // the name of the command, which is a verb's or not
	name     string              // of the rollout that it is about
	changing bool                // what is sent from now on changes something
	repeats  bool                // the id of the request was given: it may have been sent before
	meant    []rollout.LaneShare // the step that was filled in for the person
	broken   error               // the first one of writing to stdout
}

// newSession prepares a run. On error, the session serves to say so.
func newSession(o Options, args []string, to streams) (*session, error) {
	s := &session{
		Options: o, streams: to, args: args, clock: &clock{}, zone: time.UTC, repeats: o.RequestID != "",
		screen: newScreen(to.out, &o), errors: newScreen(to.err, &o),
	}
	var err error
	if s.zone, err = zone(o.TZ); err != nil {
		return s, err
	}
	if s.Timeout != nil && *s.Timeout <= 0 {
		return s, usageError{text: fmt.Sprintf("--timeout %v: must be above 0", *s.Timeout)}
	}
	return s, nil
}

// connect prepares to speak to the server.
func (s *session) connect() error {
	to, err := s.server()
	if err != nil {
		return err
	}
	if err := goodURL(to.URL); err != nil {
		return err
	}
	s.URL, s.api = to.URL, s.client(to)
	return nil
}

// goodURL refuses what cannot be asked. A password is not for a URL, which is
// shown and stored: not even the refusal shows it.
func goodURL(text string) error {
	base, err := url.Parse(text)
	switch {
	case err == nil && base.User != nil:
		return usageError{text: fmt.Sprintf("--url %q: must be without a user and a password; who you are, a token says", base.Redacted())}
	case (err != nil || base.Host == "") && strings.Contains(text, "@"):
		return usageError{text: "--url: must be a URL such as " + defaultURL + ", without a user and a password"}
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return usageError{text: fmt.Sprintf("--url %q: must be a URL such as %s", text, defaultURL)}
	}
	return nil
}

// client returns a client of a server.
func (s *session) client(to server) *client.Client {
	return client.New(to.URL, to.token, http.Client{Transport: s.way()}).As("rolloutctl/" + version())
}

func zone(name string) (*time.Location, error) {
	switch strings.ToLower(name) {
	case "utc", "":
		return time.UTC, nil
	case "local":
		return time.Local, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, usageError{text: fmt.Sprintf("--tz %q: must be utc, local, or a zone such as Asia/Tokyo", name)}
	}
	return loc, nil
}

// json reports whether data are wanted, and wide whether more than usual is.
func (s *session) json() bool { return s.Output == "json" }
func (s *session) wide() bool { return s.Output == "wide" }

// encode prints a value as JSON.
func (s *session) encode(value any) error {
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// print prints what was asked for, on stdout.
func (s *session) print(lines ...string) {
	_, err := io.WriteString(s.out, s.screen.text(lines))
	s.wrote(err)
}

// wrote keeps the first error of writing to stdout: a file that is cut short must
// not look whole.
func (s *session) wrote(err error) {
	if err != nil && s.broken == nil {
		s.broken = fmt.Errorf("writing to stdout: %w", err)
	}
}

// done says on stdout what a command has changed, unless nobody wants to know.
func (s *session) done(lines ...string) {
	if !s.Quiet {
		s.print(lines...)
	}
}

// now is the server's time, as far as it is known: what is said of ages does not
// depend on this machine's clock.
func (s *session) now() time.Time { return s.clock.now() }

// request marks what is sent from now on as a change, and returns its id: whoever
// gets no answer is told how to repeat it without doing it twice.
func (s *session) request() string {
	s.changing = true
	s.RequestID = cmp.Or(s.RequestID, "cli-"+rand.Text())
	return s.RequestID
}

// after says what is, after something was done.
func (s *session) after(ctx context.Context, state rollout.State, done ...string) error {
	status := s.settled(ctx, state)
	return s.tell(&status, done...)
}

// tell says what was done and what is then.
func (s *session) tell(status *rollout.Status, done ...string) error {
	if s.json() {
		return s.encode(view{Status: *status, NextSteps: commands(nextSteps(status))})
	}
	s.done(done...)
	s.done(s.page(status).brief()...)
	return nil
}

// settled returns the status once the controller has looked at what was done,
// which it does at once. If it does not, what it saw before is left out: it would
// ask for what was just given.
func (s *session) settled(ctx context.Context, state rollout.State) rollout.Status {
	const tries, apart = 10, 100 * time.Millisecond
	ticks := time.NewTicker(apart)
	defer ticks.Stop()
	status := rollout.Status{State: state}
	for range tries {
		seen, err := s.api.Status(ctx, state.Name)
		if err != nil { // it is done all the same
			break
		}
		if status = seen; status.LookedAt >= state.Version || !status.State.Phase.Active() {
			return status
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
	status.Waits, status.State.Waits = nil, nil
	return status
}

// view is a status as JSON: what the server says, and what can be done.
type view struct {
	rollout.Status
	NextSteps []string `json:"next_steps"`
}
