package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/embedded"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

// glassStand is all that is left in a script of testdata/glass: a Flipt.
type glassStand struct {
	*flipttest.Server
	hand  flipttest.Hand
	store *flipt.Store
}

// TestGlassScripts runs testdata/glass with each generation of Flipt. There is
// no rolloutd.
func TestGlassScripts(t *testing.T) {
	for _, version := range []flipttest.Version{flipttest.V1, flipttest.V2} {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: "testdata/glass", RequireExplicitExec: true, UpdateScripts: *update,
				Setup: func(env *testscript.Env) error {
					stand, err := newGlassStand(t, version)
					if err != nil {
						return err
					}
					env.Defer(stand.Close)
					env.Values["stand"] = stand
					env.Setenv("FLIPT", stand.URL)
					env.Setenv("V", strconv.Itoa(int(version)))
					env.Setenv("ROLLOUT_URL", "http://127.0.0.1:1")
					env.Setenv("LC_ALL", "C.UTF-8")
					return os.WriteFile(env.WorkDir+"/token", []byte("secret\n"), 0o600)
				},
				Cmds: glassCommands(t.Context()),
			})
		})
	}
}

func newGlassStand(t *testing.T, version flipttest.Version) (*glassStand, error) {
	t.Helper()
	server, err := flipttest.NewServer(version, "secret")
	if err != nil {
		return nil, err
	}
	store, err := flipt.Open(t.Context(), flipt.Options{URL: server.URL, Token: "secret"})
	hand := flipttest.Hand{URL: server.URL, Token: "secret", Version: version}
	return &glassStand{Server: server, hand: hand, store: store}, err
}

func glassCommands(ctx context.Context) map[string]func(*testscript.TestScript, bool, []string) {
	at := func(ts *testscript.TestScript) *glassStand { return ts.Value("stand").(*glassStand) }
	return map[string]func(*testscript.TestScript, bool, []string){
		// flag NS/KEY SHARE [rollout=R lane=L class=C safe=S]: a flag, ours if it has a rollout.
		"flag": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(at(ts).flag(ctx, ts, args[0], args[1], args[2:]))
		},
		// hand NS/KEY SHARE: another hand sets it.
		"hand": func(ts *testscript.TestScript, _ bool, args []string) {
			key, share := scriptFlag(ts, args[0], args[1])
			ts.Check(at(ts).hand.SetShare(ctx, key, float64(share), "by hand"))
		},
		// at NS/KEY SHARE [BY]: that is where it is, and who is said to have done it.
		"at": func(ts *testscript.TestScript, _ bool, args []string) {
			key, share := scriptFlag(ts, args[0], args[1])
			now, err := at(ts).store.Read(ctx, key)
			ts.Check(err)
			if now.Share != share || len(args) > 2 && now.Author != args[2] {
				ts.Fatalf("%s is %+v", key, now)
			}
		},
		// segment NS/KEY: a rule that is not ours takes the flag over.
		"segment": func(ts *testscript.TestScript, _ bool, args []string) {
			key, _ := scriptFlag(ts, args[0], "0")
			ts.Check(at(ts).segment(ctx, key))
		},
		// forbid [PART]: what would change anything whose path or body has the part is refused.
		"forbid": func(ts *testscript.TestScript, _ bool, args []string) {
			at(ts).Before(func(w http.ResponseWriter, r *http.Request) bool {
				if len(args) == 0 || r.Method != http.MethodPut || !holds(r, args[0]) {
					return false
				}
				w.WriteHeader(http.StatusForbidden)
				return true
			})
		},
		// hide [PATTERN]: what lists at a path like this is refused.
		"hide": func(ts *testscript.TestScript, _ bool, args []string) {
			at(ts).Before(func(w http.ResponseWriter, r *http.Request) bool {
				if len(args) == 0 || r.Method != http.MethodGet || !regexp.MustCompile(args[0]).MatchString(r.URL.Path) {
					return false
				}
				w.WriteHeader(http.StatusForbidden)
				return true
			})
		},
		// put FILE TEXT: a file with one line.
		"put": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+"\n"), 0o600))
		},
		// cut: every connection is cut.
		"cut": func(ts *testscript.TestScript, _ bool, _ []string) {
			at(ts).Before(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
		},
		// file FILE NS/KEY SHARE LANE: an embedded store with a lane of orders-db.
		"file": func(ts *testscript.TestScript, _ bool, args []string) { ts.Check(scriptFile(ctx, ts, args)) },
		// exits N PROGRAM…: it must end so.
		"exits": func(ts *testscript.TestScript, _ bool, args []string) {
			err := ts.Exec(args[1], args[2:]...)
			code := 0
			if end, ok := errors.AsType[*exec.ExitError](err); ok {
				code = end.ExitCode()
			} else {
				ts.Check(err)
			}
			if strconv.Itoa(code) != args[0] {
				ts.Fatalf("%v ended with %d, want %s", args[1:], code, args[0])
			}
		},
	}
}

