package flipt

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Generation returns whether the server is a Flipt v1 or v2.
func (s *Store) Generation(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	server, err := s.detect(ctx)
	if err != nil {
		return 0, err
	}
	if _, ok := server.(v1); ok {
		return 1, nil
	}
	return 2, nil
}

// Verify evaluates tasks on both sides of a flag's threshold, as a write does
// afterwards. It fails if Flipt decides otherwise than the flag says, or does not
// let us ask.
func (s *Store) Verify(ctx context.Context, key flags.Key) error {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	now, err := s.read(ctx, key)
	if err == nil {
		err = now.foreign
	}
	if err == nil {
		err = s.served(ctx, key, now)
	}
	if err != nil {
		return fmt.Errorf("evaluating flag %s: %w", key, err)
	}
	return nil
}

// MayWrite reports by its error whether the token may not write flags in the
// namespace of this one. It asks to change flags that do not exist: whoever may
// is told so, whoever may not is refused before. Nothing is written.
func (s *Store) MayWrite(ctx context.Context, key flags.Key) error {
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	now, err := s.read(ctx, key)
	if err != nil {
		return fmt.Errorf("reading flag %s: %w", key, err)
	}
	server, err := s.detect(ctx)
	if err != nil {
		return fmt.Errorf("trying to write in %s: %w", key.Namespace, err)
	}
	absent := flags.Key{Namespace: key.Namespace, Name: "cutover-probe-" + strings.ToLower(rand.Text())}
	if err := server.mayWrite(ctx, absent, now); err != nil {
		return fmt.Errorf("trying to write in %s: %w", key.Namespace, err)
	}
	return nil
}

// tried takes "there is no such flag" for what it is here: a yes.
func tried(err error) error {
	if refused(err, http.StatusNotFound, codeNotFound) {
		return nil
	}
	return err
}

func (v v1) mayWrite(ctx context.Context, absent flags.Key, _ found) error {
	const nobody = "00000000-0000-0000-0000-000000000000"
	for _, r := range []request{
		{method: http.MethodPut, path: v.flag(absent), needs: "update flags", body: object{"name": absent.Name}},
		{
			method: http.MethodPut, path: v.rollouts(absent) + "/" + nobody, needs: "update rollouts",
			body: object{"threshold": threshold(nil, flags.None)},
		},
	} {
		if err := tried(v.client.do(ctx, r, &struct{}{})); err != nil {
			return err
		}
	}
	return nil
}

// mayWrite sends a whole and harmless flag, on a revision, lest it does harm where it is obeyed.
func (v v2) mayWrite(ctx context.Context, absent flags.Key, beside found) error {
	if !isRevision(beside.head) {
		return fmt.Errorf("flipt gave %q for the revision of the branch, and it must be 40 hexadecimal digits", beside.head)
	}
	return tried(v.client.do(ctx, request{
		method: http.MethodPut,
		path:   v.resources(absent),
		needs:  "update flags",
		body: object{"key": absent.Name, "revision": beside.head, "payload": object{
			"@type": flagResource, "key": absent.Name, "name": absent.Name, "type": booleanFlag, "enabled": false,
			"rollouts": []object{{"type": thresholdRollout, "threshold": threshold(nil, flags.None)}},
		}},
	}, &struct{}{}))
}
