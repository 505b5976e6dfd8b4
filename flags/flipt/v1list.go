package flipt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/flags"
)

const (
	pageSize  = 100
	pageLimit = 1000 // a list that is longer than so many pages has no end
	askers    = 8    // how many flags of a list are asked for at once
)

// pages reads all pages of a list.
func (v v1) pages(ctx context.Context, path, field string) (all []object, err error) {
	token := ""
	for range pageLimit {
		var answer map[string]any
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if token != "" {
			query.Set("pageToken", token)
		}
		r := request{method: http.MethodGet, path: path + "?" + query.Encode(), needs: "list " + field}
		if err := v.client.do(ctx, r, &answer); err != nil {
			return nil, err
		}
		page, err := objects(answer[field])
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if token, _ = answer["nextPageToken"].(string); token == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the list of %s does not end after %d pages", field, pageLimit)
}

func (v v1) namespaces(ctx context.Context) ([]string, error) {
	all, err := v.pages(ctx, "/api/v1/namespaces", "namespaces")
	if err != nil {
		return nil, err
	}
	return keysOf(all)
}

func keysOf(all []object) ([]string, error) {
	keys := make([]string, len(all))
	for i, one := range all {
		keys[i], _ = one["key"].(string)
		if keys[i] == "" {
			return nil, errors.New("flipt sent a namespace without a key")
		}
	}
	return keys, nil
}

// list asks for the rollouts of each boolean flag: the list of flags has none.
func (v v1) list(ctx context.Context, namespace string) ([]found, error) {
	all, err := v.pages(ctx, v.flags(flags.Key{Namespace: namespace}), "flags")
	if refused(err, http.StatusNotFound, codeNotFound) {
		return nil, nil // there is no such namespace
	}
	if err != nil {
		return nil, err
	}
	list := make([]found, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for i, flag := range all {
		name, _ := flag["key"].(string)
		if flag["type"] != booleanFlag {
			list[i] = foundV1(flag, nil)
			continue
		}
		group.Go(func() error {
			rollouts, err := v.rolloutsOf(ctx, flags.Key{Namespace: namespace, Name: name})
			if errors.Is(err, flags.ErrNotFound) {
				return nil // deleted meanwhile; what is left here is no flag of a type
			}
			list[i] = foundV1(flag, rollouts)
			return err
		})
	}
	return list, group.Wait()
}

// variants reads a flag's rules; it shows its variants itself, and a rule names them by id.
func (v v1) variants(ctx context.Context, key flags.Key, f found) ([]Variant, []variantRule, error) {
	shown, err := objects(f.flag["variants"])
	if err != nil {
		return nil, nil, err
	}
	all, names := make([]Variant, len(shown)), map[string]string{}
	for i, one := range shown {
		id, _ := one["id"].(string)
		all[i] = variantOf(one)
		names[id] = all[i].Key
	}
	given, err := v.pages(ctx, v.flag(key)+"/rules", "rules")
	if err != nil {
		return nil, nil, missing(err)
	}
	rules := make([]variantRule, len(given))
	for i, one := range given {
		rules[i], err = ruleOf(one, "segmentKeys", func(part object) string {
			id, _ := part["variantId"].(string)
			return names[id]
		})
		if err != nil {
			return nil, nil, err
		}
		if single, _ := one["segmentKey"].(string); single != "" {
			rules[i].segments = append(rules[i].segments, single)
		}
		for _, segment := range rules[i].segments {
			var shown object
			r := request{method: http.MethodGet, path: v.namespace(key) + "/segments/" + url.PathEscape(segment), needs: "read segments"}
			if err := v.client.do(ctx, r, &shown); err != nil {
				return nil, nil, err
			}
			if err := rules[i].narrow(segment, shown); err != nil {
				return nil, nil, err
			}
		}
	}
	return all, rules, nil
}
