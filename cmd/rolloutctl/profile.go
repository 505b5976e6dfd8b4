package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"go.yaml.in/yaml/v3"
)

// profiles are the servers that a person has signed in to, in a file that only
// he may read.
type profiles struct {
	Use      string             `yaml:"use,omitempty"` // the one that is taken if none is named
	Profiles map[string]profile `yaml:"profiles,omitempty"`
}

// profile is one server.
type profile struct {
	URL   string `yaml:"url"`
	Token string `yaml:"token,omitempty"`
}

// defaultURL is where a server listens that nobody has configured.
const defaultURL = "http://127.0.0.1:8080"

// profilesFile returns where the profiles are.
func profilesFile() (string, error) {
	home, err := os.UserConfigDir() // $XDG_CONFIG_HOME, or ~/.config
	if err != nil {
		return "", fmt.Errorf("finding the profiles: %w; set XDG_CONFIG_HOME", err)
	}
	return filepath.Join(home, "rolloutctl", "config.yaml"), nil
}

// readProfiles reads the profiles; there may be none. A file that others may
// read is refused: its tokens are not secret any more.
func readProfiles() (profiles, error) {
	var p profiles
	path, err := profilesFile()
	if err != nil {
		return p, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("reading the profiles: %w", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return p, usageError{
			text: fmt.Sprintf("%s: others may read it (mode %04o), and it has tokens", path, info.Mode().Perm()),
			next: "chmod 600 " + path,
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return p, fmt.Errorf("reading the profiles: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&p); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return p, usageError{text: fmt.Sprintf("%s: %v", path, err)}
	}
	return p, nil
}

// write stores the profiles, so that only their owner may read them.
func (p *profiles) write() error {
	path, err := profilesFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("storing the profiles: %w", err)
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("storing the profiles: %w", err)
	}
	if err := renameio.WriteFile(path, text, 0o600, renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("storing the profiles: %w", err)
	}
	return nil
}

// named returns a profile by name.
func (p *profiles) named(name string) (profile, error) {
	found, ok := p.Profiles[name]
	if !ok {
		there := "there are none yet"
		if names := slices.Sorted(maps.Keys(p.Profiles)); len(names) > 0 {
			there = "there are " + strings.Join(names, ", ")
		}
		return profile{}, usageError{text: fmt.Sprintf("no profile is called %q; %s", name, there), next: "rolloutctl login --profile " + name + " --url URL"}
	}
	return found, nil
}

// server is whom to ask, and as whom.
type server struct {
	URL   string
	token string
	from  string // where the token is from: a file, a variable, the profile
}

// server finds out whom to ask: what the command line says wins over the
// environment, and that over the profile in use. A profile's token goes to the
// profile's own server only.
func (s *session) server() (server, error) {
	name, hasURL := cmp.Or(s.Profile, os.Getenv("ROLLOUT_PROFILE")), cmp.Or(s.URL, os.Getenv("ROLLOUT_URL")) != ""
	var in profile
	var err error
	if name != "" || !hasURL || !s.hasToken() { // or else a rollback would need a file that it has no use for
		if in, err = chosen(name, hasURL); err != nil {
			return server{}, err
		}
	}
	to := server{URL: s.URL}
	if s.Profile != "" {
		to.URL = cmp.Or(to.URL, in.URL)
	}
	to.URL = cmp.Or(to.URL, os.Getenv("ROLLOUT_URL"), in.URL, defaultURL)
	if to.URL != in.URL {
		in.Token = ""
	}
	to.token, to.from, err = s.token(in.Token)
	return to, err
}

// chosen returns the profile that is named, else the one in use, if there is any.
// That one may be gone where the URL is known without it.
func chosen(name string, hasURL bool) (profile, error) {
	if _, err := profilesFile(); err != nil && name == "" {
		return profile{}, nil //nolint:nilerr // where there is no home, there is no profile in use
	}
	saved, err := readProfiles()
	if err != nil {
		return profile{}, err
	}
	if _, there := saved.Profiles[saved.Use]; name == "" && (saved.Use == "" || !there && hasURL) {
		return profile{}, nil
	}
	return saved.named(cmp.Or(name, saved.Use))
}

// hasToken reports whether a token is named, by a flag or a variable.
func (o *Options) hasToken() bool {
	return cmp.Or(o.TokenFile, os.Getenv("ROLLOUT_TOKEN"), os.Getenv("ROLLOUT_TOKEN_FILE")) != ""
}

// token returns the token and where it is from, or none: then the server says
// that one is needed.
func (o *Options) token(ofProfile string) (token, from string, err error) {
	variable, file := os.Getenv("ROLLOUT_TOKEN"), os.Getenv("ROLLOUT_TOKEN_FILE")
	switch {
	case o.TokenFile != "":
		token, err = tokenFrom(o.TokenFile, true)
		return token, o.TokenFile, err
	case o.Profile != "" && ofProfile != "":
		return ofProfile, "the profile", nil
	case variable != "":
		token, err = oneWord(variable, "ROLLOUT_TOKEN")
		return token, "ROLLOUT_TOKEN", err
	case file != "":
		token, err = tokenFrom(file, true)
		return token, file, err
	case ofProfile != "":
		return ofProfile, "the profile", nil
	default: // where rolloutd init puts it, if it is there
		from = filepath.Join(cmp.Or(os.Getenv("ROLLOUT_HOME"), "var"), "admin.token")
		token, err = tokenFrom(from, false)
		return token, from, err
	}
}

// tokenFrom reads a token from a file, which must be there or may be.
func tokenFrom(path string, must bool) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	return oneWord(strings.TrimSpace(string(text)), path)
}

// oneWord refuses what cannot be a token: it would be sent in a header.
func oneWord(text, from string) (string, error) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usageError{text: "the token of " + from + " is none: it must be one word such as cut_…"}
	}
	return text, nil
}
