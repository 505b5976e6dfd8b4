package flipt

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Listed is a flag as a list shows it.
type Listed struct {
	Key flags.Key

	// Setting is what [Store.Read] would give, but for the revision: there is none,
	// and who wants to write reads first. The share is 100 % where it cannot be known.
	Setting flags.Setting

	// Rollout is whose flag it is by any mark of ours, also one that no longer
	// counts for the share because another hand has written over it.
	Rollout string

	// Foreign says why the share cannot be known; it is [flags.ErrForeign], or nil.
	Foreign error
}

// Namespaces returns the namespaces that the token may list.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	server, err := s.detect(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	names, err := server.namespaces(ctx)
	if err != nil {
		s.doubt(err)
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	return names, nil
}

// List returns every boolean flag of a namespace, and every other one that bears
// a mark of ours, in the order in which Flipt has them. A namespace that is
// missing has none.
func (s *Store) List(ctx context.Context, namespace string) ([]Listed, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	server, err := s.detect(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing flags of %s: %w", namespace, err)
	}
	all, err := server.list(ctx, namespace)
	if err != nil {
		s.doubt(err)
		return nil, fmt.Errorf("listing flags of %s: %w", namespace, err)
	}
	var listed []Listed
	for _, f := range all {
		name, _ := f.flag["key"].(string)
		one := Listed{
			Key: flags.Key{Namespace: namespace, Name: name}, Setting: f.setting, Foreign: f.foreign, Rollout: f.rollout(),
		}
		one.Setting.Revision = ""
		if f.flag["type"] == booleanFlag || one.Rollout != "" {
			listed = append(listed, one)
		}
	}
	return listed, nil
}

// doubt forgets the server's generation where an error may come from asking the other one.
func (s *Store) doubt(err error) {
	if refused(err, http.StatusNotFound, 0) {
		s.forget()
	}
}

// rollout returns whose flag it is by any mark that is left of ours.
func (f found) rollout() string {
	meta, _ := f.flag["metadata"].(object)
	text, _ := meta[stampKey].(string)
	left, _ := parseMark(text)
	return cmp.Or(f.setting.Stamp.Rollout, left.Rollout)
}
