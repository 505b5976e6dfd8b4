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
	"time"

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

// May says what a token may do: "viewer, operator on orders".
func (e *Entry) May() string {
	who := e.caller()
	if e.Service != "" {
		return who.roles() + " of " + e.Service
	}
	return who.roles()
}

// subject says in the journal which token it is: by its digest also, so that a
// request that comes again with another token is not taken for the same.
func (e *Entry) subject() string {
	text := e.Name + ": " + e.May()
	if !e.Expires.IsZero() {
		text += ", until " + e.Expires.Format(time.RFC3339)
	}
	return text + ", digest " + e.SHA256[:min(len(e.SHA256), 8)]
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
			return e, rollout.Problem{Field: "role", Value: string(*raw.Role), Allowed: "is short for one grant; give grants or a role"}
		}
		e.Grants = []Grant{{Role: *raw.Role}}
	}
	if raw.Expires != nil {
		at, err := moment("expires", *raw.Expires)
		if err != nil || at.IsZero() {
			return e, rollout.Problem{Field: "expires", Value: *raw.Expires, Allowed: "must be a time such as 2026-12-01T00:00:00Z; leave it out for a token that stays"}
		}
		e.Expires = at
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
