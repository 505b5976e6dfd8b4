package flipt

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/flags"
)

var (
	// ErrUnconfirmed says that a write was accepted, and something else was found
	// when it was read back: it was lost, or another hand's write came after it.
	ErrUnconfirmed = errors.New("the write was accepted, but not found when read back")

	// ErrNotServed says that a write is stored, but Flipt still decides otherwise.
	ErrNotServed = errors.New("the write is stored, but not what is served")
)

// Write obeys a change, and returns the setting that it read back. A conditional
// change has certainly not been written after [flags.ErrChanged],
// [flags.ErrStaleEpoch], [flags.ErrForeign] or [flags.ErrNotFound]; after any
// other error it may have been, or may be yet.
//
// A conditional write that Flipt v2 refused because other flags have moved the
// branch is tried again until the deadline; a lowering to 0 and an unconditional
// fence are, whatever went wrong. Nothing else is ever sent twice.
func (s *Store) Write(ctx context.Context, key flags.Key, change flags.Change) (flags.Setting, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	if err := valid(key); err != nil {
		return flags.Setting{}, fmt.Errorf("writing flag %s: %w", key, err)
	}
	for attempt := 1; ; attempt++ {
		setting, err := s.write(ctx, key, change)
		if err == nil {
			return setting, nil
		}
		if !again(err, change) || pause(ctx, attempt) != nil {
			return setting, fmt.Errorf("writing flag %s: %w", key, err)
		}
	}
}

// again reports whether a write that failed may be tried once more.
func again(err error, change flags.Change) bool {
	if errors.Is(err, errMoved) {
		return true // refused, so nothing of it is under way
	}
	unconditional := kills(change) || change.Kind == flags.Fence && change.Revision == ""
	if !unconditional || errors.Is(err, ErrNotServed) {
		return false
	}
	for _, final := range []error{flags.ErrChanged, flags.ErrStaleEpoch, flags.ErrForeign, flags.ErrNotFound} {
		if errors.Is(err, final) {
			return false
		}
	}
	var r *refusal
	return !errors.As(err, &r) || r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests
}

// write reads the flag, decides, writes and looks.
func (s *Store) write(ctx context.Context, key flags.Key, change flags.Change) (flags.Setting, error) {
	now, err := s.read(ctx, key)
	if err != nil {
		return flags.Setting{}, err
	}
	next, err := change.Apply(now.setting)
	if err != nil {
		return now.setting, err
	}
	if err := now.admits(change); err != nil {
		return now.setting, err
	}
	server, err := s.detect(ctx)
	if err != nil {
		return now.setting, err
	}
	if err := server.write(ctx, key, now, next, change.Kind); err != nil {
		return now.setting, err
	}
	back, err := server.read(ctx, key)
	if err != nil {
		// Not wrapped: that the flag is gone now does not say that nothing was written.
		return now.setting, fmt.Errorf("%w: reading back: %s", ErrUnconfirmed, err.Error())
	}
	if !landed(change, next, back) {
		return back.setting, fmt.Errorf("%w: wrote %s, found %s", ErrUnconfirmed, told(next), told(back.setting))
	}
	return back.setting, s.served(ctx, key, back)
}

// landed reports whether what was read back is what a change made. A lowering to
// 0 has done its work wherever 0 is found; a fence, wherever its stamp is.
func landed(change flags.Change, next flags.Setting, back found) bool {
	switch {
	case back.foreign != nil:
		return false
	case kills(change):
		return back.setting.Share == flags.None
	case change.Kind == flags.Fence:
		return back.setting.Stamp == next.Stamp
	default:
		return back.setting.Stamp == next.Stamp && back.setting.Share == next.Share
	}
}

func told(s flags.Setting) string {
	return fmt.Sprintf("%v (stamp: %v)", s.Share, mark{Stamp: s.Stamp})
}
