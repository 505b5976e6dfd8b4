package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Tokens knows who may ask. It follows its file, so that tokens are given and
// taken without a restart. While the file cannot be read, the last tokens stay
// good: a half-written file must not lock out whoever wants to roll back.
type Tokens struct {
	path string

	mu     sync.Mutex
	known  []known
	seen   os.FileInfo // the file as it was when it was read
	broken string      // what is wrong with it, once that was said
}

// known is a token of the file.
type known struct {
	caller Caller
	sum    [sha256.Size]byte
}

// LoadTokens reads a file of tokens.
func LoadTokens(path string) (*Tokens, error) {
	t := &Tokens{path: path}
	if err := t.follow(); err != nil {
		return nil, err
	}
	return t, nil
}

// find returns whose token it is, also when it has expired. The error, of reading
// the file anew, is returned once; it does not stand against the answer.
func (t *Tokens) find(plain string) (Caller, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.follow()
	sum := sha256.Sum256([]byte(plain))
	var found Caller
	ok := false
	for _, k := range t.known { // all of them, so that time tells nothing
		if subtle.ConstantTimeCompare(k.sum[:], sum[:]) == 1 {
			found, ok = k.caller, true
		}
	}
	return found, ok, err
}

// all returns whose tokens there are, those that have expired included.
func (t *Tokens) all() []Caller {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Caller, len(t.known))
	for i, k := range t.known {
		list[i] = k.caller
	}
	return list
}

// people returns whoever has a token that is good, but tasks.
func (t *Tokens) people() []Caller {
	now := time.Now()
	return slices.DeleteFunc(t.all(), func(who Caller) bool { return !who.person() || who.expired(now) })
}

// follow reads the file if it has changed.
func (t *Tokens) follow() error {
	info, err := os.Stat(t.path)
	if err != nil {
		return t.fault(fmt.Errorf("reading tokens: %w", err))
	}
	if t.seen != nil && unchanged(t.seen, info) {
		return nil
	}
	text, err := os.ReadFile(t.path)
	if err != nil {
		return t.fault(fmt.Errorf("reading tokens: %w", err))
	}
	t.seen = info
	entries, err := parseEntries(text)
	if err != nil {
		return t.fault(fmt.Errorf("reading tokens from %s: %w", t.path, err))
	}
	t.known, t.broken = make([]known, len(entries)), ""
	for i := range entries {
		sum, _ := hex.DecodeString(entries[i].SHA256) // parsed, so it is one
		t.known[i] = known{caller: entries[i].caller(), sum: [sha256.Size]byte(sum)}
	}
	return nil
}

// fault returns an error the first time only.
func (t *Tokens) fault(err error) error {
	if t.broken == err.Error() {
		return nil
	}
	t.broken = err.Error()
	return err
}

// racy is how coarse a file's time may be: a file younger than that when it was
// read may have changed since without looking so.
const racy = 2 * time.Second

func unchanged(then, now os.FileInfo) bool {
	return os.SameFile(then, now) && then.Size() == now.Size() && then.ModTime().Equal(now.ModTime()) &&
		time.Since(now.ModTime()) > racy
}
