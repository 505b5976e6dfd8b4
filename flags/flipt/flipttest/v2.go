package flipttest

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Types of the resources that a v2 server keeps.
const (
	flagResource    = "flipt.core.Flag"
	segmentResource = "flipt.core.Segment"
)

// routeV2 adds the management API of v2. A write may carry the revision that it
// was made on, and is refused if the branch has moved since.
func (s *Server) routeV2(mux *http.ServeMux) {
	const (
		spaces    = "/api/v2/environments/" + Environment + "/namespaces"
		resources = spaces + "/{namespace}/resources"
		one       = resources + "/" + flagResource + "/{flag}"
	)
	mux.HandleFunc("GET /api/v2/environments", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, json.RawMessage(`{"environments":[{"key":"default","name":"default","default":true,"configuration":{"ref":"main"}}]}`))
	})
	mux.HandleFunc("GET "+spaces, s.namespacesV2)
	mux.HandleFunc("GET "+spaces+"/{namespace}", s.namespaceV2)
	mux.HandleFunc("POST "+spaces, s.createNamespaceV2)
	mux.HandleFunc("DELETE "+spaces+"/{namespace}", s.deleteNamespaceV2)
	mux.HandleFunc("GET "+resources+"/"+flagResource, s.flagsV2)
	mux.HandleFunc("GET "+resources+"/"+segmentResource+"/{segment}", s.segmentV2)
	mux.HandleFunc("GET "+one, s.flagV2)
	mux.HandleFunc("POST "+resources, s.createResourceV2)
	mux.HandleFunc("PUT "+resources, s.updateResourceV2)
	mux.HandleFunc("DELETE "+one, s.deleteFlagV2)
}

// write commits an edit if the branch is still at the revision that the client
// names, then answers with what it returns and the new revision. Anything that
// is no revision, the empty text too, is taken for "whatever there is".
func (s *Server) write(w http.ResponseWriter, about, revision string, edit func(*state) (any, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isRevision(revision) && revision != s.head {
		refuse(w, problem{http.StatusConflict, 10, about + "expected head revision \"" + revision + "\" has changed (now \"" + s.head + "\")"})
		return
	}
	var body any
	err := s.commit(func(st *state) (err error) {
		body, err = edit(st)
		return err
	})
	if err != nil {
		refuse(w, err)
		return
	}
	s.faults.unfetched = nil // pushed over, whatever it was
	reply(w, withRevision{body, s.head})
}

func isRevision(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 40 && strings.Trim(text, "0") != ""
}

// withRevision puts the revision of the branch behind the fields of an answer.
type withRevision struct {
	body     any
	revision string
}

func (a withRevision) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(a.body)
	if err != nil {
		return nil, err
	}
	revision, err := json.Marshal(a.revision)
	if err != nil {
		return nil, err
	}
	open := strings.TrimSuffix(string(text), "}")
	if open != "{" {
		open += ","
	}
	return []byte(open + `"revision":` + string(revision) + "}"), nil
}

type namespaceV2 struct {
	Namespace struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	} `json:"namespace"`
}

func (n *namespace) v2() (shown namespaceV2) {
	shown.Namespace.Key, shown.Namespace.Name = n.key, n.name
	return shown
}

func (s *Server) namespaceV2(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.state.namespace(r.PathValue("namespace"))
	if err != nil {
		refuse(w, err)
		return
	}
	reply(w, withRevision{n.v2(), s.head})
}

