package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// queries refuses parameters that are unknown or there twice.
func queries(query url.Values, allowed ...string) error {
	for name, values := range query {
		switch {
		case !slices.Contains(allowed, name) && len(allowed) == 0:
			return bad(name, "", "there is no such parameter here; there are none")
		case !slices.Contains(allowed, name):
			return bad(name, "", "there is no such parameter here; there are "+strings.Join(allowed, ", "))
		case len(values) > 1:
			return bad(name, "", "is there twice")
		}
	}
	return nil
}

// number reads a whole number from a query.
func number(query url.Values, name string, usual, low, high uint64) (uint64, error) {
	if !query.Has(name) {
		return usual, nil
	}
	text := query.Get(name)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, bad(name, text, fmt.Sprintf("must be a whole number from %d to %d", low, high))
	}
	return n, nil
}

// word reads a text from a query.
func word(query url.Values, name string) (string, error) {
	text := query.Get(name)
	if query.Has(name) && text == "" {
		return "", bad(name, "", "is empty; leave it out")
	}
	return text, sayable(name, text, nameLimit)
}

// choices reads words from a query, apart by commas, each of which must be known.
func choices[T ~string](query url.Values, name string, known []T) ([]T, error) {
	if !query.Has(name) {
		return nil, nil
	}
	var list []T
	for text := range strings.SplitSeq(query.Get(name), ",") {
		if !slices.Contains(known, T(text)) {
			return nil, bad(name, text, "must be some of "+joined(known, "and"))
		}
		list = append(list, T(text))
	}
	return list, nil
}

// span reads a duration from a query.
func span(query url.Values, name string, usual, low, high time.Duration) (time.Duration, error) {
	if !query.Has(name) {
		return usual, nil
	}
	return within(name, query.Get(name), low, high)
}

// within reads a duration such as 90s, 30m or 1h30m.
func within(field, text string, low, high time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < low || d > high {
		return 0, bad(field, text, fmt.Sprintf("must be a duration such as 90s, 30m or 2h, from %v to %v", low, high))
	}
	return d, nil
}
