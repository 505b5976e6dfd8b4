package flipt

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// segmentResource is v2's name for a segment among its resources.
const segmentResource = "flipt.core.Segment"

func (v v2) namespaces(ctx context.Context) ([]string, error) {
	var answer struct{ Items []object }
	r := request{method: http.MethodGet, path: v.namespacesPath(), needs: "list namespaces", limit: listLimit}
	if err := v.client.do(ctx, r, &answer); err != nil {
		return nil, err
	}
	return keysOf(answer.Items)
}

// list reads all flags at once: v2 has no pages.
func (v v2) list(ctx context.Context, namespace string) ([]found, error) {
	var answer struct {
		Resources []struct{ Payload object }
	}
	r := request{
		method: http.MethodGet, path: v.resources(flags.Key{Namespace: namespace}) + "/" + flagResource,
		needs: "list flags", limit: listLimit,
	}
	if err := v.client.do(ctx, r, &answer); err != nil {
		return nil, err
	}
	list := make([]found, len(answer.Resources))
	for i, one := range answer.Resources {
		var err error
		if list[i], err = v.found(one.Payload); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// variants finds all in the flag but what its segments ask for.
func (v v2) variants(ctx context.Context, key flags.Key, f found) ([]Variant, []variantRule, error) {
	shown, err := objects(f.flag["variants"])
	if err != nil {
		return nil, nil, err
	}
	all := make([]Variant, len(shown))
	for i, one := range shown {
		all[i] = variantOf(one)
	}
	given, err := objects(f.flag["rules"])
	if err != nil {
		return nil, nil, err
	}
	rules := make([]variantRule, len(given))
	for i, one := range given {
		rules[i], err = ruleOf(one, "segments", func(part object) string {
			name, _ := part["variant"].(string)
			return name
		})
		if err != nil {
			return nil, nil, err
		}
		for _, segment := range rules[i].segments {
			var answer struct{ Resource struct{ Payload object } }
			r := request{
				method: http.MethodGet, path: v.resources(key) + "/" + segmentResource + "/" + url.PathEscape(segment),
				needs: "read segments",
			}
			if err := v.client.do(ctx, r, &answer); err != nil {
				return nil, nil, err
			}
			if err := rules[i].narrow(segment, answer.Resource.Payload); err != nil {
				return nil, nil, err
			}
		}
	}
	return all, rules, nil
}
