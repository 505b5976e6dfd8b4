package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/flags/embedded"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/ofrep"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
	"github.com/seed-c8cbbb61/cutover/web"
)

type serveCommand struct{ options }

// Run serves until ctx is done.
func (s *serveCommand) Run(ctx context.Context, log *slog.Logger) error {
	h, err := open(ctx, s.options, log)
	if err != nil {
		return err
	}
	return errors.Join(h.serve(ctx), h.close())
}

// house is everything that serves, wired.
type house struct {
	options  options
	log      *slog.Logger
	listener net.Listener
	handler  http.Handler
	desk     *controller.Controller
	refusals *web.Refusals
	ending   chan struct{} // closed when no new request is taken any more
	closers  []func() error
}

// open wires everything. What it opened before an error, it closes.
func open(ctx context.Context, o options, log *slog.Logger) (*house, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	h := &house{options: o, log: log, ending: make(chan struct{})}
	if err := h.wire(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *house) wire(ctx context.Context) error {
	o, log := h.options, h.log
	tokens, err := openTokens(ctx, o, log)
	if err != nil {
		return err
	}
	j, err := openJournal(ctx, o, log)
	if err != nil {
		return err
	}
	h.closers = append(h.closers, j.Close)
	fleet := controller.NewFleet(time.Now)
	settings := controller.Options{
		Journal: j, Fleet: fleet, Log: log, Lead: j.Lead, Every: o.GuardEvery, ReadEvery: o.ReadEvery,
		Metrics: map[string]controller.Metrics{"cloudwatch": cloudwatch.New(cloudwatch.Options{
			Region: o.Region, Endpoint: o.CloudWatchEndpoint, CrossAccount: o.CrossAccount, Credentials: o.credentials, Logger: log,
		})},
	}
	decisions, err := h.openFlags(ctx, &settings)
	if err != nil {
		return err
	}
	h.desk = controller.New(settings)
	h.refusals = web.NewRefusals(h.desk, log)
	h.handler = web.New(web.Options{
		Desk: h.desk, House: h.desk, Inspector: h.desk, Journal: j, Audit: j, Fleet: fleet, Plans: planfile.Parse, Amender: h.desk, Tokens: tokens,
		Decisions: decisions, Version: version(), Log: log, Ending: h.ending, Refusals: h.refusals,
	})
	h.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", o.Listen, err)
	}
	return nil
}

// openJournal opens the journal. What a reference leads to is asked for again
// for each new connection.
func openJournal(ctx context.Context, o options, log *slog.Logger) (*journal.Journal, error) {
	if o.JournalFile == "" {
		return journal.Open(ctx, o.Journal, log)
	}
	source, err := follow(o.JournalFile, log)
	if err != nil {
		return nil, err
	}
	return journal.OpenFunc(ctx, source.now, log)
}

// openFlags opens the flag store; our own is also served, by OFREP.
func (h *house) openFlags(ctx context.Context, settings *controller.Options) (http.Handler, error) {
	o := h.options
	if o.Flipt == "" {
		store, err := embedded.Open(filepath.Join(o.Data, "flags.json"))
		if err != nil {
			return nil, err
		}
		h.closers = append(h.closers, store.Close)
		settings.Flags, settings.Create = store, store.Create
		return ofrep.Handler(store), nil
	}
	options := flipt.Options{URL: o.Flipt, Environment: o.FliptEnvironment}
	if o.FliptTokenFile != "" {
		token, err := follow(o.FliptTokenFile, h.log)
		if err != nil {
			return nil, err
		}
		options.HTTPClient = &http.Client{Transport: signing{token}}
	}
	store, err := flipt.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	settings.Flags = store
	return nil, nil
}

// close closes what was opened, last things first.
func (h *house) close() error {
	var errs []error
	for _, closer := range slices.Backward(h.closers) {
		errs = append(errs, closer())
	}
	h.closers = nil
	return errors.Join(errs...)
}

// url is where the API is.
func (h *house) url() string { return "http://" + h.listener.Addr().String() }

// serve carries rollouts on and answers until ctx is done.
func (h *house) serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           h.handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(func() { close(h.ending) })
	h.log.InfoContext(ctx, "listening", "addr", h.listener.Addr().String())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.desk.Run(ctx) })
	group.Go(func() error { return h.refusals.Run(ctx) })
	group.Go(func() error {
		if err := server.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			h.log.WarnContext(ctx, "some requests were cut off at the end", "err", err)
			return server.Close()
		}
		return nil
	})
	return group.Wait()
}
