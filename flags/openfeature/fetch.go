package openfeature

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxSnapshot bounds what a store can make an application hold.
const maxSnapshot = 8 << 20

// reply is a store's answer: a snapshot, or that the one with this tag still holds.
type reply struct {
	same bool
	body []byte
	tag  string
}

// fetcher asks a store for its snapshot, unless it is still the one with the tag.
type fetcher func(ctx context.Context, tag string) (reply, error)

func fetchHTTP(address string, o Options) fetcher {
	return func(ctx context.Context, tag string) (reply, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return reply{}, err
		}
		request.Header.Set("Accept", "application/json")
		if o.Token != "" {
			request.Header.Set("Authorization", "Bearer "+o.Token)
		}
		if tag != "" {
			request.Header.Set("If-None-Match", tag)
		}
		response, err := o.Client.Do(request)
		if err != nil {
			return reply{}, err
		}
		defer func() { _ = response.Body.Close() }()
		return readReply(response, tag)
	}
}

func readReply(response *http.Response, tag string) (reply, error) {
	if response.StatusCode == http.StatusNotModified && tag != "" {
		return reply{same: true, tag: tag}, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxSnapshot+1))
	switch {
	case err != nil:
		return reply{}, fmt.Errorf("reading the snapshot: %w", err)
	case response.StatusCode != http.StatusOK:
		return reply{}, fmt.Errorf("the store answers %s: %.200s", response.Status, bytes.TrimSpace(body))
	case len(body) > maxSnapshot:
		return reply{}, errors.New("the snapshot is larger than 8 MiB")
	}
	return reply{body: body, tag: response.Header.Get("ETag")}, nil
}
