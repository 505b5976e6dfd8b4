package client

import "fmt"

// pages reads a list page by page, up to the one after which there is none. A
// server that does not go on would be read for ever: that is an error.
func pages[T any, K int | string](read func(after K) ([]T, K, error)) ([]T, error) {
	var all []T
	var after, end K
	for {
		page, next, err := read(after)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		switch {
		case next == end:
			return all, nil
		case next <= after:
			return nil, fmt.Errorf("reading a list: after %v it goes on after %v; is that a Cutover server?", after, next)
		}
		after = next
	}
}
