package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/web/client"
)

// defaultProfile is where login keeps a server if no name is given.
const defaultProfile = "default"

type loginCmd struct{}

func (loginCmd) offline() {} // it speaks to a server as nobody that is known yet

// Run asks for a token, has the server check it, and keeps it.
func (loginCmd) Run(ctx context.Context, s *session) error {
	saved, err := readProfiles()
	if err != nil {
		return err
	}
	name := cmp.Or(s.Profile, saved.Use, defaultProfile)
	url := cmp.Or(s.URL, os.Getenv("ROLLOUT_URL"), saved.Profiles[name].URL, defaultURL)
	if err := goodURL(url); err != nil {
		return err
	}
	token, err := s.readToken(ctx, url)
	if err != nil {
		return err
	}
	s.URL = url
	s.api = s.client(server{URL: url, token: token})
	who, err := s.api.Whoami(ctx)
	if err != nil {
		return err
	}
	if s.DryRun {
		s.print(fmt.Sprintf("dry run; nothing is kept. The token is %s's at %s", who.Name, url))
		return nil
	}
	if saved.Profiles == nil {
		saved.Profiles = map[string]profile{}
	}
	saved.Profiles[name], saved.Use = profile{URL: url, Token: token}, name
	if err := saved.write(); err != nil {
		return err
	}
	s.done(fmt.Sprintf("signed in to %s as %s, in the profile %s", url, who.Name, name))
	return nil
}

// readToken reads a token: from a file that is named, else from stdin, unseen on
// a terminal.
func (s *session) readToken(ctx context.Context, url string) (string, error) {
	if s.TokenFile != "" {
		return tokenFrom(s.TokenFile, true)
	}
	if s.canAsk() {
		token, err := s.askSecret(ctx, "The token for "+url+" (it is not shown):")
		if err != nil {
			return "", err
		}
		return oneWord(token, "your answer")
	}
	const longest = 4096
	text, err := io.ReadAll(io.LimitReader(s.in, longest))
	if err != nil {
		return "", fmt.Errorf("reading the token from stdin: %w", err)
	}
	return oneWord(strings.TrimSpace(string(text)), "stdin")
}

type logoutCmd struct{}

func (logoutCmd) offline() {}

// Run forgets a token; the server goes on to know it.
func (logoutCmd) Run(s *session) error {
	saved, err := readProfiles()
	if err != nil {
		return err
	}
	name := cmp.Or(s.Profile, saved.Use)
	if name == "" {
		return usageError{text: "there is no profile to sign out of"}
	}
	was, err := saved.named(name)
	if err != nil {
		return err
	}
	if s.DryRun {
		s.print("dry run; the token for " + was.URL + " would be forgotten")
		return nil
	}
	delete(saved.Profiles, name)
	if saved.Use == name {
		saved.Use = ""
	}
	if err := saved.write(); err != nil {
		return err
	}
	s.done("signed out of " + was.URL + ": the token is forgotten here; the server still knows it, until an admin takes it away")
	return nil
}

type whoamiCmd struct{}

// Run says who the server takes you for, and what you may do.
func (whoamiCmd) Run(ctx context.Context, s *session) error {
	who, err := s.api.Whoami(ctx)
	if err != nil {
		return err
	}
	if s.json() {
		return s.encode(who)
	}
	lines := []string{who.Name + " at " + s.URL}
	for _, grant := range who.Grants {
		lines = append(lines, "  "+grantText(grant, who.Service))
	}
	if !who.Expires.IsZero() {
		lines = append(lines, "  the token is good until "+moment(who.Expires, s.now(), s.zone))
	}
	s.print(lines...)
	return nil
}

// grantText says what a grant allows.
func grantText(g client.Grant, service string) string {
	text := g.Role
	if service != "" {
		text += " of " + service
	}
	if len(g.Databases) == 0 {
		return text + " on every database"
	}
	return text + " on " + strings.Join(g.Databases, ", ")
}

type profileListCmd struct{}

func (profileListCmd) offline() {}

// Run lists the profiles, without their tokens.
func (profileListCmd) Run(s *session) error {
	saved, err := readProfiles()
	if err != nil {
		return err
	}
	type listed struct {
		Name  string `json:"name"`
		URL   string `json:"url"`
		InUse bool   `json:"in_use"`
	}
	list := []listed{}
	rows := [][]string{{"", "NAME", "URL"}}
	for _, name := range slices.Sorted(maps.Keys(saved.Profiles)) {
		p := listed{name, saved.Profiles[name].URL, name == saved.Use}
		mark := ""
		if p.InUse {
			mark = "*"
		}
		list, rows = append(list, p), append(rows, []string{mark, p.Name, p.URL})
	}
	switch {
	case s.json():
		return s.encode(map[string][]listed{"profiles": list})
	case len(list) == 0:
		s.print("no profiles yet", "next: rolloutctl login --url URL")
	default:
		s.print(table("", rows)...)
	}
	return nil
}

type profileUseCmd struct {
	Name string `arg:"" help:"Name of the profile."`
}

func (*profileUseCmd) offline() {}

// Run has a profile be the one that is taken if none is named.
func (c *profileUseCmd) Run(s *session) error {
	saved, err := readProfiles()
	if err != nil {
		return err
	}
	p, err := saved.named(c.Name)
	if err != nil {
		return err
	}
	if s.DryRun {
		s.print("dry run; it would be " + p.URL + " from now on")
		return nil
	}
	saved.Use = c.Name
	if err := saved.write(); err != nil {
		return err
	}
	s.done("from now on: " + p.URL + ", by the profile " + c.Name)
	return nil
}
