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
	"os"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// prefix makes a token known for what it is, to people and to scanners of secrets.
const prefix = "cut_"

// Entry is one token as its file keeps it: by its digest, never itself.
type Entry struct {
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	Service string `json:"service,omitempty"` // of a reporter
	SHA256  string `json:"sha256"`            // hex
}

// file is the file of tokens.
type file struct {
	Tokens []Entry `json:"tokens"`
}

// NewToken makes a token of 256 random bits. It is shown once; the entry is kept.
func NewToken(name string, role Role, service string) (string, Entry) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails: it would end the program instead
	plain := prefix + base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(plain))
	return plain, Entry{Name: name, Role: role, Service: service, SHA256: hex.EncodeToString(sum[:])}
}

// SaveTokens writes a file of tokens in one piece, readable by its owner only.
func SaveTokens(path string, entries []Entry) error {
	text, err := json.MarshalIndent(file{Tokens: entries}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing tokens: %w", err)
	}
	if _, err := parseTokens(text); err != nil {
		return fmt.Errorf("writing tokens to %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing tokens to %s: %w", path, err)
	}
	return nil
}

// ReadTokens reads the entries of a file of tokens, to add or take away some.
func ReadTokens(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	if _, err := parseTokens(text); err != nil {
		return nil, fmt.Errorf("reading tokens of %s: %w", path, err)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("reading tokens of %s: %w", path, err)
	}
	return f.Tokens, nil
}

// parseTokens reads a file of tokens strictly.
func parseTokens(text []byte) ([]known, error) {
	var f file
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("parsing JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("parsing JSON: something follows the object")
	}
	list := make([]known, 0, len(f.Tokens))
	for i, e := range f.Tokens {
		k, err := e.known()
		if err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		for _, other := range list {
			if other.caller.Name == k.caller.Name {
				return nil, fmt.Errorf("tokens[%d]: name %q: is taken by another token", i, e.Name)
			}
			if other.sum == k.sum {
				return nil, fmt.Errorf("tokens[%d]: sha256: is that of another token", i)
			}
		}
		list = append(list, k)
	}
	return list, nil
}

// known checks an entry.
func (e Entry) known() (known, error) {
	sum, err := hex.DecodeString(e.SHA256)
	switch {
	case e.Name == "" || e.Name == rollout.Controller:
		return known{}, fmt.Errorf("name %q: must be set, and not be the controller's", e.Name)
	case !slices.Contains(roles(), e.Role):
		return known{}, fmt.Errorf("role %q: must be %s", e.Role, either(roles()))
	case (e.Role == Reporter) != (e.Service != ""):
		return known{}, fmt.Errorf("service %q: must be set for a reporter, and for nobody else", e.Service)
	case err != nil || len(sum) != sha256.Size:
		return known{}, fmt.Errorf("sha256: must be %d hex digits", 2*sha256.Size)
	}
	return known{caller: Caller{Name: e.Name, Role: e.Role, Service: e.Service}, sum: [sha256.Size]byte(sum)}, nil
}
