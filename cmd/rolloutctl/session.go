package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// Options are the flags that every command has.
type Options struct {
	URL       string `name:"url" env:"ROLLOUT_URL" placeholder:"URL" help:"The server; by default http://127.0.0.1:8080."`
	Token     string `env:"ROLLOUT_TOKEN" placeholder:"TOKEN" help:"The token; other users of this machine can see a flag, so prefer a file."`
	TokenFile string `env:"ROLLOUT_TOKEN_FILE" placeholder:"FILE" help:"File with the token; by default $ROLLOUT_HOME/admin.token or ./var/admin.token, if it is there."`
	Output    string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	Reason    string `placeholder:"TEXT" help:"Why; it goes into the journal."`
	ExpectRev uint64 `placeholder:"N" help:"Act only if the rollout is still at this revision."`
	RequestID string `placeholder:"ID" help:"Id of this request; the same id never acts twice."`
	TZ        string `name:"tz" env:"ROLLOUT_TZ" default:"utc" placeholder:"ZONE" help:"Zone of times: utc, local, or a name such as Asia/Tokyo."`
	ASCII     bool   `name:"ascii" help:"Draw with ASCII only; as does ROLLOUT_ASCII, if it is not empty."`
}

// session is one run of a command.
type session struct {
	Options
	api    *client.Client
	stdout io.Writer
	stderr io.Writer
	zone   *time.Location
	screen screen
	errors screen // stderr may go elsewhere

	name   string // of the rollout that it is about
	repeat string // the arguments of what was asked for, if it changes something
}

// newSession prepares a run. On error, the session serves to say so.
func newSession(o Options, stdout, stderr io.Writer) (*session, error) {
	o.URL = cmp.Or(o.URL, "http://127.0.0.1:8080")
	s := &session{Options: o, stdout: stdout, stderr: stderr, zone: time.UTC, screen: newScreen(stdout, o.ASCII), errors: newScreen(stderr, o.ASCII)}
	var err error
	if s.zone, err = zone(o.TZ); err != nil {
		return s, err
	}
	base, err := url.Parse(o.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return s, usageError{text: fmt.Sprintf("--url %q: must be a URL such as http://127.0.0.1:8080", o.URL)}
	}
	token, err := o.token()
	if err != nil {
		return s, err
	}
	s.api = client.New(o.URL, token, http.Client{}).As("rolloutctl/" + version())
	return s, nil
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

// token returns the token, or none: then the server says that one is needed.
func (o *Options) token() (string, error) {
	text, from := o.Token, "--token or ROLLOUT_TOKEN"
	if text == "" {
		path, must := o.tokenFile()
		if path == "" {
			return "", nil
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && !must {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("reading the token: %w", err)
		}
		text, from = strings.TrimSpace(string(content)), path
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usageError{text: "the token of " + from + " is none: it must be one word such as cut_…"}
	}
	return text, nil
}

// tokenFile returns where the token is, and whether somebody said so.
func (o *Options) tokenFile() (path string, must bool) {
	if o.TokenFile != "" {
		return o.TokenFile, true
	}
	home := cmp.Or(os.Getenv("ROLLOUT_HOME"), "var")
	return filepath.Join(home, "admin.token"), false
}

func (s *session) json() bool { return s.Output == "json" }

// encode prints a value as JSON.
func (s *session) encode(value any) error {
	enc := json.NewEncoder(s.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// print prints lines of text.
func (s *session) print(lines ...string) { s.screen.print(s.stdout, lines) }

// do gives a command, and says what is then.
func (s *session) do(ctx context.Context, name string, verb rollout.Verb, to []rollout.LaneShare) error {
	s.name, s.repeat = name, string(verb)+" "+name
	for _, t := range to {
		s.repeat += fmt.Sprintf(" --to %s:%d", t.Lane, int(t.Share))
	}
	s.RequestID = cmp.Or(s.RequestID, "cli-"+rand.Text())
	began := time.Now()
	state, err := s.api.Do(ctx, name, rollout.Command{
		Verb: verb, Reason: s.Reason, Expect: s.ExpectRev, To: to, Request: s.RequestID,
	})
	if err != nil {
		return err
	}
	return s.after(ctx, state, began, string(verb)+": done, request "+s.RequestID)
}

// after says what is, after something was done.
func (s *session) after(ctx context.Context, state rollout.State, began time.Time, done string) error {
	status := s.lookedSince(ctx, state, began)
	if s.json() {
		return s.encode(view{Status: status, NextSteps: commands(nextSteps(&status))})
	}
	s.print(done)
	s.print(s.page(&status).brief()...)
	return nil
}

// lookedSince returns the status once the controller has looked at what was
// done, which it does at once. If it does not, what it saw before is left out:
// it would ask for what was just given.
func (s *session) lookedSince(ctx context.Context, state rollout.State, began time.Time) rollout.Status {
	const tries, apart = 10, 100 * time.Millisecond
	ticks := time.NewTicker(apart)
	defer ticks.Stop()
	status := rollout.Status{State: state}
	for range tries {
		seen, err := s.api.Status(ctx, state.Name)
		if err != nil { // it is done all the same
			break
		}
		if status = seen; !status.Looked.Before(began) || !status.State.Phase.Active() {
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
