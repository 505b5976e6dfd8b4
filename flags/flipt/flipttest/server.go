package flipttest

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Version is a generation of Flipt.
type Version int

// The generations that differ on the wire.
const (
	V1 Version = 1 // SQL storage, no revisions
	V2 Version = 2 // git storage, environments, revisions
)

// Environment is the one environment of a v2 stand-in.
const Environment = "default"

// bodyLimit is more than any request of a flag needs.
const bodyLimit = 1 << 20

// Server is a Flipt stand-in that listens on a free port of 127.0.0.1.
type Server struct {
	URL string

	version Version
	token   string
	server  *http.Server
	served  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	state   *state
	head    string        // of the branch; v2 only
	commits int           // made so far
	changed chan struct{} // closed and renewed by each commit
	faults  faults
}

// NewServer starts a stand-in. If token is not empty, every request but those
// for health must bear it. Close ends the stand-in.
func NewServer(version Version, token string) (*Server, error) {
	if version != V1 && version != V2 {
		return nil, fmt.Errorf("starting a flipt stand-in: version %d: must be 1 or 2", version)
	}
	s := &Server{
		version: version,
		token:   token,
		state:   newState(),
		changed: make(chan struct{}),
	}
	s.advance()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("starting a flipt stand-in: %w", err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	s.served.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("flipttest: serving %s: %v", s.URL, err))
		}
	})
	return s, nil
}

// Close cuts every connection, ends the requests being served and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.server.Close()
	s.served.Wait()
}

// enter counts a request in, unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.served.Add(1)
	}
	return !s.closed
}

// handler is what stands around every route: hooks, the token, and a body that
// hook and route can both read.
func (s *Server) handler() http.Handler {
	routes := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			panic(http.ErrAbortHandler)
		}
		defer s.served.Done()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		if err != nil {
			refuse(w, invalid("reading the request: %v", err))
			return
		}
		rewind := func() { r.Body = io.NopCloser(bytes.NewReader(body)) }

		before, after := s.hooks()
		rewind()
		if before != nil && before(w, r) {
			return
		}
		rewind()
		answer := &answer{header: w.Header(), code: http.StatusOK}
		switch {
		case !s.admits(r):
			refuse(answer, problem{http.StatusUnauthorized, 16, "request was not authenticated"})
		case strings.HasSuffix(r.URL.Path, "/stream"):
			routes.ServeHTTP(w, r)
			return
		default:
			routes.ServeHTTP(answer, r)
		}
		rewind()
		if after != nil && after(r) {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer.code)
		_, _ = w.Write(answer.body.Bytes())
	})
}

func (s *Server) admits(r *http.Request) bool {
	return s.token == "" || r.URL.Path == "/health" || r.Header.Get("Authorization") == "Bearer "+s.token
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, missing("Not Found")) })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]string{"status": "SERVING"})
	})
	s.routeEvaluation(mux)
	s.routeSnapshots(mux)
	if s.version == V1 {
		s.routeV1(mux)
	} else {
		s.routeV2(mux)
	}
	return mux
}

// change makes one commit of what edit does to the state, or none if edit fails.
func (s *Server) change(edit func(*state) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commit(edit)
}

// commit is change for who holds the lock.
func (s *Server) commit(edit func(*state) error) error {
	earlier := s.state.clone()
	if err := edit(s.state); err != nil {
		s.state = earlier
		return err
	}
	if s.faults.loseNext {
		s.faults.loseNext = false
		s.state = earlier
	}
	s.advance()
	return nil
}

// advance moves the head and tells whoever watches.
func (s *Server) advance() {
	s.commits++
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d %d", s.head, s.commits, time.Now().UnixNano()))
	s.head = hex.EncodeToString(sum[:])
	close(s.changed)
	s.changed = make(chan struct{})
}

// answer keeps a response until the After hook has let it go.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// problem is an error as Flipt's gateway tells it: an HTTP status and a gRPC code.
type problem struct {
	status  int
	code    int
	message string
}

func (p problem) Error() string { return p.message }

func missing(format string, args ...any) error {
	return problem{http.StatusNotFound, 5, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return problem{http.StatusBadRequest, 3, fmt.Sprintf(format, args...)}
}

func refuse(w http.ResponseWriter, err error) {
	var p problem
	if !errors.As(err, &p) {
		p = problem{http.StatusInternalServerError, 13, err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Details []any  `json:"details"`
	}{p.code, p.message, []any{}})
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// decode reads a request's JSON; fields that it does not know are ignored, as by Flipt's gateway.
func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return invalid("reading the request: %v", err)
	}
	return nil
}
