package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
	"github.com/seed-c8cbbb61/cutover/rollout/planfile"
	"github.com/seed-c8cbbb61/cutover/web"
)

// house is a server with its controller and journal, and a world of tasks and
// metrics whose time the script lets pass.
type house struct {
	controller *controller.Controller
	fleet      *controller.Fleet
	flags      *flags.Memory
	metrics    *gates.Memory
	points     []gates.Point
	waiting    float64 // what borrow-wait measures, in ms
	lagging    int     // tasks that stay on the source
	clinging   int     // tasks that stay on the target once they are there
	clung      map[string]bool
	deaf       atomic.Bool   // commands are obeyed without an answer
	looks      chan struct{} // one for each status that was served

	looking sync.Mutex // one look at a time

	mu   sync.Mutex
	time time.Time
}

const tasks = 20

// patience is how long a script waits for a program that it has started.
const patience = 30 * time.Second

// now is the world's time.
func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.time
}

// second lets one second pass: tasks report, the metric has a point, the
// controller looks.
func (h *house) second(ctx context.Context) error {
	h.mu.Lock()
	h.time = h.time.Add(time.Second)
	h.mu.Unlock()
	now := h.now()
	h.points = append(h.points, gates.Point{Start: now.Add(-time.Second), Value: h.waiting})
	h.metrics.Tell("BorrowWait", gates.Series{Points: h.points})
	keys, settings := h.flags.All()
	for n := range tasks {
		report := rollout.TaskReport{Task: fmt.Sprintf("task-%02d", n), Service: "checkout", StartedAt: now.Add(-time.Hour), SentAt: now}
		for _, key := range keys {
			on := settings[key].Share.Holds(key.Name, flags.TargetingKey(report.Task)) && n >= h.lagging
			place := key.Name + report.Task
			on = on || n >= tasks-h.clinging && h.clung[place]
			h.clung[place] = on
			report.Lanes = append(report.Lanes, rollout.LaneReport{Lane: key.Name, Decided: on})
		}
		if err := h.fleet.Report(ctx, report); err != nil {
			return err
		}
	}
	h.look(ctx)
	return nil
}

// build makes a house for one script and tells the script where it is.
func build(ctx context.Context, env *testscript.Env) (*house, error) {
	h := &house{
		flags: &flags.Memory{}, metrics: &gates.Memory{}, waiting: 12, looks: make(chan struct{}, 1000), clung: map[string]bool{},
		time: time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC),
	}
	for _, name := range []string{"orders-db-reads", "orders-db-writes"} {
		h.flags.Create(flags.Key{Namespace: "default", Name: name})
	}
	log := slog.New(slog.DiscardHandler)
	j, err := journal.Open(ctx, "sqlite::memory:", log)
	if err != nil {
		return nil, err
	}
	h.fleet = controller.NewFleet(h.now)
	h.controller = controller.New(controller.Options{
		Journal: j, Now: h.now, Flags: h.flags, Metrics: map[string]controller.Metrics{"cloudwatch": h.metrics},
		Fleet: h.fleet, Log: log, Lead: j.Lead, Every: time.Second, ReadEvery: time.Second,
	})
	tokens, err := h.tokens(env)
	if err != nil {
		return nil, err
	}
	server := httptest.NewServer(h.counting(web.New(web.Options{
		Desk: &desk{h.controller, h}, House: &desk{h.controller, h}, Inspector: h.controller, Amender: &desk{h.controller, h}, Journal: j, Audit: j, Fleet: h.fleet, Plans: planfile.Parse, Tokens: tokens, Version: "v9", Log: log,
	})))
	env.Setenv("ROLLOUT_URL", server.URL)
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
	env.Defer(func() {
		server.Close()
		_ = j.Close()
	})
	return h, nil
}

// desk has the controller look at once after a command, as it does in production.
type desk struct {
	*controller.Controller
	house *house
}

func (d *desk) Do(ctx context.Context, name string, c rollout.Command) (rollout.State, error) {
	state, err := d.Controller.Do(ctx, name, c)
	d.house.look(ctx)
	return state, err
}

func (d *desk) DoHouse(ctx context.Context, c rollout.HouseCommand) (rollout.House, error) {
	all, err := d.Controller.DoHouse(ctx, c)
	d.house.look(ctx)
	return all, err
}

// look is one look of the controller, at the world's time.
func (h *house) look(ctx context.Context) {
	h.looking.Lock()
	defer h.looking.Unlock()
	h.controller.Cycle(context.WithoutCancel(ctx), h.now())
}

// tokens gives each role a token, in the script's environment under its name;
// there is a second admin, for what takes two.
func (h *house) tokens(env *testscript.Env) (*web.Tokens, error) {
	var entries []web.Entry
	for name, role := range map[string]web.Role{
		"viewer": web.Viewer, "operator": web.Operator, "approver": web.Approver, "admin": web.Admin, "second": web.Admin,
	} {
		plain, entry := web.NewToken("the-"+name, role, "")
		env.Setenv(strings.ToUpper(name), plain)
		if name == "admin" {
			env.Setenv("ROLLOUT_TOKEN", plain)
		}
		entries = append(entries, entry)
	}
	path := filepath.Join(env.WorkDir, ".tokens.json")
	if err := web.SaveTokens(path, entries); err != nil {
		return nil, err
	}
	return web.LoadTokens(path)
}

// counting notes each status that was served, and tells the world's time. What
// is asked while it is deaf is done, and nobody is told.
func (h *house) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", h.now().Format(http.TimeFormat)) // the server lives in the world's time
		if r.Method != http.MethodGet && h.deaf.Load() {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/rollouts/orders-db") {
			select {
			case h.looks <- struct{}{}:
			default: // nobody waits for them
			}
		}
	})
}

// watched returns once the rollout was looked at anew, all of it after the call.
func (h *house) watched(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range cap(h.looks) {
		select {
		case <-h.looks:
			continue
		default:
		}
		break
	}
	for range 2 { // the first may have begun before
		select {
		case <-h.looks:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// comesTo returns once the rollout is as a command of somebody makes it.
func (h *house) comesTo(ctx context.Context, so func(*rollout.State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		status, err := h.controller.Status(ctx, "orders-db")
		if err == nil && so(&status.State) {
			return nil
		}
		select {
		case <-h.looks: // whoever gave the command looks, too
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
