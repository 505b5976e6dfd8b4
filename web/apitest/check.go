package apitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// At is where the API serves its description.
const At = "/api/v1/openapi.yaml"

// Description is what a server says of its API.
type Description struct {
	*openapi3.T

	router routers.Router
}

// Load returns the description that a server serves.
func Load(ctx context.Context, h http.Handler) (*Description, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, At, http.NoBody))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", At, err)
	}
	seal(doc)
	router, err := legacy.NewRouter(doc) // it validates the document, too
	if err != nil {
		return nil, fmt.Errorf("%s: %w", At, err)
	}
	return &Description{T: doc, router: router}, nil
}

// seal lets no object have fields that its schema does not name, unless the
// schema itself says that it may: so a field cannot come without its description.
func seal(doc *openapi3.T) {
	for _, schema := range doc.Components.Schemas {
		s := schema.Value
		if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			s.AdditionalProperties.Has = new(bool)
		}
	}
}

// Checker is a server that is held to its description.
type Checker struct {
	t       testing.TB
	handler http.Handler
	router  routers.Router

	mu   sync.Mutex
	seen map[string]map[bool]bool   // by operation: whether it was obeyed, whether it was not
	good map[[sha256.Size]byte]bool // what was checked already; compiling its schema takes milliseconds
}

// Check returns a server that fails the test where it differs from its description.
func (d *Description) Check(t testing.TB, h http.Handler) *Checker {
	return &Checker{t: t, handler: h, router: d.router, seen: map[string]map[bool]bool{}, good: map[[sha256.Size]byte]bool{}}
}

// Exercised returns for each operation, by its id, whether it was obeyed at
// least once, and whether it was refused with a problem at least once.
func (c *Checker) Exercised(operation string) (obeyed, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[operation][true], c.seen[operation][false]
}

// ServeHTTP serves a request and checks it and its answer.
func (c *Checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil { // let the server find out by itself
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{err}))
	}
	tee := &tee{ResponseWriter: w}
	c.handler.ServeHTTP(tee, r)
	if !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		return // of another protocol, or nowhere
	}
	asked := r.Clone(r.Context())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	c.check(asked, body, tee)
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func (c *Checker) check(r *http.Request, body []byte, answer *tee) {
	c.t.Helper()
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		if answer.status != http.StatusNotFound && answer.status != http.StatusMethodNotAllowed {
			c.t.Errorf("%s %s answers %d and is not described: %v", r.Method, r.URL.Path, answer.status, err)
		}
		return
	}
	obeyed := answer.status < http.StatusBadRequest
	c.note(route.Operation.OperationID, obeyed)
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true},
	}
	if obeyed && c.first(r.Method, r.URL.String(), r.Header.Get("Content-Type"), string(body)) { // what is refused may be anything
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			c.t.Errorf("%s %s is obeyed and not described: %v", r.Method, r.URL, err)
		}
	}
	if c.first(route.Operation.OperationID, strconv.Itoa(answer.status), answer.Header().Get("Content-Type"), answer.body.String()) {
		c.checkAnswer(r.Context(), input, answer)
	}
}

// first reports whether something is checked for the first time.
func (c *Checker) first(parts ...string) bool {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.good[sum]
	c.good[sum] = true
	return !was
}

func (c *Checker) note(operation string, obeyed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[operation] == nil {
		c.seen[operation] = map[bool]bool{}
	}
	c.seen[operation][obeyed] = true
}

func (c *Checker) checkAnswer(ctx context.Context, input *openapi3filter.RequestValidationInput, answer *tee) {
	c.t.Helper()
	options := *input.Options
	kind, _, _ := mime.ParseMediaType(answer.Header().Get("Content-Type"))
	json := kind == "application/json" || kind == "application/problem+json"
	options.ExcludeResponseBody = !json || input.Request.Method == http.MethodHead // a stream's end is not waited for
	err := openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answer.status, Header: answer.Header(),
		Body: io.NopCloser(bytes.NewReader(answer.body.Bytes())), Options: &options,
	})
	if err != nil {
		c.t.Errorf("%s %s answers %d otherwise than described: %v", input.Request.Method, input.Request.URL, answer.status, err)
	}
	if json || kind == "" {
		return
	}
	described := input.Route.Operation.Responses.Status(answer.status)
	if described == nil || described.Value.Content.Get(kind) == nil {
		c.t.Errorf("%s %s answers %s, which is not described", input.Request.Method, input.Request.URL, kind)
	}
}

// tee keeps what is answered.
type tee struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

// Unwrap lets deadlines and flushes through.
func (t *tee) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tee) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(text []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	t.body.Write(text)
	return t.ResponseWriter.Write(text)
}
