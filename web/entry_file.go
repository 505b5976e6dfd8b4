package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/google/renameio/v2"
	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// SaveTokens writes a file of tokens in one piece, readable by its owner only.
// Where others may write it too, use [EditTokens].
func SaveTokens(path string, entries []Entry) error {
	text, err := json.MarshalIndent(map[string][]Entry{"tokens": entries}, "", "  ")
	if err != nil {
		return fmt.Errorf("writing tokens: %w", err)
	}
	if _, err := parseEntries(text); err != nil {
		return fmt.Errorf("writing tokens to %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing tokens to %s: %w", path, err)
	}
	return nil
}

// CreateTokens writes a file of tokens that is not there yet; if it is, the error
// is [fs.ErrExist].
func CreateTokens(path string, entries ...Entry) error {
	unlock, err := lockedfile.MutexAt(path + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("locking tokens: %w", err)
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing tokens to %s: %w", path, cmp.Or(err, fs.ErrExist))
	}
	return SaveTokens(path, entries)
}

// ReadTokens reads the entries of a file of tokens.
func ReadTokens(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	entries, err := parseEntries(text)
	if err != nil {
		return nil, fmt.Errorf("reading tokens from %s: %w", path, err)
	}
	return entries, nil
}

// EditTokens changes a file of tokens while nobody else does, in this process or
// another. An error of change leaves the file as it is.
func EditTokens(path string, change func([]Entry) ([]Entry, error)) (err error) {
	unlock, err := lockedfile.MutexAt(path + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("locking tokens: %w", err)
	}
	defer unlock()
	entries, err := ReadTokens(path)
	if err != nil {
		return err
	}
	if entries, err = change(entries); err != nil {
		return err
	}
	return SaveTokens(path, entries)
}

// WithToken returns the entries with another one, whose name must be free.
func WithToken(entries []Entry, e Entry) ([]Entry, error) {
	if slices.ContainsFunc(entries, func(o Entry) bool { return o.Name == e.Name }) {
		return nil, rollout.Refusal(fmt.Sprintf(
			"there is a token %s already, and it was shown once; if it was lost, take it away and make another", e.Name))
	}
	return append(slices.Clone(entries), e), nil
}

// WithoutToken returns the entries without one. Somebody must stay who can make
// another: the last good token that is admin on all databases does.
func WithoutToken(entries []Entry, name string, now time.Time) ([]Entry, error) {
	admins := 0
	rest := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Name == name })
	for i := range rest {
		if who := rest[i].caller(); !who.expired(now) && who.has([]Role{Admin}, everywhere) {
			admins++
		}
	}
	switch {
	case len(rest) == len(entries):
		return nil, rollout.Refusal(fmt.Sprintf("there is no token %s", name))
	case admins == 0:
		return nil, rollout.Refusal(fmt.Sprintf("%s is the last good token that is admin on all databases; make another one first", name))
	}
	return rest, nil
}
