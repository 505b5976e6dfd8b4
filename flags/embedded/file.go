package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/google/renameio/v2"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// format is raised when an older program would misread the file.
const format = 1

type document struct {
	Format int     `json:"format"`
	Writes int64   `json:"writes"`
	Flags  []entry `json:"flags"`
}

type entry struct {
	flags.Key
	flags.Setting
}

// made is what the lock file says once there is a flag file.
const made = "The flag file beside this one was made. If it is gone, flags were lost.\n"

// load reads the file, or makes the first one. The lock file remembers that
// there was one.
func load(path string, lock *os.File) (*contents, error) {
	if err := sweep(path); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return start(path, lock)
	}
	if err != nil {
		return nil, err
	}
	now, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf(
			"%w; repair it by hand or restore a copy, do not delete it: tasks keep their last share, but new ones would forget it",
			err)
	}
	return now, mark(lock)
}

func start(path string, lock *os.File) (*contents, error) {
	info, err := lock.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > 0 {
		return nil, fmt.Errorf(
			"%w, but it was there before; restore a copy, or delete %s to start without flags", os.ErrNotExist, lock.Name())
	}
	first := &contents{settings: map[flags.Key]flags.Setting{}, replaced: make(chan struct{})}
	if err := replace(path, first.encode()); err != nil {
		return nil, err
	}
	if err := flush(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return first, mark(lock)
}

func mark(lock *os.File) error {
	if _, err := lock.WriteAt([]byte(made), 0); err != nil {
		return fmt.Errorf("marking %s: %w", lock.Name(), err)
	}
	return lock.Sync()
}

// sweep removes the unfinished files of a process that was killed while it wrote.
func sweep(path string) error {
	folder, name := filepath.Split(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	unfinished := regexp.MustCompile(`^\.` + regexp.QuoteMeta(name) + `[0-9]+$`)
	for _, e := range entries {
		if !unfinished.MatchString(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// replace puts data in the place of the file at path: all of it or nothing.
func replace(path string, data []byte) error {
	// The unfinished file lies beside the old one: a rename works within one file system only.
	folder := filepath.Dir(path)
	return renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(folder), renameio.WithExistingPermissions())
}

// flush makes a rename in a folder outlast a power cut.
func flush(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("flushing folder %s: %w", folder, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("flushing folder %s: %w", folder, err)
	}
	return nil
}

func (c *contents) encode() []byte {
	doc := document{Format: format, Writes: c.writes, Flags: []entry{}}
	for _, key := range inOrder(c.settings) {
		doc.Flags = append(doc.Flags, entry{key, c.settings[key]})
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(data, '\n')
}

// decode refuses whatever it would not have written itself, spaces aside.
func decode(data []byte) (*contents, error) {
	var doc document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if doc.Format != format {
		return nil, fmt.Errorf("its format is %d: this program knows %d only", doc.Format, format)
	}
	if doc.Writes < 0 {
		return nil, fmt.Errorf("it is damaged: writes is %d: must be 0 or more", doc.Writes)
	}
	c := &contents{
		writes:   doc.Writes,
		settings: make(map[flags.Key]flags.Setting, len(doc.Flags)),
		replaced: make(chan struct{}),
	}
	for i, e := range doc.Flags {
		if err := c.admit(e); err != nil {
			return nil, fmt.Errorf("it is damaged: flag %d (%s): %w", i+1, e.Key, err)
		}
	}
	if !sameJSON(data, c.encode()) {
		return nil, errors.New("it is damaged: a field is missing, doubled or not in its place")
	}
	return c, nil
}

func (c *contents) admit(e entry) error {
	if err := validKey(e.Key); err != nil {
		return err
	}
	if _, ok := c.settings[e.Key]; ok {
		return errors.New("it is there twice")
	}
	for name, share := range map[string]flags.Share{"share": e.Share, "stamp.share": e.Stamp.Share, "stamp.safe": e.Stamp.Safe} {
		if !share.Valid() {
			return fmt.Errorf("%s %d: must be from 0 to 100", name, int(share))
		}
	}
	revision, err := strconv.ParseInt(e.Revision, 10, 64)
	if err != nil || revision < 1 || revision > c.writes {
		return fmt.Errorf("revision %q: must be a write of this file, from 1 to %d", e.Revision, c.writes)
	}
	c.settings[e.Key] = e.Setting
	return nil
}

func validKey(key flags.Key) error {
	if key.Namespace == "" || key.Name == "" {
		return fmt.Errorf("flag key %q: namespace and name must not be empty", key)
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
