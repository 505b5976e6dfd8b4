package flipttest

import (
	"net/http"
	"slices"
)

type segmentOfV1 struct {
	Key          string `json:"key"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	CreatedAt    moment `json:"createdAt"`
	UpdatedAt    moment `json:"updatedAt"`
	Constraints  []any  `json:"constraints"`
	MatchType    string `json:"matchType"`
	NamespaceKey string `json:"namespaceKey"`
}

func (g *segment) v1(namespace string) segmentOfV1 {
	return segmentOfV1{
		g.key, g.name, g.description, moment(g.created), moment(g.updated), g.constraints, "ALL_MATCH_TYPE", namespace,
	}
}

func (s *state) createSegmentV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	var want struct{ Key, Name, Description string }
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	now := s.now()
	made := segment{want.Key, want.Name, want.Description, []any{}, now, now}
	n.segments = append(n.segments, made)
	n.writes++
	return made.v1(n.key), nil
}

func (s *state) segmentV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	found, err := n.segment(r.PathValue("segment"))
	if err != nil {
		return nil, err
	}
	return found.v1(n.key), nil
}

func (s *state) createConstraintV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	found, err := n.segment(r.PathValue("segment"))
	if err != nil {
		return nil, err
	}
	want := map[string]any{}
	if err := decode(r, &want); err != nil {
		return nil, err
	}
	want["id"] = newID()
	found.constraints = append(slices.Clip(found.constraints), want)
	n.writes++
	return want, nil
}

// segmentPayload is a segment as v2 shows it.
type segmentPayload struct {
	Resource    string `json:"@type"`
	Key         string `json:"key"`
	MatchType   string `json:"matchType"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Constraints []any  `json:"constraints"`
}

func (g *segment) v2() segmentPayload {
	return segmentPayload{segmentResource, g.key, "ALL_MATCH_TYPE", g.name, g.description, g.constraints}
}

// putSegmentV2 makes a segment, or replaces it.
func (s *Server) putSegmentV2(w http.ResponseWriter, r *http.Request, want payload, revision string) {
	s.write(w, "", revision, func(st *state) (any, error) {
		n, err := st.namespace(r.PathValue("namespace"))
		if err != nil {
			return nil, err
		}
		now := st.now()
		made := segment{want.Key, want.Name, want.Description, append([]any{}, want.Constraints...), now, now}
		n.segments = slices.DeleteFunc(n.segments, func(one segment) bool { return one.key == want.Key })
		n.segments = append(n.segments, made)
		return resourceV2(n.key, made.key, made.v2()), nil
	})
}

func (s *Server) segmentV2(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.state.namespace(r.PathValue("namespace"))
	if err != nil {
		refuse(w, err)
		return
	}
	found, err := n.segment(r.PathValue("segment"))
	if err != nil {
		refuse(w, err)
		return
	}
	reply(w, withRevision{resourceV2(n.key, found.key, found.v2()), s.head})
}
