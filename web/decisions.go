package web

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// decisionPaths are those of OFREP, and of the snapshots that Flipt's clients ask for.
var decisionPaths = []string{
	"/ofrep/*",
	"/internal/v1/evaluation/*",
	"/client/v2/*",
}

// routeDecisions serves the embedded flags to whoever has a good token. It
// answers in the words of those protocols, so it goes past the API's own.
func (s *server) routeDecisions(r chi.Router) {
	if s.Decisions == nil {
		return
	}
	for _, path := range decisionPaths {
		r.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			c := &call{w: w, r: r, id: requestID(r)}
			err := s.authenticate(r.Context(), c)
			if err == nil {
				err = s.admit(r.Context(), c, toDecide)
			}
			if err != nil {
				s.send(r.Context(), c, answer{}, err)
				return
			}
			s.Decisions.ServeHTTP(w, r)
		})
	}
}
