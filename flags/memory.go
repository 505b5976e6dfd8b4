package flags

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Memory keeps flags in memory. Its zero value holds none. It is the model that
// every other store is held to, and serves tests and rehearsals.
type Memory struct {
	mu       sync.Mutex
	settings map[Key]Setting
	writes   int64
}

// Create adds a flag at 0 %; one that is there already stays as it is.
func (m *Memory) Create(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.settings[key]; !ok {
		m.put(key, Setting{})
	}
}

// Put sets a share as another hand would: without a stamp, bound to nothing.
func (m *Memory) Put(key Key, share Share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.settings[key]
	now.Share, now.Author = share, ""
	m.put(key, now)
}

// Read returns the setting of a flag, or [ErrNotFound].
func (m *Memory) Read(_ context.Context, key Key) (Setting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, ok := m.settings[key]
	if !ok {
		return Setting{}, fmt.Errorf("reading flag %s: %w", key, ErrNotFound)
	}
	return now, nil
}

// Write obeys a change and returns the setting after it.
func (m *Memory) Write(_ context.Context, key Key, change Change) (Setting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, ok := m.settings[key]
	if !ok {
		return Setting{}, fmt.Errorf("writing flag %s: %w", key, ErrNotFound)
	}
	next, err := change.Apply(now)
	if err != nil {
		return now, fmt.Errorf("writing flag %s: %w", key, err)
	}
	return m.put(key, next), nil
}

// All returns every flag's setting, and the keys in order.
func (m *Memory) All() ([]Key, map[Key]Setting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(m.settings), func(a, b Key) int {
		return strings.Compare(a.String(), b.String())
	})
	return keys, maps.Clone(m.settings)
}

func (m *Memory) put(key Key, s Setting) Setting {
	if m.settings == nil {
		m.settings = make(map[Key]Setting)
	}
	m.writes++
	s.Revision = strconv.FormatInt(m.writes, 10)
	m.settings[key] = s
	return s
}

// Apply returns what a change makes of a setting; the revision is the store's to
// set. Every store that can read and write atomically decides by it.
func (c Change) Apply(now Setting) (Setting, error) {
	if c.Kind != Fence && !c.Share.Valid() {
		return now, fmt.Errorf("share %d: must be from 0 to 100", int(c.Share))
	}
	if !c.Safe.Valid() {
		return now, fmt.Errorf("safe share %d: must be from 0 to 100", int(c.Safe))
	}
	unconditional := c.Kind == Fence && c.Revision == "" || c.Kind == Lower && c.Share == None
	switch {
	case unconditional:
	case c.Revision != now.Revision:
		return now, ErrChanged
	case c.Epoch < now.Stamp.Epoch:
		return now, ErrStaleEpoch
	}
	next := now
	switch c.Kind {
	case Raise:
		next.Share = c.Share
	case Lower:
		next.Share = min(now.Share, c.Share)
	case Fence:
	default:
		return now, fmt.Errorf("change of kind %q: must be raise, lower or fence", c.Kind)
	}
	// A fence keeps another hand's share apart from ours: only a share that we wrote bears our mark.
	marked := now.Stamp.Share
	if c.Kind == Raise || c.Kind == Lower && next.Share == c.Share || now.Ours(c.Rollout) {
		marked = next.Share
	}
	next.Stamp = Stamp{
		Rollout: c.Rollout,
		Epoch:   max(c.Epoch, now.Stamp.Epoch),
		Seq:     max(c.Seq, now.Stamp.Seq) + 1,
		Share:   marked,
		Lane:    now.Stamp.Lane,
		Class:   now.Stamp.Class,
		Safe:    now.Stamp.Safe,
		By:      signature(c.By),
	}
	if c.Lane != "" {
		next.Stamp.Lane, next.Stamp.Class, next.Stamp.Safe = c.Lane, c.Class, c.Safe
	}
	return next.Signed(), nil
}

// signatureLimit is how much of a signature is kept, in characters: enough for
// who, how and a sentence.
const signatureLimit = 160

// signature is what somebody says of a write, on one line.
func signature(text string) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	runes := []rune(strings.Join(words, " "))
	if len(runes) > signatureLimit {
		return string(runes[:signatureLimit-1]) + "…"
	}
	return string(runes)
}
