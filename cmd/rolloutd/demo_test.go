package main

import (
	"strings"
	"syscall"
	"testing"
)

func TestTheDemoTellsBothStories(t *testing.T) {
	p := start(t, "rolloutd", nil, "demo")
	<-p.done
	said := p.String()
	if !p.cmd.ProcessState.Success() {
		t.Fatalf("the demo failed:\n%s", said)
	}
	healthy, bad, found := strings.Cut(said, "\n2. ")
	for story, wanted := range map[string][]string{
		healthy: {"reads 0% → 1%", "writes 50% → 100%", "200 of 200 tasks read and 200 write through the proxy"},
		bad:     {"ROLLBACK: gate", "proven by the tasks' reports: reads 0%, writes 0%", "rolled back by itself", "What to try next"},
	} {
		for _, text := range wanted {
			if !found || !strings.Contains(story, text) {
				t.Errorf("%q is not told in:\n%s", text, story)
			}
		}
	}
	if strings.Contains(healthy, "ROLLBACK") {
		t.Errorf("the healthy target was rolled back:\n%s", healthy)
	}
}

func TestASignalEndsTheServiceInGoodOrder(t *testing.T) {
	r := newRolloutd(t)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-r.done
	if !r.cmd.ProcessState.Success() {
		t.Errorf("after SIGTERM: %v\n%s", r.cmd.ProcessState, r)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	for name, bad := range map[string]struct{ env, wanted string }{
		"a guard that never looks":  {"ROLLOUT_GUARD_EVERY=0s", "--guard-every 0s: must be from 50ms to 1h"},
		"two journals":              {"ROLLOUT_JOURNAL_FILE=/nowhere", "--journal and --journal-file: give one of them"},
		"an address that is none":   {"ROLLOUT_LISTEN=nowhere", "listening on nowhere"},
		"a journal of another kind": {"ROLLOUT_JOURNAL=postgres:x", "source must be sqlite:PATH or mysql:DSN"},
		"a Flipt that is no URL":    {"ROLLOUT_FLIPT=flipt:8080", "must be like http://flipt:8080"},
		"a secret that is not there": {
			"ROLLOUT_FLIPT_TOKEN_FILE=/nowhere/token", "reading a secret: open /nowhere/token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := []string{"ROLLOUT_DATA=" + t.TempDir(), "ROLLOUT_LISTEN=127.0.0.1:0", bad.env}
			switch {
			case strings.HasPrefix(bad.env, "ROLLOUT_JOURNAL_FILE"):
				env = append(env, "ROLLOUT_JOURNAL=sqlite:x")
			case strings.HasPrefix(bad.env, "ROLLOUT_FLIPT_TOKEN_FILE"):
				env = append(env, "ROLLOUT_FLIPT=http://127.0.0.1:1")
			}
			p := start(t, "rolloutd", env)
			<-p.done
			if p.cmd.ProcessState.Success() || !strings.Contains(p.String(), bad.wanted) {
				t.Errorf("%s: %v, %s", bad.env, p.cmd.ProcessState, p)
			}
		})
	}
}
