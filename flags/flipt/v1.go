package flipt

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// v1 speaks to a Flipt v1 server. None of its writes is conditional.
type v1 struct{ client client }

func (v v1) namespace(key flags.Key) string {
	return "/api/v1/namespaces/" + url.PathEscape(key.Namespace)
}

func (v v1) flags(key flags.Key) string { return v.namespace(key) + "/flags" }

func (v v1) flag(key flags.Key) string { return v.flags(key) + "/" + url.PathEscape(key.Name) }

func (v v1) rollouts(key flags.Key) string { return v.flag(key) + "/rollouts" }

func (v v1) rollout(key flags.Key, rollout object) string {
	id, _ := rollout["id"].(string)
	return v.rollouts(key) + "/" + url.PathEscape(id)
}

func (v v1) read(ctx context.Context, key flags.Key) (found, error) {
	var flag object
	err := v.client.do(ctx, request{method: http.MethodGet, path: v.flag(key), needs: toRead}, &flag)
	if err != nil {
		return found{}, missing(err)
	}
	if flag["key"] != key.Name {
		return found{}, fmt.Errorf("flipt sent flag %v where %s belongs", flag["key"], key.Name)
	}
	rollouts, err := v.rolloutsOf(ctx, key)
	if err != nil {
		return found{}, err
	}
	return foundV1(flag, rollouts), nil
}

// rolloutsOf reads one page, which is enough: already the second rollout is foreign.
func (v v1) rolloutsOf(ctx context.Context, key flags.Key) ([]object, error) {
	var list struct{ Rules []object }
	err := v.client.do(ctx, request{method: http.MethodGet, path: v.rollouts(key), needs: toRead}, &list)
	return list.Rules, missing(err)
}

func foundV1(flag object, rollouts []object) found {
	f := found{flag: flag, rollouts: rollouts}
	f.setting.Revision = digest(flag, rollouts)
	f.setting.Stamp = stampOf(f)
	f.judge()
	return f
}

// stampOf puts together what a rollout's description and the flag's metadata say.
// The mark of a fence counts for the share only as long as the rollouts are the
// same that it was made over; its epoch and sequence count for ever. What they say
// of the lane is taken from the later one.
func stampOf(f found) flags.Stamp {
	meta, _ := f.flag["metadata"].(object)
	text, _ := meta[stampKey].(string)
	fence, _ := parseMark(text)
	if fence.over != "" && fence.over == digest(f.rollouts) {
		return fence.Stamp
	}
	var written mark
	if len(f.rollouts) == 1 {
		text, _ := f.rollouts[0]["description"].(string)
		written, _ = parseMark(text)
	}
	lane := written
	if fence.Seq > written.Seq {
		lane = fence
	}
	return flags.Stamp{
		Rollout: written.Rollout,
		Epoch:   max(written.Epoch, fence.Epoch),
		Seq:     max(written.Seq, fence.Seq),
		Share:   written.Share,
		Lane:    lane.Lane,
		Class:   lane.Class,
		Safe:    lane.Safe,
		By:      written.By,
	}
}

// write makes the flag what next says: the threshold first, so that a flag that
// was enabled falls from 100 % to the share and to nothing in between.
func (v v1) write(ctx context.Context, key flags.Key, now found, next flags.Setting, kind flags.Kind) error {
	if kind == flags.Fence {
		// Not a word of the rollout, whose percentage may have been lowered meanwhile.
		metadata(now.flag)[stampKey] = mark{Stamp: next.Stamp, over: digest(now.rollouts)}.String()
		return v.putFlag(ctx, key, now.flag)
	}
	if now.foreign != nil {
		rest, err := v.takeOff(ctx, key, now)
		if err != nil {
			return err
		}
		now.rollouts = rest
	}
	if err := v.putShare(ctx, key, now.rollouts, next); err != nil {
		return err
	}
	if enabled, _ := now.flag["enabled"].(bool); enabled {
		now.flag["enabled"] = false
		return v.putFlag(ctx, key, now.flag)
	}
	return nil
}

// putShare writes a share and our stamp, in one request, to the rollout or to a new one.
func (v v1) putShare(ctx context.Context, key flags.Key, rollouts []object, next flags.Setting) error {
	r := request{method: http.MethodPost, path: v.rollouts(key), needs: toWrite}
	body := object{"rank": 1, "description": mark{Stamp: next.Stamp}.String(), "threshold": threshold(nil, next.Share)}
	if len(rollouts) > 0 {
		r.method, r.path = http.MethodPut, v.rollout(key, rollouts[0])
		delete(body, "rank")
	}
	r.body = body
	err := v.client.do(ctx, r, &struct{}{})
	if refused(err, http.StatusNotFound, 0) || r.method == http.MethodPost && refused(err, http.StatusBadRequest, 0) {
		return fmt.Errorf("%w: %w", errMoved, err) // the rollout is gone, or there is one now
	}
	return err
}

// putFlag writes a flag without its rollouts. Flipt v1 takes these fields; it
// keeps the others itself.
func (v v1) putFlag(ctx context.Context, key flags.Key, flag object) error {
	body := object{}
	for _, field := range []string{"name", "description", "enabled", "metadata"} {
		if value, ok := flag[field]; ok {
			body[field] = value
		}
	}
	return missing(v.client.do(ctx, request{method: http.MethodPut, path: v.flag(key), needs: toWrite, body: body}, &struct{}{}))
}

// takeOff disables a flag and takes off the rules that are not ours, which it
// first writes into the metadata. A threshold is left, to be written to.
func (v v1) takeOff(ctx context.Context, key flags.Key, now found) (rest []object, err error) {
	if err := keepReplaced(metadata(now.flag), now.rollouts); err != nil {
		return nil, err
	}
	now.flag["enabled"] = false
	if err := v.putFlag(ctx, key, now.flag); err != nil {
		return nil, err
	}
	for _, rollout := range now.rollouts {
		if rollout["type"] == thresholdRollout && rest == nil {
			rest = []object{rollout}
			continue
		}
		r := request{method: http.MethodDelete, path: v.rollout(key, rollout), needs: toWrite}
		if err := v.client.do(ctx, r, &struct{}{}); err != nil && !refused(err, http.StatusNotFound, 0) {
			return nil, err
		}
	}
	return rest, nil
}

// create makes the namespace, the flag and its rollout where they are missing.
func (v v1) create(ctx context.Context, key flags.Key) error {
	post := func(path, needs string, body object) error {
		return v.client.do(ctx, request{method: http.MethodPost, path: path, needs: needs, body: body}, &struct{}{})
	}
	err := v.client.do(ctx, request{method: http.MethodGet, path: v.namespace(key), needs: toRead}, &struct{}{})
	if refused(err, http.StatusNotFound, codeNotFound) {
		err = post("/api/v1/namespaces", "create namespaces", object{"key": key.Namespace, "name": key.Namespace})
	}
	if err != nil {
		return err
	}
	err = v.client.do(ctx, request{method: http.MethodGet, path: v.flag(key), needs: toRead}, &struct{}{})
	if !refused(err, http.StatusNotFound, codeNotFound) {
		return err
	}
	err = post(v.flags(key), "create flags", object{
		"key": key.Name, "name": key.Name, "type": booleanFlag, "enabled": false,
	})
	if err != nil {
		return err
	}
	return post(v.rollouts(key), toWrite, object{"rank": 1, "threshold": threshold(nil, flags.None)})
}
