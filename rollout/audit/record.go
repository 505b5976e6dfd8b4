package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Hash covers an event and all before it; it is empty before the first.
type Hash []byte

func (h Hash) String() string { return hex.EncodeToString(h) }

// MarshalText writes hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error {
	bytes, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("hash %q: must be hexadecimal digits", text)
	}
	*h = bytes
	return nil
}

// Record is an event as it is stored. The body is the event, as JSON, and never
// changes; what stands beside it repeats what is searched for.
type Record struct {
	Place   int64   `json:"place"`
	Rollout string  `json:"rollout"`
	Seq     int64   `json:"seq"`
	Kind    string  `json:"kind"`
	At      int64   `json:"at"` // milliseconds since 1970, in UTC
	Request *string `json:"request,omitempty"`
	Hash    Hash    `json:"hash"`
	Body    string  `json:"body"`
}

// Version is that of checkpoints and exports, and of how a hash is made.
const Version = 1

// Checkpoint is the hash at a place, which covers all up to there. Kept where
// nobody can change it, it holds the journal to what it was. The zero value is
// the beginning.
type Checkpoint struct {
	Version int       `json:"version"`
	Place   int64     `json:"place"`
	Hash    Hash      `json:"hash"`
	At      time.Time `json:"at,omitzero"` // of the event at the place
}

// String returns PLACE:HASH, all that a checkpoint needs.
func (c Checkpoint) String() string { return strconv.FormatInt(c.Place, 10) + ":" + c.Hash.String() }

// ParseCheckpoint reads PLACE:HASH.
func ParseCheckpoint(text string) (Checkpoint, error) {
	place, digits, ok := strings.Cut(text, ":")
	c := Checkpoint{Version: Version}
	var errPlace error
	c.Place, errPlace = strconv.ParseInt(place, 10, 64)
	errHash := c.Hash.UnmarshalText([]byte(digits))
	if !ok || errPlace != nil || errHash != nil || c.check() != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint %q: must be PLACE:HASH, with the %d hexadecimal digits of the hash", text, 2*sha256.Size)
	}
	return c, nil
}

// check refuses what is the checkpoint of no journal.
func (c *Checkpoint) check() error {
	switch {
	case c.Version != Version:
		return fmt.Errorf("checkpoint of version %d: this program knows version %d", c.Version, Version)
	case c.Place < 0, c.Place == 0 && len(c.Hash) != 0, c.Place > 0 && len(c.Hash) != sha256.Size:
		return fmt.Errorf("checkpoint %s: its place and hash are those of no journal", c)
	}
	return nil
}

// cover returns the hash of an event that follows.
func (c *Checkpoint) cover(body string) Hash {
	sum := sha256.New()
	sum.Write(c.Hash)
	sum.Write([]byte(body))
	return sum.Sum(nil)
}

// Next makes the record of an event that follows, and gives the event its place.
func (c *Checkpoint) Next(e rollout.Event) (Record, error) {
	e.Place = c.Place + 1
	body, err := json.Marshal(e)
	if err != nil {
		return Record{}, fmt.Errorf("encoding the event: %w", err)
	}
	r := repeat(&e)
	r.Body, r.Hash = string(body), c.cover(string(body))
	return r, nil
}

// Checkpoint returns the checkpoint at a record.
func (r *Record) Checkpoint() Checkpoint {
	return Checkpoint{Version: Version, Place: r.Place, Hash: r.Hash, At: time.UnixMilli(r.At).UTC()}
}

// repeat returns what a record repeats of an event.
func repeat(e *rollout.Event) Record {
	r := Record{Place: e.Place, Rollout: e.Rollout, Seq: int64(e.Seq), Kind: string(e.Kind), At: e.At.UnixMilli()}
	if e.Request != "" {
		r.Request = &e.Request
	}
	return r
}

// differs names the first column that does not say what the event says, with
// both; it is empty if there is none.
func (r *Record) differs(e *rollout.Event) string {
	said := repeat(e)
	for _, column := range []struct{ name, has, says string }{
		{"rollout", strconv.Quote(r.Rollout), strconv.Quote(said.Rollout)},
		{"seq", strconv.FormatInt(r.Seq, 10), strconv.FormatInt(said.Seq, 10)},
		{"kind", strconv.Quote(r.Kind), strconv.Quote(said.Kind)},
		{"at", strconv.FormatInt(r.At, 10), strconv.FormatInt(said.At, 10)},
		{"request", optional(r.Request), optional(said.Request)},
	} {
		if column.has != column.says {
			return fmt.Sprintf("the column %s says %s, and the event %s", column.name, column.has, column.says)
		}
	}
	return ""
}

// optional is a text, or none: an empty one is a text, too.
func optional(text *string) string {
	if text == nil {
		return "nothing"
	}
	return strconv.Quote(*text)
}

// Decode reads an event. What a newer program has added to it is passed over.
func Decode(body string) (rollout.Event, error) {
	var e rollout.Event
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return e, fmt.Errorf("decoding an event: %w", err)
	}
	return e, nil
}

// same reports whether two checkpoints of one place are of one history.
func same(a, b Hash) bool { return bytes.Equal(a, b) }
