package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Store is a flag file that is held open. Open makes one.
type Store struct {
	path    string
	lock    *os.File
	writing chan struct{} // holds one token while somebody writes; unlike a mutex, a waiter can give up
	closed  bool          // guarded by writing
	now     atomic.Pointer[contents]
}

// contents is what the file says. It never changes, so that reading waits for no
// disk: a write puts another in its place.
type contents struct {
	writes   int64
	settings map[flags.Key]flags.Setting
	replaced chan struct{} // closed when there is a newer one
}

// Open opens the flag file at path and keeps every other process out of it until
// [Store.Close]. A file that was never there is made, without flags. One that is
// damaged, or that was there and is gone, is an error: to start without flags
// would be to forget what tasks do now.
func Open(path string) (*Store, error) {
	s, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("opening flag file %s: %w", path, err)
	}
	return s, nil
}

func open(path string) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(path + ".lock")
	if err != nil {
		return nil, err
	}
	now, err := load(path, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Store{path: path, lock: lock, writing: make(chan struct{}, 1)}
	s.now.Store(now)
	return s, nil
}

// resolve follows symbolic links, so that a file has one lock whatever it is called.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	return target, err
}

// Close lets another process have the file. It waits for a write under way;
// later ones are refused, and reading goes on as before.
func (s *Store) Close() error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("closing flag file %s: %w", s.path, err)
	}
	return nil
}

// Read returns the setting of a flag, or [flags.ErrNotFound].
func (s *Store) Read(_ context.Context, key flags.Key) (flags.Setting, error) {
	setting, ok := s.now.Load().settings[key]
	if !ok {
		return flags.Setting{}, fmt.Errorf("reading flag %s: %w", key, flags.ErrNotFound)
	}
	return setting, nil
}

// All returns the keys in order, and every flag's setting.
func (s *Store) All() ([]flags.Key, map[flags.Key]flags.Setting) {
	settings := s.now.Load().settings
	return inOrder(settings), maps.Clone(settings)
}

// Changed returns a channel that is closed by the next write. Take it before
// reading: then no write between the two is missed.
func (s *Store) Changed() <-chan struct{} { return s.now.Load().replaced }

// Write obeys a change and returns the setting after it, once that is on disk.
// An error of the disk leaves open whether the change will outlast a power cut;
// what the store reads afterwards is what the file holds.
func (s *Store) Write(ctx context.Context, key flags.Key, change flags.Change) (flags.Setting, error) {
	setting, err := s.update(ctx, key, change.Apply)
	if err != nil {
		return setting, fmt.Errorf("writing flag %s: %w", key, err)
	}
	return setting, nil
}

// Put sets a share by a person's hand: no condition, no stamp, a new revision.
func (s *Store) Put(ctx context.Context, key flags.Key, share flags.Share, author string) (flags.Setting, error) {
	setting, err := s.update(ctx, key, func(now flags.Setting) (flags.Setting, error) {
		if !share.Valid() {
			return now, fmt.Errorf("share %d: must be from 0 to 100", int(share))
		}
		now.Share, now.Author = share, author
		return now, nil
	})
	if err != nil {
		return setting, fmt.Errorf("putting flag %s: %w", key, err)
	}
	return setting, nil
}

// Create adds a flag at 0 %; one that is there already stays as it is.
func (s *Store) Create(ctx context.Context, key flags.Key) error {
	if err := s.create(ctx, key); err != nil {
		return fmt.Errorf("creating flag %s: %w", key, err)
	}
	return nil
}

func (s *Store) create(ctx context.Context, key flags.Key) error {
	if err := validKey(key); err != nil {
		return err
	}
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, ok := s.now.Load().settings[key]; ok {
		return nil
	}
	_, err = s.put(key, flags.Setting{})
	return err
}

func (s *Store) update(
	ctx context.Context, key flags.Key, change func(flags.Setting) (flags.Setting, error),
) (flags.Setting, error) {
	done, err := s.begin(ctx)
	if err != nil {
		return flags.Setting{}, err
	}
	defer done()
	now, ok := s.now.Load().settings[key]
	if !ok {
		return flags.Setting{}, flags.ErrNotFound
	}
	next, err := change(now)
	if err != nil {
		return now, err
	}
	return s.put(key, next)
}

// begin waits for its turn to write and returns how to end it.
func (s *Store) begin(ctx context.Context) (done func(), err error) {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for an earlier write: %w", context.Cause(ctx))
	}
	done = func() { <-s.writing }
	switch {
	case s.closed:
		err = os.ErrClosed
	case ctx.Err() != nil: // whoever has given up must not be surprised by a write
		err = context.Cause(ctx)
	default:
		return done, nil
	}
	done()
	return nil, err
}

// put gives a setting the next revision and writes it down, for whoever has begun.
func (s *Store) put(key flags.Key, setting flags.Setting) (flags.Setting, error) {
	now := s.now.Load()
	next := &contents{
		writes:   now.writes + 1,
		settings: maps.Clone(now.settings),
		replaced: make(chan struct{}),
	}
	setting.Revision = strconv.FormatInt(next.writes, 10)
	next.settings[key] = setting
	if err := replace(s.path, next.encode()); err != nil {
		return now.settings[key], err
	}
	// From here on the file says it, whether or not the folder's flush succeeds.
	err := flush(filepath.Dir(s.path))
	s.now.Store(next)
	close(now.replaced)
	return setting, err
}

func inOrder(settings map[flags.Key]flags.Setting) []flags.Key {
	return slices.SortedFunc(maps.Keys(settings), func(a, b flags.Key) int {
		return strings.Compare(a.String(), b.String())
	})
}
