package flipttest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// routeSnapshots adds what clients that evaluate by themselves fetch.
func (s *Server) routeSnapshots(mux *http.ServeMux) {
	mux.HandleFunc("GET /internal/v1/evaluation/snapshot/namespace/{namespace}", s.serveSnapshot)
	if s.version == V2 {
		const client = "/client/v2/environments/" + Environment + "/namespaces/{namespace}"
		mux.HandleFunc("GET "+client+"/snapshot", s.serveSnapshot)
		mux.HandleFunc("GET "+client+"/stream", s.serveStream)
	}
}

type snapshot struct {
	Namespace struct {
		Key string `json:"key"`
	} `json:"namespace"`
	Flags  []snapshotFlag `json:"flags"`
	Digest string         `json:"digest,omitempty"`

	etag string
}

type snapshotFlag struct {
	Key         string            `json:"key"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Enabled     bool              `json:"enabled"`
	Type        string            `json:"type"`
	CreatedAt   moment            `json:"createdAt"`
	UpdatedAt   moment            `json:"updatedAt"`
	Rules       []any             `json:"rules"`
	Rollouts    []snapshotRollout `json:"rollouts"`
}

type snapshotRollout struct {
	Type      string           `json:"type"`
	Rank      int              `json:"rank"`
	Segment   *snapshotSegment `json:"segment,omitempty"`
	Threshold *threshold       `json:"threshold,omitempty"`
}

type snapshotSegment struct {
	Value           bool           `json:"value"`
	SegmentOperator string         `json:"segmentOperator"`
	Segments        []snapshotRule `json:"segments"`
}

type snapshotRule struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MatchType   string `json:"matchType"`
	Constraints []any  `json:"constraints"`
}

// snapshot is what evaluation needs of a namespace: neither metadata nor a
// rollout's description. The etag of v1 changes with every write, that of v2
// with what is written. The caller holds the lock.
func (s *Server) snapshot(namespace string) (snapshot, error) {
	var shown snapshot
	n, err := s.state.namespace(namespace)
	if err != nil {
		return shown, err
	}
	if s.version == V2 && len(n.flags) == 0 {
		return shown, missing("namespace %q not found", namespace)
	}
	shown.Namespace.Key = n.key
	shown.Flags = make([]snapshotFlag, 0, len(n.flags))
	for _, f := range n.flags {
		shown.Flags = append(shown.Flags, f.snapshot())
	}
	if s.version == V1 {
		for i, f := range n.flags {
			one := &shown.Flags[i]
			one.Name, one.Description = f.name, f.description
			one.CreatedAt, one.UpdatedAt = moment(f.created), moment(f.updated)
		}
		shown.etag = digest(n.key + strconv.Itoa(n.writes))
		return shown, nil
	}
	shown.Digest = digest(shown)
	shown.etag = shown.Digest
	for i := range shown.Flags {
		shown.Flags[i].CreatedAt, shown.Flags[i].UpdatedAt = moment(s.state.latest), moment(s.state.latest)
	}
	return shown, nil
}

func (f *flag) snapshot() snapshotFlag {
	shown := snapshotFlag{Key: f.key, Enabled: f.enabled, Type: f.kind, Rules: []any{}, Rollouts: []snapshotRollout{}}
	for i, r := range f.rollouts {
		one := snapshotRollout{Type: thresholdRollout, Rank: i + 1, Threshold: r.threshold}
		if c := r.segment; c != nil {
			one.Type = segmentRollout
			one.Segment = &snapshotSegment{Value: c.value, SegmentOperator: anyOfSegments}
			for _, key := range c.keys {
				rule := snapshotRule{Key: key, MatchType: "ALL_SEGMENT_MATCH_TYPE", Constraints: []any{}}
				one.Segment.Segments = append(one.Segment.Segments, rule)
			}
		}
		shown.Rollouts = append(shown.Rollouts, one)
	}
	return shown
}

func (s *Server) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, err := s.snapshot(r.PathValue("namespace"))
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Etag", shown.etag)
	if r.Header.Get("If-None-Match") == shown.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	reply(w, shown)
}

// serveStream sends the snapshot as it is, then again whenever it has changed,
// one JSON text a line. With ?digest= the client says which one it has already.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	known := r.URL.Query().Get("digest")
	started := false
	for {
		s.mu.Lock()
		shown, err := s.snapshot(r.PathValue("namespace"))
		changed := s.changed
		s.mu.Unlock()
		if err != nil && !started {
			refuse(w, err)
			return
		}
		if !started {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			started = true
		}
		if err == nil && shown.Digest != known {
			known = shown.Digest
			if json.NewEncoder(w).Encode(map[string]snapshot{"result": shown}) != nil {
				return
			}
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
