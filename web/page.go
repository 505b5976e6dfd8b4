package web

import (
	"net/url"
	"slices"
	"strings"
)

// How much of a list is answered at once.
const (
	usualPart   = 100
	largestPart = 1000
)

// page is which part of a list is asked for: the first limit entries whose keys
// come after one.
type page struct {
	after string
	limit int
}

// afterLimit is how long a key may be that was answered as next: it is made of
// several names.
const afterLimit = 4 * nameLimit

// pageOf reads which part is asked for.
func pageOf(query url.Values) (page, error) {
	after := query.Get("after")
	if query.Has("after") && after == "" {
		return page{}, bad("after", "", "is empty; leave it out")
	}
	if err := sayable("after", after, afterLimit); err != nil {
		return page{}, err
	}
	limit, err := number(query, "limit", usualPart, 1, largestPart)
	return page{after: after, limit: int(limit)}, err
}

// cut returns a part of a list in the order of its keys, and the key to go on
// after; none at the end.
func cut[T any](list []T, p page, key func(*T) string) (part []T, next string) {
	part = slices.DeleteFunc(slices.Clone(list), func(entry T) bool { return key(&entry) <= p.after && p.after != "" })
	slices.SortFunc(part, func(a, b T) int { return strings.Compare(key(&a), key(&b)) })
	if len(part) > p.limit {
		part = part[:p.limit]
		next = key(&part[p.limit-1])
	}
	return append([]T{}, part...), next // an empty list is a list, too
}
