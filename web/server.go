package web

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// Options is what the server needs. All of it but Decisions must be set.
type Options struct {
	Desk    Desk
	Journal Journal
	Fleet   Fleet
	Plans   Plans
	Tokens  *Tokens
	Version string
	Log     *slog.Logger

	Refusals *Refusals // records what people may not do; nil where only the log tells
	Rates    Rates     // how often one token may ask

	// Decisions serves the flags where they are kept by us; nil where Flipt does.
	Decisions http.Handler
}

type server struct {
	Options
	failures *limiters // by address
	limits   *limits   // by token
	mux      *chi.Mux
}

// New returns the handler of the API. Whoever serves it sets the time limits of
// reading and writing; the time that an answer may take is limited here.
func New(o Options) http.Handler {
	s := &server{
		Options: o, mux: chi.NewRouter(), limits: newLimits(o.Rates),
		failures: newLimiters(Rate{}, Rate{PerSecond: failuresPerSecond, AtOnce: failuresAtOnce}),
	}
	r := s.mux
	r.Use(middleware.GetHead)
	r.NotFound(s.open(s.noRoute))
	r.MethodNotAllowed(s.open(s.wrongMethod))
	r.Get("/healthz", s.open(s.health))
	s.routeDecisions(r)
	r.Route("/api/v1", func(r chi.Router) {
		r.Get("/healthz", s.open(s.health))
		r.Get("/version", s.only(toRead, s.version))
		r.Get("/whoami", s.known(s.whoami))
		r.Get("/rollouts", s.only(toRead, s.list))
		r.Get("/rollouts/{name}", s.only(toRead, s.show))
		r.Get("/rollouts/{name}/events", s.only(toRead, s.events))
		r.Post("/rollouts/{name}/commands", s.known(s.command))
		r.Post("/plans", s.only(toPlan, s.plan))
		r.Post("/reports", s.only(toReport, s.report))
	})
	return r
}

// health says that the process serves. It asks nobody, so that a journal that is
// away does not have the guard restarted.
func (s *server) health(context.Context, *call) (answer, error) {
	return answer{body: map[string]string{"status": "ok"}}, nil
}

func (s *server) version(context.Context, *call) (answer, error) {
	return answer{body: map[string]string{"version": s.Version, "api": "v1"}}, nil
}

func (s *server) noRoute(context.Context, *call) (answer, error) {
	return answer{}, &fault{
		status: http.StatusNotFound, code: NoRoute,
		detail: "there is nothing at this path; the API is under /api/v1, see docs/api.md",
	}
}

func (s *server) wrongMethod(_ context.Context, c *call) (answer, error) {
	header := http.Header{}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if s.mux.Match(chi.NewRouteContext(), method, c.r.URL.Path) {
			header.Add("Allow", method)
		}
	}
	return answer{}, &fault{
		status: http.StatusMethodNotAllowed, code: MethodNotAllowed, header: header,
		detail: c.r.Method + " is not for this path; " + header.Get("Allow") + " is",
	}
}
