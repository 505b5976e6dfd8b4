package ofrep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Flags are the flags that are served: those of [flags.Memory] or of the
// embedded store. What All returns is the caller's to keep.
type Flags interface {
	Read(ctx context.Context, key flags.Key) (flags.Setting, error)
	All() ([]flags.Key, map[flags.Key]flags.Setting)
}

// environment is the only one there is.
const environment = "default"

type handler struct{ flags Flags }

// Handler serves flags at the paths named above.
func Handler(served Flags) http.Handler {
	h := handler{served}
	mux := http.NewServeMux()
	mux.HandleFunc("/ofrep/v1/evaluate/flags/{key}", only(h.evaluateOne, http.MethodPost))
	mux.HandleFunc("/ofrep/v1/evaluate/flags", only(h.evaluateAll, http.MethodPost))
	snapshot := only(h.snapshot, http.MethodGet, http.MethodHead)
	mux.HandleFunc("/internal/v1/evaluation/snapshot/namespace/{namespace}", snapshot)
	mux.HandleFunc("/client/v2/environments/{environment}/namespaces/{namespace}/snapshot", snapshot)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, "there is nothing at "+r.URL.Path)
	})
	return mux
}

func only(next http.HandlerFunc, methods ...string) http.HandlerFunc {
	allowed := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(methods, r.Method) {
			next(w, r)
			return
		}
		w.Header().Set("Allow", allowed)
		problem(w, http.StatusMethodNotAllowed, fmt.Sprintf("method %s: must be %s", r.Method, allowed))
	}
}

// in returns the namespace's flags in the order of their names.
func (h handler) in(namespace string) ([]flags.Key, map[flags.Key]flags.Setting) {
	keys, settings := h.flags.All()
	keys = slices.DeleteFunc(keys, func(k flags.Key) bool { return k.Namespace != namespace })
	return keys, settings
}

// answerTagged answers 304 to whoever has the same answer already.
func answerTagged(w http.ResponseWriter, r *http.Request, tag string, body any) {
	w.Header().Set("ETag", `"`+tag+`"`)
	w.Header().Set("Cache-Control", "no-cache") // may be kept, but must be asked for anew
	if hasTag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	answer(w, http.StatusOK, "application/json", body)
}

// hasTag also takes a tag without quotes, as Flipt's clients may send it.
func hasTag(headers []string, tag string) bool {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == "*" || strings.Trim(candidate, `"`) == tag {
				return true
			}
		}
	}
	return false
}

// digest is as long as Flipt's.
func digest(of any) string {
	sum := sha256.Sum256(encode(of))
	return hex.EncodeToString(sum[:20])
}

func problem(w http.ResponseWriter, status int, detail string) {
	answer(w, status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
}

func answer(w http.ResponseWriter, status int, kind string, body any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // whoever asked has gone: there is nobody to tell
}

func encode(body any) []byte {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // our own types: text, numbers, booleans
	}
	return append(data, '\n')
}
