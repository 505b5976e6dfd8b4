package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

//go:embed demo.yaml
var demoPlan string

// demoCommand shows the main job: the real service, on SQLite and embedded
// flags, with a simulated fleet and database around it.
type demoCommand struct {
	Tasks int `default:"200" help:"Tasks of the simulated fleet."`
}

// trial is one rollout of the demo, and the proxy that it moves to.
type trial struct {
	Name, Database, Service string
	Tasks                   int
	Percent                 int // of 16,000 connections that the proxy may open
	Headroom                int // the limit of the gate: 77 % of that
	title                   string
	ends                    rollout.Phase
}

// trials are a healthy target, and the known bad one: a proxy that may open
// 3,360 connections where 7,600 are needed.
func trials(tasks int) []trial {
	return []trial{
		{
			Name: "orders-db", Database: "orders", Service: "checkout", Tasks: tasks, Percent: 62, Headroom: 7638,
			title: "a healthy target: the proxy may open 9,920 connections, 7,600 are needed", ends: rollout.Soaking,
		},
		{
			Name: "billing-db", Database: "billing", Service: "invoices", Tasks: tasks, Percent: 21, Headroom: 2587,
			title: "a bad target: the proxy may open 3,360 connections, 7,600 are needed", ends: rollout.RolledBack,
		},
	}
}

// Run shows both.
func (d *demoCommand) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	folder, err := os.MkdirTemp("", "cutover-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	logFile, err := os.Create(filepath.Join(folder, "rolloutd.log"))
	if err != nil {
		return fmt.Errorf("making a log for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()

	metrics := cloudwatchtest.New(cloudwatchtest.Options{})
	defer metrics.Close()
	h, err := open(ctx, options{
		listen: listen{"127.0.0.1:0"}, place: place{Data: folder}, Region: "eu-west-1", CloudWatchEndpoint: metrics.URL,
		credentials: credentials.NewStaticCredentialsProvider("demo", "demo", ""),
		GuardEvery:  200 * time.Millisecond, ReadEvery: 500 * time.Millisecond,
	}, slog.New(slog.NewJSONHandler(logFile, nil)))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	group.Go(func() error { return h.serve(ctx) })
	group.Go(func() error {
		defer stop()
		return d.show(ctx, group, h, metrics)
	})
	return errors.Join(group.Wait(), h.close())
}

// show walks through the trials, one after the other.
func (d *demoCommand) show(ctx context.Context, group *errgroup.Group, h *house, metrics *cloudwatchtest.Server) error {
	admin, err := reference(filepath.Join(h.options.Data, "admin.token")).read()
	if err != nil {
		return err
	}
	desk := client.New(h.url(), admin, http.Client{}).As("demo")
	out := newScreen(os.Stdout)
	out.say("Cutover %s demo: the real service on SQLite and embedded flags; %d tasks decide by OFREP", version(), d.Tasks)
	out.say("and report by the API; CloudWatch is a stand-in on the wire. API at %s", h.url())
	began := time.Now()
	for n, t := range trials(d.Tasks) {
		reporter, err := d.addReporter(h, t.Service)
		if err != nil {
			return err
		}
		fleet, err := newFleet(t, h.url(), reporter)
		if err != nil {
			return err
		}
		group.Go(func() error { return fleet.run(ctx) })
		group.Go(func() error { return fleet.publish(ctx, metrics) })
		out.say("\n%d. %s", n+1, t.title)
		if err := t.walk(ctx, desk, fleet, out); err != nil {
			return err
		}
	}
	out.say("\nThat took %v. %s", time.Since(began).Round(time.Second), next)
	return nil
}

const next = `What to try next:
  go run ./cmd/rolloutd                      serve, on embedded defaults, at http://127.0.0.1:8080
  go run ./cmd/rolloutctl plan validate deploy/plans/orders-db.yaml
  go run ./cmd/rolloutctl list               with the token in var/admin.token
  docs/applications.md                       how an application follows a flag`

// addReporter makes the token that a service's tasks report with.
func (d *demoCommand) addReporter(h *house, service string) (string, error) {
	plain, entry := web.NewToken(service+"-tasks", web.Reporter, service)
	return plain, web.EditTokens(h.options.tokensPath(), func(list []web.Entry) ([]web.Entry, error) {
		return web.WithToken(list, entry)
	})
}

// walk plans, starts and follows one rollout to where it ends.
func (t trial) walk(ctx context.Context, desk *client.Client, fleet *fleet, out *screen) error {
	var text bytes.Buffer
	if err := template.Must(template.New("plan").Parse(demoPlan)).Execute(&text, t); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	if _, err := desk.Plan(ctx, text.Bytes(), rollout.Command{}); err != nil {
		return fmt.Errorf("applying the plan: %w", err)
	}
	if err := fleet.reported(ctx); err != nil {
		return err
	}
	if _, err := desk.Do(ctx, t.Name, rollout.Command{Verb: rollout.Start, Reason: "demo"}); err != nil {
		return fmt.Errorf("starting %s: %w", t.Name, err)
	}
	for {
		status, err := desk.Status(ctx, t.Name)
		if err != nil {
			return fmt.Errorf("asking for %s: %w", t.Name, err)
		}
		events, _, err := desk.Events(ctx, t.Name, out.told, 100)
		if err != nil {
			return fmt.Errorf("asking for the events of %s: %w", t.Name, err)
		}
		out.draw(&status, events)
		switch phase := status.State.Phase; {
		case phase == t.ends:
			out.end(&status, fleet)
			fleet.calm.Store(true)
			return nil
		case phase == rollout.Draft && status.State.Report != nil, phase == rollout.Stuck:
			return fmt.Errorf("%s came to %s: %s %+v", t.Name, phase, status.State.Why, status.State.Report)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is still %s: %w", t.Name, status.State.Phase, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// terminal reports whether w is one, and how wide.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}
