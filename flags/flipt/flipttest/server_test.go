package flipttest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// open starts a stand-in with a flag at a percentage.
func open(t *testing.T, version flipttest.Version, percentage int) (*flipttest.Server, flipttest.Hand, flags.Key) {
	t.Helper()
	server := start(t, version, "secret")
	hand := flipttest.Hand{URL: server.URL, Token: "secret", Version: version}
	return server, hand, flagAt(t, hand, percentage)
}

func get(ctx context.Context, t *testing.T, hand flipttest.Hand, path, etag string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, hand.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+hand.Token)
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestASnapshotCarriesTheShareButNeitherMetadataNorDescription(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		onServers(t, version, func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 0)
			if err := hand.SetShare(t.Context(), key, 25, "described-by-us"); err != nil {
				t.Fatal(err)
			}
			err := hand.Edit(t.Context(), key, func(flag map[string]any) {
				flag["metadata"] = map[string]any{"note": "noted-by-us"}
			})
			if err != nil {
				t.Fatal(err)
			}
			response := get(t.Context(), t, hand, "/internal/v1/evaluation/snapshot/namespace/"+key.Namespace, "")
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "by-us") || !strings.Contains(string(text), `25`) {
				t.Errorf("the snapshot is %s", text)
			}
			again := get(t.Context(), t, hand, "/internal/v1/evaluation/snapshot/namespace/"+key.Namespace, response.Header.Get("Etag"))
			if again.StatusCode != http.StatusNotModified {
				t.Errorf("asked again with the etag, it answered %d", again.StatusCode)
			}
		})
	}
}

func TestTheStreamOfV2SendsWhatIsAndWhatChanges(t *testing.T) {
	onServers(t, flipttest.V2, func(t *testing.T, hand flipttest.Hand) {
		key := flagAt(t, hand, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		path := "/client/v2/environments/default/namespaces/" + key.Namespace + "/stream"
		lines := bufio.NewScanner(get(ctx, t, hand, path, "").Body)
		next := func() (percentage float64, digest string) {
			t.Helper()
			if !lines.Scan() {
				t.Fatalf("the stream has ended: %v", lines.Err())
			}
			var message struct {
				Result struct {
					Digest string
					Flags  []struct {
						Rollouts []struct{ Threshold struct{ Percentage float64 } }
					}
				}
			}
			if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
				t.Fatal(err)
			}
			return message.Result.Flags[0].Rollouts[0].Threshold.Percentage, message.Result.Digest
		}
		before, was := next()
		flagAt(t, hand, 0) // in another namespace: not told here
		set(t, hand, key, 10)
		after, is := next()
		if before != 1 || after != 10 || was == is || len(is) != 40 {
			t.Errorf("the stream told %v %% (%s), then %v %% (%s)", before, was, after, is)
		}
		lines = bufio.NewScanner(get(ctx, t, hand, path+"?digest="+is, "").Body)
		set(t, hand, key, 50)
		if first, _ := next(); first != 50 {
			t.Errorf("a stream that knows 10 %% told %v %% first", first)
		}
	})
}

// The provider is a client that we did not write.
func TestTheContribOFREPProviderSeesTheFlag(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		onServers(t, version, func(t *testing.T, hand flipttest.Hand) {
			key := flagAt(t, hand, 25)
			api := isolated.NewAPI()
			provider := ofrep.NewProvider(hand.URL,
				ofrep.WithBearerToken(hand.Token), ofrep.WithHeader("X-Flipt-Namespace", key.Namespace))
			if err := api.SetProviderAndWait(t.Context(), provider); err != nil {
				t.Fatal(err)
			}
			client := api.NewClient()
			for task, want := range map[string]bool{"task-2": true, "user-123": true, "task-1": false, "task-3": false} {
				got, err := client.BooleanValueDetails(t.Context(), key.Name, !want, openfeature.NewEvaluationContext(task, nil))
				if err != nil || got.Value != want {
					t.Errorf("%s at 25 %%: got %v (%v), want %v", task, got.Value, err, want)
				}
			}
			got, err := client.BooleanValueDetails(t.Context(), "missing", true, openfeature.NewEvaluationContext("task-2", nil))
			if err == nil || !got.Value || got.ErrorCode != openfeature.FlagNotFoundCode {
				t.Errorf("a missing flag: got %+v, %v", got, err)
			}
		})
	}
}

