package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/journal/mariadbtest"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

const fliptToken = "flipt-secret"

// wires is everything that rolloutd speaks to, each on its own wire: MariaDB, a
// Flipt, a CloudWatch and 40 task processes.
type wires struct {
	t       *testing.T
	mariadb *mariadbtest.Server
	flipt   *flipttest.Server
	metrics *cloudwatchtest.Server
	asked   atomic.Pointer[func()] // called ahead of each answer of CloudWatch
	*rolloutd
}

var laneFlags = [2]flags.Key{{Namespace: "default", Name: "orders-db-reads"}, {Namespace: "default", Name: "orders-db-writes"}}

// headroomMetric is the one that the plan's gate reads.
var headroomMetric = gates.Metric{
	Region: "eu-west-1", Namespace: "AWS/RDS", Name: "DatabaseConnections", Dimensions: map[string]string{"ProxyName": "orders"}, Period: time.Second,
}

func lay(t *testing.T, version flipttest.Version) *wires {
	t.Helper()
	w := &wires{t: t, mariadb: mariadbtest.Start(t)}
	w.metrics = cloudwatchtest.New(cloudwatchtest.Options{OnCall: func(cloudwatchtest.Call) {
		if hook := w.asked.Load(); hook != nil {
			(*hook)()
		}
	}})
	t.Cleanup(w.metrics.Close)
	var err error
	if w.flipt, err = flipttest.NewServer(version, fliptToken); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.flipt.Close)
	store, err := flipt.Open(t.Context(), flipt.Options{URL: w.flipt.URL, Token: fliptToken})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range laneFlags {
		if err := store.Create(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	w.rolloutd = newRolloutd(t,
		"ROLLOUT_JOURNAL_FILE="+keep(t, folder, "dsn", "mysql:"+w.mariadb.DSN("cutover")),
		"ROLLOUT_FLIPT="+w.flipt.URL, "ROLLOUT_FLIPT_TOKEN_FILE="+keep(t, folder, "flipt", fliptToken),
		"ROLLOUT_CLOUDWATCH_ENDPOINT="+w.metrics.URL)
	return w
}

func keep(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// published is what the flag store serves for a lane now.
func (w *wires) published(lane int) flags.Share {
	w.t.Helper()
	var snapshot struct {
		Flags []struct {
			Key      string
			Rollouts []struct{ Threshold struct{ Percentage float64 } }
		}
	}
	if err := json.Unmarshal(w.flipt.Snapshot("default"), &snapshot); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range snapshot.Flags {
		if f.Key == laneFlags[lane].Name && len(f.Rollouts) > 0 {
			return flags.Share(f.Rollouts[0].Threshold.Percentage)
		}
	}
	return 0
}

// fleetOf40 returns 40 task ids such that each stage of each lane moves a task:
// among 40 by chance, the 1 % stage is empty two times in three.
func fleetOf40(stages []flags.Share) []string {
	type step struct{ lane, stage int }
	var ids []string
	var missing []step
	for l := range laneFlags {
		for s := range stages {
			missing = append(missing, step{l, s})
		}
	}
	for n := 0; len(ids) < 40; n++ {
		id := fmt.Sprintf("task-%05d", n)
		useful := len(missing) == 0
		kept := missing[:0:0]
		for _, m := range missing {
			bucket, from := flags.Bucket(laneFlags[m.lane].Name, flags.TargetingKey(id)), flags.Share(0)
			if m.stage > 0 {
				from = stages[m.stage-1]
			}
			if int(from) <= bucket && bucket < int(stages[m.stage]) {
				useful = true
			} else {
				kept = append(kept, m)
			}
		}
		if missing = kept; useful {
			ids = append(ids, id)
		}
	}
	return ids
}

// startTasks starts a process for each id, half on our provider, half on OFREP.
func (w *wires) startTasks(ids []string) {
	w.t.Helper()
	reporter := w.token("reporter", "checkout", "checkout-tasks")
	for n, id := range ids {
		text, err := json.Marshal(taskSettings{
			ID: id, Service: "checkout", Provider: []string{"ours", "ofrep"}[n%2],
			FliptURL: w.flipt.URL, FliptToken: fliptToken, API: w.url, Reporter: reporter,
			Flags: [2]string{laneFlags[0].Name, laneFlags[1].Name},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		start(w.t, "task", []string{"CUTOVER_TEST_TASK=" + string(text)})
	}
}

const wirePlan = `
rollout: orders-db
owner: team-orders
kind: same-data
database: {name: orders, engine: aurora-mysql, max_connections: 16000, region: eu-west-1}
source: {host: orders.cluster.example, port: 3306, kind: direct}
target: {host: orders-proxy.example, port: 3306, kind: rds-proxy}
services: [{name: checkout, tasks: {{.Tasks}}, pool_max: 38}]
lanes:
  - {name: reads, class: reads, services: [checkout], flag: {key: orders-db-reads, namespace: default}, stages: [{{.Stages}}]}
  - {name: writes, class: writes, services: [checkout], flag: {key: orders-db-writes, namespace: default}, stages: [{{.Stages}}]}
soak: {for: 1h}
gates:
  - name: headroom
    source: cloudwatch
    metric: {namespace: AWS/RDS, name: DatabaseConnections, dimensions: {ProxyName: orders}, stat: Sum, period: 1s, unit: count}
    limit: {above: 2587.2, for: 2 of 3}
    absent: not_started
    on_breach: zero
  - name: failed-opens
    source: tasks
    metric: {name: failed_opens, per: second, period: 1s}
    limit: {above: 1, for: 2 of 3}
    on_breach: zero
guard: {every: 200ms}
converge: {within: 60s, min_reporting: 90%, interval: 2s}
patience: 60s
grace: 10s
recovery: 60s
`

// begin applies the plan and starts it.
func (w *wires) begin(tasks int, stages []flags.Share) {
	w.t.Helper()
	list := make([]string, len(stages))
	for i, s := range stages {
		list[i] = fmt.Sprintf("{share: %v, bake: 3s}", s)
	}
	var text bytes.Buffer
	data := map[string]any{"Tasks": tasks, "Stages": strings.Join(list, ", ")}
	if err := template.Must(template.New("plan").Parse(wirePlan)).Execute(&text, data); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.admin.Plan(w.t.Context(), text.Bytes(), rollout.Command{}); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, 2*time.Minute, "all tasks report", func() bool {
		page, err := w.admin.Tasks(w.t.Context(), "orders-db", client.TaskFilter{}, "", tasks)
		return err == nil && len(page.Tasks) == tasks
	})
	if _, err := w.admin.Do(w.t.Context(), "orders-db", rollout.Command{Verb: rollout.Start}); err != nil {
		w.t.Fatal(err)
	}
}

// until waits until the rollout is in a phase.
func (w *wires) until(phase rollout.Phase, most time.Duration) rollout.Status {
	w.t.Helper()
	var last rollout.Status
	eventually(w.t, most, "the rollout is "+string(phase), func() bool {
		status, err := w.admin.Status(w.t.Context(), "orders-db")
		if err != nil {
			return false // it may be starting again
		}
		last = status
		if status.State.Phase == rollout.Draft && status.State.Report != nil {
			w.t.Fatalf("the preflight failed: %+v", status.State.Report)
		}
		return status.State.Phase == phase
	})
	return last
}

func (w *wires) events() []rollout.Event {
	w.t.Helper()
	var all []rollout.Event
	for after := uint64(0); ; {
		page, next, err := w.admin.Events(w.t.Context(), "orders-db", after, 200)
		if err != nil {
			w.t.Fatal(err)
		}
		if all = append(all, page...); len(page) == 0 || next == after {
			return all
		}
		after = page[len(page)-1].Seq
	}
}

// transcript is what came to pass, for people.
func transcript(events []rollout.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %4d %-10s", e.At.Format("15:04:05.000"), e.Seq, e.Kind)
		if e.Lane != "" {
			fmt.Fprintf(&b, " %s %v → %v", e.Lane, e.From, e.To)
		}
		for _, to := range e.Targets {
			fmt.Fprintf(&b, " %s:%v", to.Lane, to.Share)
		}
		fmt.Fprintf(&b, " %s\n", e.Why)
	}
	return b.String()
}

// checkJournal holds the journal against what may never happen.
func checkJournal(t *testing.T, events []rollout.Event, stages []flags.Share) {
	t.Helper()
	at := map[string]flags.Share{}
	baked := true
	for _, e := range events {
		switch e.Kind {
		case rollout.Raised:
			above := 0
			for above < len(stages) && stages[above] <= e.From {
				above++
			}
			if !baked || e.From != at[e.Lane] || above == len(stages) || e.To != stages[above] {
				t.Errorf("event %d raises %s from %v to %v; it was at %v, baked %v", e.Seq, e.Lane, e.From, e.To, at[e.Lane], baked)
			}
			if e.Lane == "writes" && at["reads"] != flags.All {
				t.Errorf("event %d raises writes while reads are at %v", e.Seq, at["reads"])
			}
		case rollout.Confirmed:
			if e.To > at[e.Lane] {
				baked = false
			}
			at[e.Lane] = e.To
		case rollout.Baked:
			baked = true
		}
	}
}