// holds reports whether a part is in the path or the body of a request.
func holds(r *http.Request, part string) bool {
	body, err := io.ReadAll(r.Body)
	return err == nil && (strings.Contains(r.URL.Path, part) || bytes.Contains(body, []byte(part)))
}

func scriptFlag(ts *testscript.TestScript, key, share string) (flags.Key, flags.Share) {
	var k flagKey
	ts.Check(k.UnmarshalText([]byte(key)))
	s, err := flags.ParseShare(share)
	ts.Check(err)
	return flags.Key(k), s
}

func (g *glassStand) flag(ctx context.Context, ts *testscript.TestScript, name, percent string, fields []string) error {
	key, share := scriptFlag(ts, name, percent)
	if err := g.store.Create(ctx, key); err != nil {
		return err
	}
	now, err := g.store.Read(ctx, key)
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		return g.hand.SetShare(ctx, key, float64(share), "by hand")
	}
	// As the controller does: its epoch goes on the flag before its first raise.
	change := flags.Change{Kind: flags.Fence, Share: share, Epoch: 3, Revision: now.Revision}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "rollout":
			change.Rollout = value
		case "lane":
			change.Lane = value
		case "class":
			change.Class = value
		default:
			if change.Safe, err = flags.ParseShare(value); err != nil {
				return err
			}
		}
	}
	if now, err = g.store.Write(ctx, key, change); err != nil {
		return err
	}
	change.Kind, change.Revision = flags.Raise, now.Revision
	_, err = g.store.Write(ctx, key, change)
	return err
}

// segment gives the flag a segment for its only rule.
func (g *glassStand) segment(ctx context.Context, key flags.Key) error {
	if g.hand.Version == flipttest.V2 {
		return g.hand.Edit(ctx, key, func(flag map[string]any) {
			flag["rollouts"] = []any{map[string]any{"type": "SEGMENT_ROLLOUT_TYPE", "segment": map[string]any{
				"segmentOperator": "OR_SEGMENT_OPERATOR", "segments": []string{"beta"}, "value": true,
			}}}
		})
	}
	_, _, err := g.hand.Do(ctx, http.MethodPost, g.hand.FlagPath(key)+"/rollouts", map[string]any{
		"rank": 2, "segment": map[string]any{"segmentKey": "beta", "value": true},
	})
	return err
}

func scriptFile(ctx context.Context, ts *testscript.TestScript, args []string) error {
	key, share := scriptFlag(ts, args[1], args[2])
	store, err := embedded.Open(ts.MkAbs(args[0]))
	if err != nil {
		return err
	}
	if err := store.Create(ctx, key); err != nil {
		return err
	}
	now, err := store.Read(ctx, key)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, key, flags.Change{
		Kind: flags.Raise, Share: share, Revision: now.Revision, Rollout: "orders-db", Epoch: 3, Lane: args[3], Class: args[3],
	})
	return errors.Join(err, store.Close())
}
