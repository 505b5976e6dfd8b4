package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags"
	ours "github.com/seed-c8cbbb61/cutover/flags/openfeature"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// The test binary is also the processes that the tests start.
const asProcess = "CUTOVER_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(asProcess) {
	case "rolloutd":
		main()
	case "task":
		taskMain()
	default:
		os.Exit(m.Run())
	}
}

// process is a program that was started, and what it has said.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	said bytes.Buffer
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(text)
}

func (p *process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// start runs this binary as something else until the test ends.
func start(t *testing.T, as string, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), self, args...), done: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), asProcess+"="+as), env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // that it was killed is what the test wanted
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// rolloutd is the service as a process of its own, which can be killed and started again.
type rolloutd struct {
	t    *testing.T
	env  []string
	data string
	url  string

	*process
	admin *client.Client
}

// newRolloutd starts the service on the settings given and waits until it answers.
func newRolloutd(t *testing.T, env ...string) *rolloutd {
	t.Helper()
	r := &rolloutd{t: t, data: t.TempDir()}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + address
	r.env = append([]string{
		"ROLLOUT_LISTEN=" + address, "ROLLOUT_DATA=" + r.data,
		"ROLLOUT_GUARD_EVERY=200ms", "ROLLOUT_READ_EVERY=500ms",
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true",
	}, env...)
	r.start()
	token, err := reference(filepath.Join(r.data, "admin.token")).read()
	if err != nil {
		t.Fatal(err)
	}
	r.admin = client.New(r.url, token, http.Client{})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("rolloutd said:\n%s", told(r.String(), 60))
		}
	})
	return r
}

// told returns the last lines of a log, without those of good requests.
func told(log string, n int) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log), "\n"), func(line string) bool {
		return strings.Contains(line, `"msg":"request"`) && strings.Contains(line, `"status":2`)
	})
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// start starts the process and waits until it answers, or has been killed before it did.
func (r *rolloutd) start() {
	r.t.Helper()
	r.process = start(r.t, "rolloutd", r.env)
	eventually(r.t, 30*time.Second, "rolloutd answers", func() bool {
		select {
		case <-r.done:
			return true
		default:
		}
		request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+"/healthz", nil)
		if err != nil {
			r.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// token makes a token by the command that operators use.
func (r *rolloutd) token(role, service, name string) string {
	r.t.Helper()
	p := start(r.t, "rolloutd", []string{"ROLLOUT_TOKENS=" + filepath.Join(r.data, "tokens.json")}, "token", "--role", role, "--service", service, name)
	<-p.done
	if !p.cmd.ProcessState.Success() {
		r.t.Fatalf("making a token: %s", p)
	}
	return strings.TrimSpace(p.String())
}

// eventually looks until something is so.
func eventually(t *testing.T, most time.Duration, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(most); time.Now().Before(end); <-tick.C {
		if so() {
			return
		}
	}
	t.Fatalf("not within %v: %s", most, what)
}

// --- a task, as a process of its own.

// taskSettings are how a task process is told what to do.
type taskSettings struct {
	ID, Service, Provider string
	FliptURL, FliptToken  string
	API, Reporter         string
	Flags                 [2]string // of reads and writes
}

// taskMain decides and reports until it is killed, as an application does.
func taskMain() {
	var s taskSettings
	if err := json.Unmarshal([]byte(os.Getenv("CUTOVER_TEST_TASK")), &s); err != nil {
		panic(err)
	}
	subject := of.NewEvaluationContext(flags.TargetingKey(s.ID), nil)
	provider, err := s.provider()
	if err != nil {
		panic(err)
	}
	if err := of.SetProviderAndWait(provider); err != nil {
		fmt.Println("the provider is not ready:", err)
	}
	app, desk := of.NewClient("app"), client.New(s.API, s.Reporter, http.Client{})
	began, sent := time.Now(), time.Time{}
	var on [2]bool
	for ctx := context.Background(); ; time.Sleep(300 * time.Millisecond) {
		changed := false
		for l, flag := range s.Flags {
			now, err := app.BooleanValue(ctx, flag, on[l], subject)
			if err != nil {
				fmt.Println("deciding:", err)
			}
			changed = changed || now != on[l]
			on[l] = now
		}
		if changed || time.Since(sent) >= time.Second {
			r := rollout.TaskReport{Task: s.ID, Service: s.Service, StartedAt: began, SentAt: time.Now()}
			for l, lane := range []string{"reads", "writes"} {
				r.Lanes = append(r.Lanes, rollout.LaneReport{Lane: lane, Decided: on[l]})
			}
			if err := desk.Report(ctx, r); err == nil {
				sent = time.Now()
			}
		}
	}
}

func (s *taskSettings) provider() (of.FeatureProvider, error) {
	if s.Provider == "ofrep" {
		return ofrep.NewProvider(s.FliptURL, ofrep.WithBearerToken(s.FliptToken), ofrep.WithHeader("X-Flipt-Namespace", "default")), nil
	}
	return ours.New(ours.Options{URL: s.FliptURL, Token: s.FliptToken, Every: 300 * time.Millisecond})
}
