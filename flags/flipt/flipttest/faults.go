package flipttest

import (
	"encoding/json"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Hooks around a request. Both run outside the server's lock, so they may use
// the server, and both can read the request's body.
type (
	// BeforeHook sees a request that nothing has been done about. If it returns
	// true, it has answered itself. To hang, it waits for the request's context;
	// to cut the connection, it panics with [http.ErrAbortHandler].
	BeforeHook func(http.ResponseWriter, *http.Request) bool

	// AfterHook sees a request that has been obeyed but not answered. If it
	// returns true, the answer is lost and the connection cut. Streams have none.
	AfterHook func(*http.Request) bool
)

// faults are what a server does wrong on purpose.
type faults struct {
	before   BeforeHook
	after    AfterHook
	loseNext bool

	unfetched []func(*state) error // commits on the git remote that the server has not seen

	cached    *state // what evaluations go by while cachedFor is above 0
	cachedFor int
}

// Before sets the hook ahead of every request; nil takes it away.
func (s *Server) Before(hook BeforeHook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.before = hook
}

// After sets the hook between every request's effect and its answer; nil takes it away.
func (s *Server) After(hook AfterHook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.after = hook
}

func (s *Server) hooks() (BeforeHook, AfterHook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.before, s.faults.after
}

// LoseNextCommit makes the next write answer as if it were done, and be gone: so
// looks a commit that a forced push to the git remote has dropped.
func (s *Server) LoseNextCommit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.loseNext = true
}

// CacheEvaluations lets the next n evaluations answer from what is kept now, as
// Flipt v1 does whose cache is on: it is not emptied when a rollout changes.
func (s *Server) CacheEvaluations(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.cached, s.faults.cachedFor = s.state.clone(), n
}

// evaluated is the state that an evaluation goes by. The caller holds the lock.
func (s *Server) evaluated() *state {
	if s.faults.cachedFor == 0 {
		return s.state
	}
	s.faults.cachedFor--
	return s.faults.cached
}

// PutShare sets a flag's threshold as another hand at Flipt would, whose text
// replaces the rollout's description. It panics if there is no such flag.
func (s *Server) PutShare(key flags.Key, percentage float32) {
	if err := s.change(putShare(key, percentage)); err != nil {
		panic("flipttest: " + err.Error())
	}
}

// PushToRemote commits a share to the git remote behind a v2 server. The server
// sees it at its next [Server.Poll]; a write before that pushes over it, and it
// is lost without anybody being told.
func (s *Server) PushToRemote(key flags.Key, percentage float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.unfetched = append(s.faults.unfetched, putShare(key, percentage))
}

// Poll fetches from the git remote, as v2 does every 30 seconds.
func (s *Server) Poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	unfetched := s.faults.unfetched
	s.faults.unfetched = nil
	for _, edit := range unfetched {
		if err := s.commit(edit); err != nil {
			panic("flipttest: " + err.Error())
		}
	}
}

func putShare(key flags.Key, percentage float32) func(*state) error {
	return func(st *state) error {
		n, f, err := st.flag(key)
		if err != nil {
			return err
		}
		if len(f.rollouts) == 0 {
			f.rollouts = []*rollout{{id: newID(), created: st.now()}}
		}
		first := f.rollouts[0]
		first.segment = nil
		first.threshold = &threshold{Percentage: percentage, Value: true}
		first.description = "by hand"
		first.updated = st.now()
		n.writes++
		return nil
	}
}

// Head returns the revision of a v2 server's branch.
func (s *Server) Head() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// Snapshot returns what clients of a namespace are sent, or nil where there is nothing.
func (s *Server) Snapshot(namespace string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, err := s.snapshot(namespace)
	if err != nil {
		return nil
	}
	text, err := json.Marshal(snapshot)
	if err != nil {
		panic("flipttest: " + err.Error())
	}
	return text
}
