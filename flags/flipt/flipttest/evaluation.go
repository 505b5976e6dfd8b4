package flipttest

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// routeEvaluation adds what both generations evaluate by: their own API and OFREP.
func (s *Server) routeEvaluation(mux *http.ServeMux) {
	mux.HandleFunc("POST /evaluate/v1/boolean", s.boolean)
	mux.HandleFunc("POST /evaluate/v1/batch", s.batch)
	mux.HandleFunc("POST /ofrep/v1/evaluate/flags/{flag}", s.ofrep)
	mux.HandleFunc("POST /ofrep/v1/evaluate/flags", s.ofrepBulk)
}

// question is a request to evaluate one flag for one entity.
type question struct {
	NamespaceKey, FlagKey, EntityID, RequestID string
}

type verdict struct {
	Enabled     bool      `json:"enabled"`
	Reason      string    `json:"reason"`
	RequestID   string    `json:"requestId"`
	Millis      float64   `json:"requestDurationMillis"`
	Timestamp   time.Time `json:"timestamp"`
	FlagKey     string    `json:"flagKey"`
	SegmentKeys []string  `json:"segmentKeys"`
}

// evaluate answers a question. The caller holds the lock.
func (s *Server) evaluate(q question) (verdict, error) {
	if q.NamespaceKey == "" {
		q.NamespaceKey = "default"
	}
	_, f, err := s.evaluated().flag(flags.Key{Namespace: q.NamespaceKey, Name: q.FlagKey})
	if err != nil {
		return verdict{}, err
	}
	if f.kind != booleanFlag {
		return verdict{}, invalid("flag type %s invalid", f.kind)
	}
	if q.RequestID == "" {
		q.RequestID = newID()
	}
	v := verdict{RequestID: q.RequestID, Millis: 0.1, Timestamp: time.Now().UTC(), FlagKey: f.key}
	v.Enabled, v.Reason, v.SegmentKeys = f.evaluate(q.EntityID)
	return v, nil
}

func (s *Server) boolean(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := decode(r, &q); err != nil {
		refuse(w, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.evaluate(q)
	answerWith(w)(v, err)
}

func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	var want struct{ Requests []question }
	if err := decode(r, &want); err != nil {
		refuse(w, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := []any{}
	for _, q := range want.Requests {
		v, err := s.evaluate(q)
		if err != nil {
			answers = append(answers, map[string]any{
				"type": "ERROR_EVALUATION_RESPONSE_TYPE",
				"errorResponse": map[string]string{
					"flagKey": q.FlagKey, "namespaceKey": q.NamespaceKey, "reason": "NOT_FOUND_ERROR_EVALUATION_REASON",
				},
			})
			continue
		}
		answers = append(answers, map[string]any{"type": "BOOLEAN_EVALUATION_RESPONSE_TYPE", "booleanResponse": v})
	}
	reply(w, map[string]any{"requestId": newID(), "responses": answers, "requestDurationMillis": 0.1})
}

// resolution is an evaluation in the words of OFREP.
type resolution struct {
	Key      string            `json:"key"`
	Reason   string            `json:"reason"`
	Variant  string            `json:"variant"`
	Metadata map[string]string `json:"metadata,omitzero"`
	Value    bool              `json:"value"`
}

// resolve evaluates for OFREP. Without a targeting key, Flipt draws one anew for
// each call. The caller holds the lock.
func (s *Server) resolve(r *http.Request, key string, targeting *string) (resolution, error) {
	entity := uuid.NewString()
	if targeting != nil {
		entity = *targeting
	}
	v, err := s.evaluate(question{NamespaceKey: r.Header.Get("X-Flipt-Namespace"), FlagKey: key, EntityID: entity})
	if err != nil {
		return resolution{}, err
	}
	done := resolution{Key: v.FlagKey, Reason: "DEFAULT", Variant: strconv.FormatBool(v.Enabled), Value: v.Enabled}
	if v.Reason == matched {
		done.Reason = "TARGETING_MATCH"
	}
	if s.version == V1 {
		done.Metadata = map[string]string{}
	}
	return done, nil
}

// ofrepContext is a request's evaluation context, as far as it decides anything.
type ofrepContext struct {
	Context struct{ TargetingKey *string }
}

func (s *Server) ofrep(w http.ResponseWriter, r *http.Request) {
	var want ofrepContext
	if err := decode(r, &want); err != nil {
		refuse(w, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done, err := s.resolve(r, r.PathValue("flag"), want.Context.TargetingKey)
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(struct {
			Key          string `json:"key"`
			ErrorCode    string `json:"errorCode"`
			ErrorDetails string `json:"errorDetails"`
		}{r.PathValue("flag"), "FLAG_NOT_FOUND", "flag was not found " + r.PathValue("flag")})
		return
	}
	reply(w, done)
}

func (s *Server) ofrepBulk(w http.ResponseWriter, r *http.Request) {
	var want ofrepContext
	if err := decode(r, &want); err != nil {
		refuse(w, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Header.Get("X-Flipt-Namespace")
	if name == "" {
		name = "default"
	}
	all := []resolution{}
	if n, err := s.state.namespace(name); err == nil {
		for _, f := range n.flags {
			if done, err := s.resolve(r, f.key, want.Context.TargetingKey); err == nil {
				all = append(all, done)
			}
		}
	}
	if s.version == V1 {
		reply(w, map[string]any{"flags": all})
		return
	}
	slices.SortFunc(all, func(a, b resolution) int { return strings.Compare(a.Key, b.Key) })
	type stream struct {
		Type     string            `json:"type"`
		Endpoint map[string]string `json:"endpoint"`
	}
	events := map[string]string{"requestUri": "/ofrep/v1/_stream/" + Environment + "/" + name + "/events"}
	body := struct {
		Flags        []resolution `json:"flags"`
		EventStreams []stream     `json:"eventStreams"`
	}{all, []stream{{"sse", events}}}
	w.Header().Set("Etag", `W/"`+digest(body)[:16]+`"`)
	reply(w, body)
}

// digest is what an etag says of a body.
func digest(body any) string {
	text, err := json.Marshal(body)
	if err != nil {
		panic("flipttest: " + err.Error())
	}
	return fmt.Sprintf("%x", sha1.Sum(text))
}