func TestABatchSaysWhichFlagIsMissing(t *testing.T) {
	_, hand, key := open(t, flipttest.V1, 100)
	answer := ask(t, hand, http.StatusOK, http.MethodPost, "/evaluate/v1/batch", map[string]any{"requests": []any{
		map[string]any{"namespaceKey": key.Namespace, "flagKey": key.Name, "entityId": entity},
		map[string]any{"namespaceKey": key.Namespace, "flagKey": "missing", "entityId": entity},
	}})
	text, err := json.Marshal(answer["responses"])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"enabled":true`) || !strings.Contains(string(text), "NOT_FOUND_ERROR_EVALUATION_REASON") {
		t.Errorf("answered %s", text)
	}
}

func TestARequestWithoutTheTokenIsRefused(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		_, hand, key := open(t, version, 0)
		hand.Token = "another"
		if code := ask(t, hand, http.StatusUnauthorized, http.MethodGet, hand.FlagPath(key), nil)["code"]; code != 16.0 {
			t.Errorf("v%d: refused with code %v", version, code)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Run("a hook before a request may answer it, and nothing is done", func(t *testing.T) {
		server, hand, key := open(t, flipttest.V2, 0)
		server.Before(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		})
		if err := hand.SetShare(t.Context(), key, 10, ""); err == nil {
			t.Error("the write went through")
		}
		server.Before(nil)
		if on(t, hand, key, entity) {
			t.Error("the share has changed")
		}
	})
	t.Run("a hook after a request may drop the answer to what was done", func(t *testing.T) {
		server, hand, key := open(t, flipttest.V1, 0)
		server.After(func(r *http.Request) bool { return r.Method == http.MethodPut })
		if err := hand.SetShare(t.Context(), key, 10, ""); !errors.Is(err, io.EOF) {
			t.Errorf("the answer came: %v", err)
		}
		server.After(nil)
		if !on(t, hand, key, entity) {
			t.Error("the share has not changed")
		}
	})
	t.Run("a lost commit was answered, and is not there", func(t *testing.T) {
		server, hand, key := open(t, flipttest.V2, 0)
		server.LoseNextCommit()
		set(t, hand, key, 10)
		if on(t, hand, key, entity) {
			t.Error("the commit is there")
		}
		set(t, hand, key, 10)
		if !on(t, hand, key, entity) {
			t.Error("the next commit is lost too")
		}
	})
	t.Run("a commit on the git remote is lost to a write before the poll", func(t *testing.T) {
		server, hand, key := open(t, flipttest.V2, 10)
		server.PushToRemote(key, 0)
		set(t, hand, key, 50)
		server.Poll()
		if !on(t, hand, key, entity) {
			t.Error("the remote's commit is still there")
		}
		server.PushToRemote(key, 0)
		server.Poll()
		if on(t, hand, key, entity) {
			t.Error("the remote's commit was not fetched")
		}
	})
	t.Run("a cache answers evaluations from before", func(t *testing.T) {
		server, hand, key := open(t, flipttest.V1, 0)
		server.CacheEvaluations(2)
		server.PutShare(key, 10)
		for i, want := range []bool{false, false, true} {
			if got := on(t, hand, key, entity); got != want {
				t.Errorf("evaluation %d is %v", i, got)
			}
		}
		if text := string(server.Snapshot(key.Namespace)); !strings.Contains(text, `"percentage":10`) {
			t.Errorf("the snapshot is %s", text)
		}
	})
	t.Run("a closed server ends streams and hanging requests", func(t *testing.T) {
		server := start(t, flipttest.V2, "")
		hand := flipttest.Hand{URL: server.URL, Version: flipttest.V2}
		key := flags.Key{Namespace: "default", Name: "orders-db-endpoint"}
		ask(t, hand, http.StatusOK, http.MethodPost, hand.ResourcesPath(key.Namespace), resource(key, 0, ""))
		stream := get(t.Context(), t, hand, "/client/v2/environments/default/namespaces/default/stream", "")
		hanging := make(chan struct{})
		server.Before(func(_ http.ResponseWriter, r *http.Request) bool {
			close(hanging)
			<-r.Context().Done()
			return true
		})
		done := make(chan error)
		go func() {
			_, _, err := hand.Do(t.Context(), http.MethodGet, "/health", nil)
			done <- err
		}()
		<-hanging
		server.Close()
		if err := <-done; err == nil {
			t.Error("the hanging request was answered")
		}
		if _, err := io.Copy(io.Discard, stream.Body); err == nil {
			t.Error("the stream has ended as if it were whole")
		}
	})
}
