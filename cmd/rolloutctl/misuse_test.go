package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongUseIsToldInItsOwnWords runs in this process: nothing of it asks a server.
func TestWrongUseIsToldInItsOwnWords(t *testing.T) {
	tests := []struct {
		args string
		code int
		want string
	}{
		{"", 2, `expected one of "list", "status"`},
		{"hold", 2, `expected "<name>"`},
		{"hold a b", 2, "unexpected argument b"},
		{"hold a --force", 2, "unknown flag --force"},
		{"rollback a --to writes", 2, `--to: "writes": must be LANE:SHARE, such as writes:0`},
		{"rollback a --to :0", 2, `--to: ":0": must be LANE:SHARE`},
		{"rollback a --to writes:", 2, `--to: "writes:": share ""`},
		{"rollback a --to writes:101", 2, `share "101": must be a whole percentage from 0% to 100%`},
		{"rollback a --to writes:-1", 2, `share "-1": must be a whole percentage`},
		{"rollback a --to writes:half", 2, `share "half": must be a whole percentage`},
		{"rollback a --to writes:2.5", 2, `share "2.5": must be a whole percentage`},
		{"rollback a --to", 2, "--to: missing value"},
		{"list -o yaml", 2, `--output must be one of "text","wide","json" but got "yaml"`},
		{"list --tz Mars/Phobos", 2, `--tz "Mars/Phobos": must be utc, local, or a zone such as Asia/Tokyo`},
		{"list --url 127.0.0.1:8080", 2, `--url "127.0.0.1:8080": must be a URL such as http://127.0.0.1:8080`},
		{"list --url ftp://x", 2, `--url "ftp://x": must be a URL`},
		{"list --url http://", 2, `--url "http://": must be a URL`},
		{"list --token cut_a", 2, "unknown flag --token"},
		{"list --token-file none.txt", 1, "reading the token: open none.txt: no such file or directory"},
		{"list --token-file empty.txt", 2, "the token of empty.txt is none"},
		{"list --token-file two.txt", 2, "the token of two.txt is none"},
		{"hold a --expect-rev -1", 2, "--expect-rev: expected uint value but got \"-1\""},
		{"hold a --expect-rev one", 2, `--expect-rev: expected a valid 64 bit uint but got "one"`},
		{"status a -w --every soon", 2, `--every: expected duration but got "soon"`},
		{"events a --after now", 2, `--after: expected a valid 64 bit uint but got "now"`},
		{"plan", 2, "expected one of "},
		{"plan validate", 2, `expected "<file> ..."`},
		{"plan apply none.yaml", 1, "reading the plan: open none.yaml: no such file or directory"},
		{"plan validate .", 1, "reading the plan: read .: is a directory"},
		{"gate", 2, `expected "test"`},
		{"gate test none.json", 1, "reading scenarios: open none.json: no such file or directory"},
		{"gate test empty.txt", 1, "empty.txt: reading scenarios"},
		{"wait a", 2, "missing flags: --for=WHAT"},
		{"wait a --for held", 2, `--for: "held": must be stage=LANE:SHARE or state=STATE, such as stage=reads:50 or state=held`},
		{"wait a --for state=healthy", 2, `--for: "state=healthy": must be one of draft, preflight, ready`},
		{"wait a --for stage=reads", 2, `--for: "reads": must be LANE:SHARE, such as writes:0`},
		{"list --state healthy", 2, `--state "healthy": must be one of draft, preflight, ready`},
		{"list --timeout 0s", 2, "--timeout 0s: must be above 0"},
		{"list --profile none", 2, `no profile is called "none"; there are none yet`},
		{"profile use none", 2, `no profile is called "none"; there are none yet`},
		{"logout", 2, "there is no profile to sign out of"},
		{"login", 2, "the token of stdin is none: it must be one word such as cut_…"},
		{"completion tcsh", 2, `<shell> must be one of "bash","zsh","fish" but got "tcsh"`},
		{"start a", 2, "this asks for a confirmation, and there is no terminal; nothing was done\n  add --yes\n"},
		{"retry a --yes", 2, "add --confirm a"},
		{"retry a --confirm b", 2, "--confirm b: the name is a; nothing was done"},
		{"reject a", 2, "this needs a reason, which the others will read; nothing was done\n  add --reason TEXT\n"},
		{"status a/b", 10, "no answer from http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"rollback a", 10, "if the server stays away: rolloutctl break-glass sets the flags with the flag store alone"},
		{"promote a", 2, `there is no "promote": advance gives the go for the next stage, once its bake and gates allow it; nothing skips them`},
		{"abort a", 2, `there is no "abort": hold keeps the shares where they are; rollback takes them to 0%`},
		{"undo a", 2, `there is no "undo": rollback takes shares down; after it, retry makes a new attempt`},
		{"stop a", 2, `there is no "stop": hold keeps the shares where they are`},
		{"pause a", 2, `there is no "pause": hold keeps the shares where they are`},
		{"cancel a", 2, `there is no "cancel": hold keeps the shares where they are; rollback takes them to 0%; withdraw gives up at 0%`},
		{"get a", 2, `there is no "get": list shows all rollouts, status one`},
		{"stop-all", 2, `there is no "stop-all": hold-all holds everything, and release-all ends that`},
		{"ROLLBACK a", 2, "unexpected argument ROLLBACK"},
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for file, text := range map[string]string{"empty.txt": " \n", "two.txt": "cut_a\ncut_b\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, env := range []string{"ROLLOUT_TOKEN", "ROLLOUT_TOKEN_FILE", "ROLLOUT_HOME", "LC_ALL"} {
		t.Setenv(env, "")
	}
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("ROLLOUT_URL", "http://127.0.0.1:1")
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), strings.Fields(tt.args), streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
			if code != tt.code || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("ended with %d, want %d, and said:\n%swant: %s", code, tt.code, stderr.String(), tt.want)
			}
			if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "error: ") {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestNoVerbOfOursIsExplainedAsForeign(t *testing.T) {
	for _, node := range newParser(&cli{}, streams{}).Model.Children {
		if _, explained := foreign()[node.Name]; explained {
			t.Errorf("%s is ours, and explained as foreign", node.Name)
		}
	}
}
