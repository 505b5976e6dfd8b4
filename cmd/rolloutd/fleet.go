package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	of "github.com/open-feature/go-sdk/openfeature"
	"golang.org/x/sync/errgroup"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// What a task's pool holds while it uses an endpoint: 38 connections, most of
// them for reads. 200 tasks make the 7,600 of the known outage.
const (
	readConnections  = 32
	writeConnections = 6
)

// fleet is the simulated tasks of one service. They decide as any application
// does, by the OpenFeature SDK over OFREP, and report by the API.
type fleet struct {
	trial
	client  *of.Client
	desk    *client.Client
	on      [2]atomic.Int64 // tasks on the target, by lane
	heard   sync.WaitGroup  // until every task has reported once
	waited  atomic.Bool     // somebody had to wait for a connection
	calm    atomic.Bool     // it has come to its end, and asks less often
	started time.Time
}

func newFleet(t trial, url, token string) (*fleet, error) {
	if err := of.SetNamedProviderAndWait(t.Service, ofrep.NewProvider(url, ofrep.WithBearerToken(token))); err != nil {
		return nil, fmt.Errorf("setting the provider of %s: %w", t.Service, err)
	}
	f := &fleet{trial: t, client: of.NewClient(t.Service), desk: client.New(url, token, http.Client{}), started: time.Now()}
	f.heard.Add(t.Tasks)
	return f, nil
}

// reported waits until every task has.
func (f *fleet) reported(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		f.heard.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the tasks' first reports: %w", ctx.Err())
	}
}

// run lets all tasks run until ctx is done.
func (f *fleet) run(ctx context.Context) error {
	var group errgroup.Group
	for n, id := range f.ids() {
		group.Go(func() error {
			f.task(ctx, id, time.Duration(n)*decideEvery/time.Duration(f.Tasks))
			return nil
		})
	}
	return group.Wait()
}

const (
	decideEvery = 500 * time.Millisecond
	reportEvery = time.Second
	calmEvery   = 2 * time.Second
)

// ids returns a fleet in which some task hashes below 1 % of the reads flag.
func (f *fleet) ids() []string {
	ids := make([]string, 0, f.Tasks)
	for n := 0; len(ids) < f.Tasks; n++ {
		id := fmt.Sprintf("%s-task-%04d", f.Service, n)
		if len(ids) > 0 || flags.Share(1).Holds(f.Name+"-reads", flags.TargetingKey(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// task decides again and again, and reports: each second, and at once when a decision changes.
func (f *fleet) task(ctx context.Context, id string, after time.Duration) {
	subject := of.NewEvaluationContext(flags.TargetingKey(id), nil)
	var on [2]bool
	var sent time.Time
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(after):
		}
		after = decideEvery
		if f.calm.Load() {
			after = calmEvery
		}
		changed := false
		for l, lane := range []string{"reads", "writes"} {
			// On an error the present decision stays.
			now, _ := f.client.BooleanValue(ctx, f.Name+"-"+lane, on[l], subject)
			if now != on[l] {
				changed = true
				f.on[l].Add(map[bool]int64{true: 1, false: -1}[now])
			}
			on[l] = now
		}
		if !changed && time.Since(sent) < reportEvery {
			continue
		}
		sent = time.Now()
		err := f.desk.Report(ctx, f.report(id, sent, on))
		if first && err == nil {
			first = false
			f.heard.Done()
		}
	}
}

func (f *fleet) report(id string, at time.Time, on [2]bool) rollout.TaskReport {
	r := rollout.TaskReport{Task: id, Service: f.Service, Version: "demo", StartedAt: f.started, SentAt: at}
	for l, lane := range []string{"reads", "writes"} {
		endpoint, open := f.Database+".cluster.example:3306", []int{readConnections, writeConnections}[l]
		if on[l] {
			endpoint = f.Database + "-proxy.example:3306"
		}
		r.Lanes = append(r.Lanes, rollout.LaneReport{Lane: lane, Decided: on[l], Endpoint: endpoint, Open: open, Opened: int64(open)})
	}
	return r
}

// demand is how many connections the tasks on the target want of the proxy.
func (f *fleet) demand() int {
	return int(f.on[0].Load())*readConnections + int(f.on[1].Load())*writeConnections
}

// publish lets CloudWatch have what the proxy would publish: its connections,
// and the wait for one where it may open no more.
func (f *fleet) publish(ctx context.Context, metrics *cloudwatchtest.Server) error {
	metric := func(name string) gates.Metric {
		return gates.Metric{Region: "eu-west-1", Namespace: "AWS/RDS", Name: name, Dimensions: map[string]string{"ProxyName": f.Database}, Period: time.Second}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for begun := false; ; {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil
			}
			return ctx.Err()
		case now := <-tick.C:
			at, wanted, allowed := now.Truncate(time.Second), f.demand(), 16000*f.Percent/100
			if begun = begun || wanted > 0; begun {
				metrics.Set(metric("DatabaseConnections"), gates.Point{Start: at, Value: float64(min(wanted, allowed))})
			}
			if wanted > allowed {
				f.waited.Store(true)
				metrics.Set(metric("DatabaseConnectionsBorrowLatency"), gates.Point{Start: at, Value: 6e6})
			}
		}
	}
}