// namespacesV2 lists all namespaces: v2 has no pages.
func (s *Server) namespacesV2(w http.ResponseWriter, _ *http.Request) {
	type item struct {
		Key         string `json:"key"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Protected   bool   `json:"protected"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []item{}
	for _, n := range s.state.namespaces {
		items = append(items, item{n.key, n.name, n.description, n.key == "default"})
	}
	reply(w, withRevision{map[string]any{"items": items}, s.head})
}

// flagsV2 lists the flags of a namespace; one that is missing has none.
func (s *Server) flagsV2(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []resourceOfV2{}
	if n, err := s.state.namespace(r.PathValue("namespace")); err == nil {
		for _, f := range n.flags {
			list = append(list, resourceOfV2{n.key, f.key, f.v2()})
		}
	}
	reply(w, withRevision{map[string]any{"resources": list}, s.head})
}

func (s *Server) createNamespaceV2(w http.ResponseWriter, r *http.Request) {
	var want struct{ Key, Name, Revision string }
	if err := decode(r, &want); err != nil {
		refuse(w, err)
		return
	}
	s.write(w, "", want.Revision, func(st *state) (any, error) {
		if _, err := st.namespace(want.Key); err == nil {
			return nil, problem{http.StatusConflict, 6, "create namespace \"" + want.Key + "\""}
		}
		now := st.now()
		n := &namespace{key: want.Key, name: want.Name, created: now, updated: now}
		st.namespaces = append(st.namespaces, n)
		return n.v2(), nil
	})
}

func (s *Server) deleteNamespaceV2(w http.ResponseWriter, r *http.Request) {
	s.write(w, "", r.URL.Query().Get("revision"), func(st *state) (any, error) {
		n, err := st.namespace(r.PathValue("namespace"))
		if err != nil {
			return nil, err
		}
		st.namespaces = slices.DeleteFunc(st.namespaces, func(one *namespace) bool { return one == n })
		return struct{}{}, nil
	})
}

func (s *Server) flagV2(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(r)
	n, f, err := s.state.flag(key)
	if err != nil {
		refuse(w, missing("getting flag %s: flag %s not found", key, key))
		return
	}
	reply(w, withRevision{resourceV2(n.key, f.key, f.v2()), s.head})
}

func (s *Server) createResourceV2(w http.ResponseWriter, r *http.Request) {
	s.putResource(w, r, "create", func(st *state, key flags.Key, want payload) error {
		n, found, _ := st.flag(key)
		switch {
		case n == nil:
			return missing("namespace %q not found", key.Namespace)
		case found != nil:
			return problem{http.StatusConflict, 6, ""}
		}
		f := &flag{created: st.now()}
		want.apply(f)
		n.flags = append(n.flags, f)
		return nil
	})
}

// updateResourceV2 replaces the whole flag: what the request leaves out is gone.
func (s *Server) updateResourceV2(w http.ResponseWriter, r *http.Request) {
	s.putResource(w, r, "update", func(st *state, key flags.Key, want payload) error {
		_, f, err := st.flag(key)
		if err != nil {
			return missing("getting flag %s: flag %s not found", key, key)
		}
		want.apply(f)
		f.updated = st.now()
		return nil
	})
}

func (s *Server) putResource(w http.ResponseWriter, r *http.Request, verb string, put func(*state, flags.Key, payload) error) {
	var want struct {
		Key      string
		Payload  payload
		Revision string
	}
	if err := decode(r, &want); err != nil {
		refuse(w, err)
		return
	}
	if want.Payload.Resource == segmentResource {
		s.putSegmentV2(w, r, want.Payload, want.Revision)
		return
	}
	key := flags.Key{Namespace: r.PathValue("namespace"), Name: want.Key}
	about := `resource type "` + flagResource + `": `
	s.write(w, about, want.Revision, func(st *state) (any, error) {
		want.Payload.Key = key.Name
		err := put(st, key, want.Payload)
		if p := (problem{}); errors.As(err, &p) {
			p.message = strings.TrimSuffix(about+verb+` resource "`+flagResource+"/"+key.String()+`": `+p.message, ": ")
			return nil, p
		}
		return resourceV2(key.Namespace, key.Name, want.Payload.filled()), err
	})
}

func (s *Server) deleteFlagV2(w http.ResponseWriter, r *http.Request) {
	s.write(w, "", r.URL.Query().Get("revision"), func(st *state) (any, error) {
		n, f, err := st.flag(keyOf(r))
		if err != nil {
			return nil, err
		}
		n.flags = slices.DeleteFunc(n.flags, func(one *flag) bool { return one == f })
		return struct{}{}, nil
	})
}
