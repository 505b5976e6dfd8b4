package flipttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Hand is somebody else at a Flipt server, a real one or a stand-in: it speaks
// the management API without any of our care. Times out only by its contexts.
type Hand struct {
	URL     string
	Token   string
	Version Version
}

// Real returns the server of a generation that the environment names for tests, by
// FLIPT_TEST_V1 or FLIPT_TEST_V2 and FLIPT_TEST_TOKEN, and whether it names one.
// Packages that share a v2 server should be tested one after another (go test
// -p 1): each moves the branch under the others, which then have to try again.
func Real(version Version, getenv func(string) string) (Hand, bool) {
	address := getenv(fmt.Sprintf("FLIPT_TEST_V%d", version))
	return Hand{URL: address, Token: getenv("FLIPT_TEST_TOKEN"), Version: version}, address != ""
}

// Do sends a request with a JSON body, unless that is nil, and returns the
// status and the body of whatever answer comes.
func (h Hand) Do(ctx context.Context, method, path string, body any) (status int, answer []byte, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, fmt.Errorf("writing a request to flipt: %w", err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, h.URL+path, content)
	if err != nil {
		return 0, nil, fmt.Errorf("asking flipt: %w", err)
	}
	if h.Token != "" {
		request.Header.Set("Authorization", "Bearer "+h.Token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("asking flipt: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("reading flipt's answer: %w", err)
	}
	return response.StatusCode, answer, nil
}

// SetShare makes a threshold of this percentage and description a flag's first
// rollout; on v2 its only one. A v2 server gets back all else that it has of the flag.
func (h Hand) SetShare(ctx context.Context, key flags.Key, percentage float64, description string) error {
	if h.Version == V2 {
		return h.Edit(ctx, key, func(flag map[string]any) {
			flag["rollouts"] = []any{map[string]any{
				"type":        thresholdRollout,
				"description": description,
				"threshold":   map[string]any{"percentage": percentage, "value": true},
			}}
		})
	}
	var list struct {
		Rules []struct{ ID string }
	}
	if err := h.ask(ctx, http.MethodGet, h.FlagPath(key)+"/rollouts", nil, &list); err != nil {
		return err
	}
	if len(list.Rules) == 0 {
		return fmt.Errorf("flag %s has no rollout", key)
	}
	return h.ask(ctx, http.MethodPut, h.FlagPath(key)+"/rollouts/"+list.Rules[0].ID, map[string]any{
		"description": description,
		"threshold":   map[string]any{"percentage": percentage, "value": true},
	}, nil)
}

// Edit reads a flag, lets edit change it and writes it back, whatever has
// happened meanwhile. On v1 that is the flag without its rollouts.
func (h Hand) Edit(ctx context.Context, key flags.Key, edit func(flag map[string]any)) error {
	if h.Version == V1 {
		flag := map[string]any{}
		if err := h.ask(ctx, http.MethodGet, h.FlagPath(key), nil, &flag); err != nil {
			return err
		}
		edit(flag)
		return h.ask(ctx, http.MethodPut, h.FlagPath(key), map[string]any{
			"name": flag["name"], "description": flag["description"],
			"enabled": flag["enabled"], "metadata": flag["metadata"],
		}, nil)
	}
	var found struct {
		Resource struct{ Payload map[string]any }
	}
	if err := h.ask(ctx, http.MethodGet, h.FlagPath(key), nil, &found); err != nil {
		return err
	}
	edit(found.Resource.Payload)
	return h.ask(ctx, http.MethodPut, h.ResourcesPath(key.Namespace), map[string]any{
		"key": key.Name, "payload": found.Resource.Payload, "revision": "",
	}, nil)
}

// CreateNamespace makes a namespace.
func (h Hand) CreateNamespace(ctx context.Context, name string) error {
	return h.ask(ctx, http.MethodPost, h.NamespacesPath(), map[string]any{"key": name, "name": name}, nil)
}

// DeleteNamespace deletes a namespace, and before it those flags of it that are named.
func (h Hand) DeleteNamespace(ctx context.Context, name string, flagNames ...string) error {
	for _, one := range flagNames {
		if err := h.ask(ctx, http.MethodDelete, h.FlagPath(flags.Key{Namespace: name, Name: one}), nil, nil); err != nil {
			return err
		}
	}
	return h.ask(ctx, http.MethodDelete, h.NamespacesPath()+"/"+url.PathEscape(name), nil, nil)
}

// FlagPath is where a flag is managed.
func (h Hand) FlagPath(key flags.Key) string {
	if h.Version == V2 {
		return h.ResourcesPath(key.Namespace) + "/" + flagResource + "/" + url.PathEscape(key.Name)
	}
	return "/api/v1/namespaces/" + url.PathEscape(key.Namespace) + "/flags/" + url.PathEscape(key.Name)
}

// ResourcesPath is where v2 takes the flags of a namespace.
func (h Hand) ResourcesPath(namespace string) string {
	return h.NamespacesPath() + "/" + url.PathEscape(namespace) + "/resources"
}

// NamespacesPath is where namespaces are managed.
func (h Hand) NamespacesPath() string {
	if h.Version == V2 {
		return "/api/v2/environments/" + Environment + "/namespaces"
	}
	return "/api/v1/namespaces"
}

// ask is Do that takes anything but 200 for an error.
func (h Hand) ask(ctx context.Context, method, path string, body, answer any) error {
	status, text, err := h.Do(ctx, method, path, body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s %s: flipt answered %d: %s", method, path, status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: reading the answer: %w", method, path, err)
	}
	return nil
}
