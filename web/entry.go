package web

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// prefix makes a token known for what it is, to people and to scanners of secrets.
const prefix = "cut_"

// Entry is one token as its file keeps it: by its digest, never itself.
type Entry struct {
	Name    string    `json:"name"`
	Grants  []Grant   `json:"grants"`
	Service string    `json:"service,omitempty"` // of a reporter
	SHA256  string    `json:"sha256"`            // hex
	Expires time.Time `json:"expires,omitzero"`  // zero: never
}

// NewToken makes a token with one role on all databases. It is shown once; the
// entry is kept.
func NewToken(name string, role Role, service string) (string, Entry) {
	e := Entry{Name: name, Grants: []Grant{{Role: role}}, Service: service}
	return e.Mint(), e
}

// Mint makes a token of 256 random bits for an entry and returns it; the entry
// keeps the digest.
func (e *Entry) Mint() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails: it would end the program instead
	plain := prefix + base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(plain))
	e.SHA256 = hex.EncodeToString(sum[:])
	return plain
}

// caller is who an entry stands for.
func (e *Entry) caller() Caller {
	return Caller{Name: e.Name, Grants: e.Grants, Service: e.Service, Expires: e.Expires}
}

// parseEntries reads a file of tokens strictly.
func parseEntries(text []byte) ([]Entry, error) {
	var file struct {
		Tokens []json.RawMessage `json:"tokens"`
	}
	if err := decode(text, &file); err != nil {
		return nil, fmt.Errorf("parsing JSON: %w", err)
	}
	list := make([]Entry, 0, len(file.Tokens))
	for i, raw := range file.Tokens {
		e, err := parseEntry(raw)
		if err == nil {
			err = e.beside(list)
		}
		if err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// parseEntry reads one token. A role in place of grants is short for that role on
// all databases.
func parseEntry(text []byte) (Entry, error) {
	var raw struct {
		Name    string  `json:"name"`
		Role    *Role   `json:"role"`
		Grants  []Grant `json:"grants"`
		Service string  `json:"service"`
		SHA256  string  `json:"sha256"`
		Expires *string `json:"expires"`
	}
	if err := decode(text, &raw); err != nil {
		return Entry{}, err
	}
	e := Entry{Name: raw.Name, Grants: raw.Grants, Service: raw.Service, SHA256: raw.SHA256}
	if raw.Role != nil {
		if raw.Grants != nil {
			return e, fmt.Errorf("role %q: is short for one grant; give grants or a role", *raw.Role)
		}
		e.Grants = []Grant{{Role: *raw.Role}}
	}
	if raw.Expires != nil {
		at, err := time.Parse(time.RFC3339, *raw.Expires)
		if err != nil {
			return e, fmt.Errorf("expires %q: must be a time such as 2026-12-01T00:00:00Z; leave it out for a token that stays", *raw.Expires)
		}
		e.Expires = at.UTC()
	}
	return e, e.check()
}

// decode reads one JSON value and nothing after it.
func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// check refuses an entry that means nothing.
func (e *Entry) check() error {
	if problem := checkName(e.Name); problem != "" {
		return fmt.Errorf("name %q: %s", e.Name, problem)
	}
	if err := checkGrants(e.Grants, e.Service); err != nil {
		return err
	}
	if sum, err := hex.DecodeString(e.SHA256); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("sha256: must be %d hex digits", 2*sha256.Size)
	}
	return nil
}

// beside refuses an entry that cannot be told from another one.
func (e *Entry) beside(others []Entry) error {
	for i := range others {
		if others[i].Name == e.Name {
			return fmt.Errorf("name %q: is taken by another token", e.Name)
		}
		if strings.EqualFold(others[i].SHA256, e.SHA256) {
			return errors.New("sha256: is that of another token")
		}
	}
	return nil
}

// longestName is how many characters the name of a token may have.
const longestName = 100

// checkName says what is wrong with the name of a token; nothing if it is good.
func checkName(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:@+-", r)
	}
	switch {
	case name == "", utf8.RuneCountInString(name) > longestName, strings.ContainsFunc(name, odd):
		return fmt.Sprintf("must be 1 to %d letters, digits or any of . _ : @ + -", longestName)
	case name == rollout.Controller:
		return "must be set, and not be the controller's"
	}
	return ""
}

// checkGrants refuses grants that mean nothing, or not what they look like.
func checkGrants(grants []Grant, service string) error {
	if len(grants) == 0 {
		return errors.New("grants: there must be one at least")
	}
	var seen []Role
	for i, g := range grants {
		field := fmt.Sprintf("grants[%d]", i)
		switch {
		case !slices.Contains(roles(), g.Role):
			return fmt.Errorf("%s.role %q: must be %s", field, g.Role, either(roles()))
		case slices.Contains(seen, g.Role):
			return fmt.Errorf("%s.role %q: is there twice; name all its databases in one grant", field, g.Role)
		case g.Role == Reporter && len(grants) > 1:
			return fmt.Errorf("%s.role %q: must stand alone; tasks have a token of their own", field, g.Role)
		case g.Role == Reporter && len(g.Databases) > 0:
			return fmt.Errorf("%s.databases: a reporter has a service, and no databases", field)
		case g.Databases != nil && len(g.Databases) == 0:
			return fmt.Errorf("%s.databases: must name one at least; leave it out for all", field)
		}
		seen = append(seen, g.Role)
		for j, database := range g.Databases {
			switch {
			case database == everywhere || database == "" || sayable("", database, longestName) != nil:
				return fmt.Errorf("%s.databases[%d] %q: must be the name of a database; leave databases out for all", field, j, database)
			case slices.Contains(g.Databases[:j], database):
				return fmt.Errorf("%s.databases[%d] %q: is there twice", field, j, database)
			}
		}
	}
	if reporter := seen[0] == Reporter; reporter != (service != "") || sayable("", service, nameLimit) != nil {
		return fmt.Errorf("service %q: must be set for a reporter, and for nobody else", service)
	}
	return nil
}
