package flags

import "errors"

// Setting is what a store holds for one flag.
type Setting struct {
	Share Share `json:"share"`

	// Revision changes with each write of this flag, ours or anybody's, and with
	// nothing else. It is opaque: compare it, never order it.
	Revision string `json:"revision"`

	// Stamp is the mark of our last write; zero if the flag bears none.
	Stamp Stamp `json:"stamp"`

	// Author is who wrote last, where the store or the stamp of that write knows it.
	Author string `json:"author,omitempty"`
}

// Ours reports whether the present share is what the rollout itself wrote last.
// Another hand that changes the percentage leaves our stamp behind, but not the
// share in it.
func (s Setting) Ours(rollout string) bool {
	return s.Stamp.Rollout == rollout && s.Stamp.Share == s.Share
}

// Signed returns the setting with whoever signed the write of its share as the
// author, for a store that knows of no other.
func (s Setting) Signed() Setting {
	s.Author = ""
	if s.Stamp.Share == s.Share {
		s.Author = s.Stamp.By
	}
	return s
}

// Stamp is our mark on a flag, written in the same write as the share. It says
// what a person needs to know of the flag when nothing is left but the store.
type Stamp struct {
	Rollout string `json:"rollout"`
	Epoch   int64  `json:"epoch"` // the highest epoch of a leader that wrote the flag
	Seq     int64  `json:"seq"`   // rises with each write of ours; the store counts it
	Share   Share  `json:"share"`

	Lane  string `json:"lane,omitempty"`
	Class string `json:"class,omitempty"` // reads or writes
	Safe  Share  `json:"safe,omitempty"`  // where the lane is to be when in doubt

	// By is who made the write, and how and why, if it was not the controller.
	By string `json:"by,omitempty"`
}

// Kind says what a change is for; a store treats each differently.
type Kind string

// The kinds of a change.
const (
	// Raise writes a higher share. It is refused with [ErrChanged] unless the flag
	// still has Change.Revision, and with [ErrStaleEpoch] if a later leader has
	// stamped the flag.
	Raise Kind = "raise"

	// Lower writes the lesser of Change.Share and the present share; it never
	// raises, and always makes a new revision. To 0 it is unconditional: it needs
	// no revision and no epoch. To more than 0 it is refused like a raise.
	Lower Kind = "lower"

	// Fence writes the present share anew, whatever it is, and so makes a new
	// revision: a raise that is still in flight can no longer land. With a
	// Change.Revision it is conditional on it, otherwise unconditional.
	Fence Kind = "fence"
)

// Change is a write of one flag. Share is ignored by a [Fence].
type Change struct {
	Kind     Kind
	Share    Share
	Revision string
	Rollout  string
	Epoch    int64

	// Seq is the highest sequence that the writer knows of; the stamp gets a
	// higher one even where the flag's own stamp was wiped.
	Seq int64

	// Lane, Class and Safe go into the stamp. A change that names no lane leaves
	// there what the stamp says of it.
	Lane, Class string
	Safe        Share

	// By is who makes the change, and how and why, such as "break-glass ann@host:
	// pool exhausted"; empty for the controller. It is kept on one line, and short.
	By string
}

var (
	// ErrChanged says that the flag no longer has the expected revision; nothing was written.
	ErrChanged = errors.New("the flag has changed since it was read")

	// ErrStaleEpoch says that a later leader has stamped the flag; nothing was written.
	ErrStaleEpoch = errors.New("a later leader has taken over the flag")

	// ErrNotFound says that the store has no such flag.
	ErrNotFound = errors.New("no such flag")

	// ErrForeign says that the flag is not a plain boolean threshold: it has rules
	// that we would have to guess about.
	ErrForeign = errors.New("the flag has rules that are not ours")
)
