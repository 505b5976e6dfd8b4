package flipt

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// flagResource is v2's name for a flag among its resources.
const flagResource = "flipt.core.Flag"

// v2 speaks to a Flipt v2 server about the flags of one environment.
type v2 struct {
	client      client
	environment string
}

func (v v2) namespacesPath() string {
	return "/api/v2/environments/" + url.PathEscape(v.environment) + "/namespaces"
}

func (v v2) resources(key flags.Key) string {
	return v.namespacesPath() + "/" + url.PathEscape(key.Namespace) + "/resources"
}

func (v v2) read(ctx context.Context, key flags.Key) (found, error) {
	var answer struct {
		Resource struct{ Payload object }
		Revision string
	}
	err := v.client.do(ctx, request{
		method: http.MethodGet,
		path:   v.resources(key) + "/" + flagResource + "/" + url.PathEscape(key.Name),
		needs:  toRead,
	}, &answer)
	if err != nil {
		return found{}, missing(err)
	}
	payload := answer.Resource.Payload
	if payload["key"] != key.Name {
		return found{}, fmt.Errorf("flipt sent flag %v where %s belongs", payload["key"], key.Name)
	}
	f, err := v.found(payload)
	f.head = answer.Revision
	return f, err
}

// found says what a flag's payload means.
func (v v2) found(payload object) (found, error) {
	rollouts, err := objects(payload["rollouts"])
	if err != nil {
		return found{}, err
	}
	f := found{flag: payload, rollouts: rollouts, environment: v.environment}
	f.setting.Revision = digest(payload)
	if meta, ok := payload["metadata"].(object); ok {
		text, _ := meta[stampKey].(string)
		m, _ := parseMark(text)
		f.setting.Stamp = m.Stamp
	}
	f.judge()
	return f, nil
}

// write replaces the flag, rules, stamp and all, if the branch is still where it was read.
func (v v2) write(ctx context.Context, key flags.Key, now found, next flags.Setting, kind flags.Kind) error {
	if !isRevision(now.head) {
		// Flipt would take it for none, and overwrite whatever is there.
		return fmt.Errorf("flipt gave %q for the revision of the branch, and it must be 40 hexadecimal digits: nothing was written", now.head)
	}
	meta := metadata(now.flag)
	if !now.stays(kind) {
		rollout := object{"type": thresholdRollout, "description": ""}
		switch {
		case now.foreign != nil:
			if err := keepReplaced(meta, now.rollouts); err != nil {
				return err
			}
		case len(now.rollouts) == 1:
			rollout = now.rollouts[0]
		}
		rollout["threshold"] = threshold(rollout, next.Share)
		now.rollouts = []object{rollout}
	}
	if kind != flags.Fence {
		now.flag["enabled"] = false
	}
	meta[stampKey] = mark{Stamp: next.Stamp}.String()
	now.flag["@type"] = flagResource
	now.flag["rollouts"] = now.rollouts
	err := v.client.do(ctx, request{
		method: http.MethodPut,
		path:   v.resources(key),
		needs:  toWrite,
		body:   object{"key": key.Name, "payload": now.flag, "revision": now.head},
	}, &struct{}{})
	if refused(err, http.StatusConflict, codeAborted) {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return missing(err)
}

// isRevision reports whether Flipt takes a text for a revision.
func isRevision(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 40 && strings.Trim(text, "0") != ""
}

// create makes the namespace and the flag where they are missing. Without a
// revision it is safe: what is there is refused, not overwritten.
func (v v2) create(ctx context.Context, key flags.Key) error {
	err := v.client.do(ctx, request{
		method: http.MethodPost,
		path:   v.namespacesPath(),
		needs:  "create namespaces",
		body:   object{"key": key.Namespace, "name": key.Namespace},
	}, &struct{}{})
	if err != nil && !refused(err, http.StatusConflict, codeAlreadyExists) {
		return err
	}
	err = v.client.do(ctx, request{
		method: http.MethodPost,
		path:   v.resources(key),
		needs:  "create flags",
		body: object{"key": key.Name, "payload": object{
			"@type": flagResource, "key": key.Name, "name": key.Name, "type": booleanFlag, "enabled": false,
			"rollouts": []object{{"type": thresholdRollout, "threshold": threshold(nil, flags.None)}},
		}},
	}, &struct{}{})
	if refused(err, http.StatusConflict, codeAlreadyExists) {
		return nil
	}
	return err
}
