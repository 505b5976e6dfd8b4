package web

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Options is what the server needs. All of it must be set, but where it says so.
type Options struct {
	Desk      Desk
	House     House
	Inspector Inspector
	Journal   Journal
	Fleet     Fleet
	Plans     Plans
	Tokens    *Tokens
	Version   string
	Log       *slog.Logger

	// Amender amends plans under way; nil where they stay as they are.
	Amender Amender

	// Audit holds the journal to what it was; nil where nobody may ask.
	Audit Auditor

	// Ending is closed when the server ends, so that streams do; nil: never.
	Ending <-chan struct{}

	Refusals *Refusals // records what people may not do; nil where only the log tells
	Rates    Rates     // how often one token may ask

	// Decisions serves the flags where they are kept by us; nil where Flipt does.
	Decisions http.Handler
}

type server struct {
	Options
	register  *register
	tail      tail
	databases databases
	streams   atomic.Int64
	failures  *limiters // by address
	limits    *limits   // by token
	mux       *chi.Mux
}

// New returns the handler of the API. Whoever serves it sets the time limits of
// reading and writing; the time that an answer may take is limited here.
func New(o Options) http.Handler {
	s := &server{
		Options: o, mux: chi.NewRouter(), limits: newLimits(o.Rates),
		failures: newLimiters(Rate{}, Rate{PerSecond: failuresPerSecond, AtOnce: failuresAtOnce}),
	}
	s.tail.journal, s.tail.log = o.Journal, o.Log
	s.register = newRegister(o.Journal, o.Desk)
	r := s.mux
	r.Use(middleware.GetHead)
	r.NotFound(s.open(s.noRoute))
	r.MethodNotAllowed(s.open(s.wrongMethod))
	r.Get("/healthz", s.open(s.health))
	s.routeDecisions(r)
	r.Route("/api/v1", func(r chi.Router) {
		r.Get("/healthz", s.open(s.health))
		r.Get("/version", s.only(toRead, s.version))
		s.routePeople(r)
		r.Get("/openapi.yaml", s.open(s.openapiYAML, yamlKind))
		r.Get("/openapi.json", s.open(s.openapiJSON))
		r.Get("/rollouts", s.only(toRead, s.list))
		r.Get("/rollouts/{name}", s.only(toRead, s.show))
		r.Get("/rollouts/{name}/events", s.only(toRead, s.events, eventsKind))
		r.Get("/rollouts/{name}/gates", s.only(toRead, s.gates))
		r.Get("/rollouts/{name}/tasks", s.only(toRead, s.tasks))
		r.Get("/rollouts/{name}/approvals", s.only(toRead, s.approvalsOf))
		r.Get("/rollouts/{name}/holds", s.only(toRead, s.holds))
		r.Get("/rollouts/{name}/preflight", s.only(toRead, s.lastPreflight))
		r.Post("/rollouts/{name}/preflight", s.only(toPreflight, s.preflight))
		r.Get("/events", s.only(toRead, s.allEvents, eventsKind))
		r.Get("/approvals", s.only(toRead, s.approvals))
		s.routeHouse(r)
		s.routeAudit(r)
		r.Post("/rollouts/{name}/commands", s.known(s.command))
		s.routePlans(r)
		r.Post("/reports", s.only(toReport, s.report))
	})
	return r
}

// routeHouse serves what stands for all rollouts.
func (s *server) routeHouse(r chi.Router) {
	r.Get("/hold-all", s.only(toRead, s.held))
	r.Post("/hold-all", s.only(action(rollout.HoldForAll), s.holdAll))
	r.Delete("/hold-all", s.only(action(rollout.ReleaseAll), s.releaseAll))
	r.Get("/freezes", s.only(toRead, s.freezes))
	r.Post("/freezes", s.only(action(rollout.Freezing), s.freeze))
	r.Delete("/freezes/{database}", s.only(action(rollout.Thaw), s.thaw))
	r.Get("/quiet", s.only(toRead, s.disturbances))
	r.Post("/quiet", s.known(s.sayQuiet)) // which of two actions it is, the body says
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
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if s.mux.Match(chi.NewRouteContext(), method, c.r.URL.Path) {
			header.Add("Allow", method)
		}
	}
	return answer{}, &fault{
		status: http.StatusMethodNotAllowed, code: MethodNotAllowed, header: header,
		detail: c.r.Method + " is not for this path; " + header.Get("Allow") + " is",
	}
}
