package flipttest

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func newID() string { return uuid.NewString() }

// routeV1 adds the management API of v1. It keeps no revisions: the last write wins.
func (s *Server) routeV1(mux *http.ServeMux) {
	const (
		spaces = "/api/v1/namespaces"
		all    = spaces + "/{namespace}/flags"
		one    = all + "/{flag}"
	)
	read := func(pattern string, answer func(*state, *http.Request) (any, error)) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			answerWith(w)(answer(s.state, r))
		})
	}
	write := func(method, pattern string, obey func(*state, *http.Request) (any, error)) {
		mux.HandleFunc(method+" "+pattern, func(w http.ResponseWriter, r *http.Request) {
			var body any
			err := s.change(func(st *state) (err error) {
				body, err = obey(st, r)
				return err
			})
			answerWith(w)(body, err)
		})
	}
	read("/meta/info", func(*state, *http.Request) (any, error) {
		return map[string]any{"version": "1.61.1", "isRelease": true}, nil
	})
	read(spaces, (*state).namespacesV1)
	read(spaces+"/{namespace}", (*state).namespaceV1)
	write("POST", spaces, (*state).createNamespaceV1)
	write("DELETE", spaces+"/{namespace}", (*state).deleteNamespaceV1)
	write("POST", spaces+"/{namespace}/segments", (*state).createSegmentV1)
	read(spaces+"/{namespace}/segments/{segment}", (*state).segmentV1)
	write("POST", spaces+"/{namespace}/segments/{segment}/constraints", (*state).createConstraintV1)
	read(all, (*state).flagsV1)
	read(one, (*state).flagV1)
	write("POST", all, (*state).createFlagV1)
	write("PUT", one, (*state).updateFlagV1)
	write("DELETE", one, (*state).deleteFlagV1)
	read(one+"/rollouts", (*state).rolloutsV1)
	write("POST", one+"/rollouts", (*state).createRolloutV1)
	write("PUT", one+"/rollouts/{id}", (*state).updateRolloutV1)
	write("DELETE", one+"/rollouts/{id}", (*state).deleteRolloutV1)
	write("POST", one+"/variants", (*state).createVariantV1)
	read(one+"/rules", (*state).rulesV1)
	write("POST", one+"/rules", (*state).createRuleV1)
	write("POST", one+"/rules/{rule}/distributions", (*state).createDistributionV1)
	write("PUT", one+"/rules/{rule}/distributions/{id}", (*state).updateDistributionV1)
}

func answerWith(w http.ResponseWriter) func(any, error) {
	return func(body any, err error) {
		if err != nil {
			refuse(w, err)
			return
		}
		reply(w, body)
	}
}

func keyOf(r *http.Request) flags.Key {
	return flags.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("flag")}
}

type namespaceV1 struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Protected   bool   `json:"protected"`
	CreatedAt   moment `json:"createdAt"`
	UpdatedAt   moment `json:"updatedAt"`
}

func (n *namespace) v1() namespaceV1 {
	return namespaceV1{n.key, n.name, n.description, false, moment(n.created), moment(n.updated)}
}

func (s *state) namespacesV1(r *http.Request) (any, error) {
	list := make([]namespaceV1, 0, len(s.namespaces))
	for _, n := range s.namespaces {
		list = append(list, n.v1())
	}
	list, at, err := paged(r, list)
	return struct {
		Namespaces []namespaceV1 `json:"namespaces"`
		page
	}{list, at}, err
}

func (s *state) namespaceV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	return n.v1(), nil
}

func (s *state) createNamespaceV1(r *http.Request) (any, error) {
	var want struct{ Key, Name, Description string }
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	if _, err := s.namespace(want.Key); err == nil {
		return nil, invalid("namespace %q is not unique", want.Key)
	}
	now := s.now()
	n := &namespace{key: want.Key, name: want.Name, description: want.Description, created: now, updated: now}
	s.namespaces = append(s.namespaces, n)
	return n.v1(), nil
}

func (s *state) deleteNamespaceV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	if len(n.flags) > 0 {
		return nil, invalid("namespace %q cannot be deleted; flags must be deleted first", n.key)
	}
	s.namespaces = slices.DeleteFunc(s.namespaces, func(one *namespace) bool { return one == n })
	return struct{}{}, nil
}

type flagV1 struct {
	Key          string         `json:"key"`
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	Enabled      bool           `json:"enabled"`
	CreatedAt    moment         `json:"createdAt"`
	UpdatedAt    moment         `json:"updatedAt"`
	Variants     []any          `json:"variants"`
	NamespaceKey string         `json:"namespaceKey"`
	Type         string         `json:"type"`
	Metadata     map[string]any `json:"metadata,omitempty"`
}

func (f *flag) v1(namespace string) flagV1 {
	return flagV1{
		f.key, f.name, f.description, f.enabled, moment(f.created), moment(f.updated),
		f.variants, namespace, f.kind, f.metadata,
	}
}

func (s *state) flagV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	return f.v1(n.key), nil
}

func (s *state) createFlagV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	want := struct {
		Key, Name, Description, Type string
		Enabled                      bool
		Metadata                     map[string]any
	}{Type: variantFlag}
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	if _, _, err := s.flag(flags.Key{Namespace: n.key, Name: want.Key}); err == nil {
		return nil, invalid("flag \"%s/%s\" is not unique", n.key, want.Key)
	}
	now := s.now()
	f := &flag{
		key: want.Key, name: want.Name, description: want.Description, kind: want.Type, enabled: want.Enabled,
		metadata: want.Metadata, variants: []any{}, rules: []any{}, created: now, updated: now,
	}
	n.flags = append(n.flags, f)
	n.writes++
	return f.v1(n.key), nil
}

// updateFlagV1 replaces what it is given and what it is not, metadata aside: that stays if it is not named.
func (s *state) updateFlagV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	var want struct {
		Name, Description string
		Enabled           bool
		Metadata          map[string]any
	}
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	f.name, f.description, f.enabled = want.Name, want.Description, want.Enabled
	if want.Metadata != nil {
		f.metadata = want.Metadata
	}
	f.updated = s.now()
	n.writes++
	return f.v1(n.key), nil
}

func (s *state) deleteFlagV1(r *http.Request) (any, error) {
	n, f, err := s.flag(keyOf(r))
	if err != nil {
		return nil, err
	}
	n.flags = slices.DeleteFunc(n.flags, func(one *flag) bool { return one == f })
	n.writes++
	return struct{}{}, nil
}
