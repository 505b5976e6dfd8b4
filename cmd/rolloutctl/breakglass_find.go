package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/embedded"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
)

// How long break-glass waits. A request that hangs is left soon enough to be
// sent again within the time of its write.
const (
	glassRequest = 1500 * time.Millisecond
	glassWrite   = 3 * time.Second
	glassLook    = time.Second     // at what came of a write that failed
	glassSearch  = 6 * time.Second // for all flags, of all namespaces
)

// glassOptions say which flag store it is, and which flags there.
type glassOptions struct {
	fliptOptions

	Embedded  string    `placeholder:"FILE" help:"The embedded store's file, DATA/flags.json, while rolloutd is stopped."`
	Namespace []string  `sep:"none" placeholder:"NS" help:"Look for the rollout's flags here only; may be repeated. By default in all namespaces."`
	Flag      []flagKey `sep:"none" placeholder:"NS/KEY" help:"This flag too, whether or not it bears a mark; may be repeated."`
	Name      string    `arg:"" optional:"" help:"Name of the rollout."`
}

// fliptOptions say where Flipt is; the variables are rolloutd's.
type fliptOptions struct {
	Flipt            string `env:"ROLLOUT_FLIPT" placeholder:"URL" help:"Flipt, v1 or v2."`
	FliptTokenFile   string `env:"ROLLOUT_FLIPT_TOKEN_FILE" placeholder:"FILE" help:"A file that holds Flipt's token."`
	FliptEnvironment string `env:"ROLLOUT_FLIPT_ENVIRONMENT" placeholder:"NAME" help:"Environment of Flipt v2; by default default."`
}

// openFlipt opens Flipt within limits; whether it can be reached, is found out later.
func (s *session) openFlipt(ctx context.Context, o *fliptOptions, limits flipt.Options) (*flipt.Store, error) {
	limits.URL, limits.Environment = o.Flipt, o.FliptEnvironment
	if s.Debug {
		tell := func(line string) { s.errors.print(s.err, []string{line}) }
		limits.HTTPClient = &http.Client{Transport: &telling{next: http.DefaultTransport, say: tell}}
	}
	if o.FliptTokenFile != "" {
		text, err := os.ReadFile(o.FliptTokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading Flipt's token: %w", err)
		}
		limits.Token = strings.TrimSpace(string(text))
		if limits.Token == "" {
			return nil, usageError{text: "--flipt-token-file " + o.FliptTokenFile + ": it is empty, and must hold a token"}
		}
	}
	store, err := flipt.Open(ctx, limits)
	if err != nil {
		return nil, usageError{text: "--flipt: " + err.Error()}
	}
	return store, nil
}

// where is Flipt's address for people and records: without a password.
func (o *fliptOptions) where() string {
	address, err := url.Parse(o.Flipt)
	if err != nil {
		return o.Flipt
	}
	return address.Redacted()
}

// flagKey is a flag's key on the command line.
type flagKey flags.Key

// UnmarshalText reads NAMESPACE/KEY.
func (k *flagKey) UnmarshalText(text []byte) error {
	namespace, name, ok := strings.Cut(string(text), "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q: must be NAMESPACE/KEY, such as default/orders-db-reads", text)
	}
	*k = flagKey{Namespace: namespace, Name: name}
	return nil
}

// flagStore is what break-glass needs of a store.
type flagStore interface {
	Read(context.Context, flags.Key) (flags.Setting, error)
	Write(context.Context, flags.Key, flags.Change) (flags.Setting, error)
}

// glass is a flag store, seen by a person who has nothing else left.
type glass struct {
	flagStore
	where string
	flipt *flipt.Store    // one of the two
	file  *embedded.Store // is nil
	seen  map[string]bool // rollouts whose marks were seen
	blind int             // namespaces that should have been looked at, and could not
}

// openGlass opens the store that the options name.
func (s *session) openGlass(ctx context.Context, o *glassOptions) (*glass, error) {
	switch {
	case o.Flipt != "" && o.Embedded != "":
		return nil, usageError{text: "--flipt and --embedded: give one of the two"}
	case o.Flipt == "" && o.Embedded == "":
		return nil, usageError{text: "there is no flag store: give --flipt URL, or --embedded FILE"}
	case o.Name == "" && len(o.Flag) == 0:
		return nil, usageError{text: "which lanes? give the rollout's NAME, or --flag NAMESPACE/KEY"}
	}
	g := &glass{where: o.Embedded, seen: map[string]bool{}}
	var err error
	if o.Flipt != "" {
		g.where = o.where()
		g.flipt, err = s.openFlipt(ctx, &o.fliptOptions, flipt.Options{Timeout: glassRequest, Deadline: glassWrite})
		g.flagStore = g.flipt
		return g, err
	}
	if _, err := os.Stat(o.Embedded); err != nil { // opening would make one
		return nil, fmt.Errorf("opening the flag file: %w", err)
	}
	g.file, err = embedded.Open(o.Embedded)
	if err != nil {
		return nil, fmt.Errorf("%w. While rolloutd runs, it holds the file: rolloutctl rollback, or stop it", err)
	}
	g.flagStore = g.file
	return g, nil
}

func (g *glass) close() {
	if g.file != nil {
		_ = g.file.Close() // each write is on disk already
	}
}

// rollouts returns the names of rollouts whose marks were seen.
func (g *glass) rollouts() []string { return slices.Sorted(maps.Keys(g.seen)) }

// find looks for flags, and returns them in the order in which they are to be
// set: what is lowered first, writes before reads; then what is raised, reads
// before writes. Doubts are what could not be looked at.
func (g *glass) find(ctx context.Context, o glassOptions) (panes []pane, doubts []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, glassSearch)
	defer cancel()
	listed, doubts, err := g.list(ctx, &o)
	if err != nil {
		return nil, nil, err
	}
	named := map[flags.Key]bool{}
	for _, key := range o.Flag {
		named[flags.Key(key)] = true
	}
	for _, one := range listed {
		if one.Rollout != "" {
			g.seen[one.Rollout] = true
		}
		if o.wants(one.Rollout) && !named[one.Key] {
			panes = append(panes, newPane(one))
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(named), compareKeys) {
		one, err := g.read(ctx, key)
		panes = append(panes, newPane(one))
		panes[len(panes)-1].lost = err
	}
	for i := range panes {
		if p := &panes[i]; p.Safe == flags.All && p.Foreign == "" && p.lost == nil {
			// A raise is conditional on what is shown now, and a list has no revisions.
			p.Before, p.lost = g.Read(ctx, p.Key)
		}
	}
	slices.SortStableFunc(panes, func(a, b pane) int {
		return cmp.Or(a.place()-b.place(), compareKeys(a.Key, b.Key))
	})
	return panes, doubts, nil
}

// wants reports whether the flags of a rollout are meant.
func (o *glassOptions) wants(rollout string) bool {
	return rollout != "" && (rollout == o.Name || o.Name == anyRollout)
}

func compareKeys(a, b flags.Key) int { return strings.Compare(a.String(), b.String()) }

// list returns the flags of all namespaces that are to be looked at.
func (g *glass) list(ctx context.Context, o *glassOptions) (all []flipt.Listed, doubts []string, err error) {
	switch {
	case o.Name == "":
		return nil, nil, nil
	case g.file != nil:
		keys, settings := g.file.All()
		for _, key := range keys {
			if len(o.Namespace) == 0 || slices.Contains(o.Namespace, key.Namespace) {
				all = append(all, flipt.Listed{Key: key, Setting: settings[key], Rollout: settings[key].Stamp.Rollout})
			}
		}
		return all, nil, nil
	}
	namespaces := o.Namespace
	if len(namespaces) == 0 {
		namespaces, err = g.flipt.Namespaces(ctx)
		switch {
		case err != nil && flipt.Lacks(err) == "":
			return nil, nil, err
		case err != nil: // a token of some namespaces only
			doubts = append(doubts, "the namespaces cannot be listed, looking at default only: "+err.Error())
			namespaces = []string{"default"}
		}
	}
	for _, namespace := range namespaces {
		listed, listErr := g.flipt.List(ctx, namespace)
		if listErr != nil {
			g.blind, err = g.blind+1, listErr
			doubts = append(doubts, "namespace "+namespace+" cannot be looked at: "+listErr.Error())
		}
		all = append(all, listed...)
	}
	if g.blind == len(namespaces) && len(o.Flag) == 0 {
		return nil, nil, err // nothing at all was seen
	}
	return all, doubts, nil
}

// read reads a flag that was named; that it is foreign is no error.
func (g *glass) read(ctx context.Context, key flags.Key) (flipt.Listed, error) {
	one := flipt.Listed{Key: key}
	if g.flipt != nil { // a foreign flag's stamp, too, says what its safe value is
		d, err := g.flipt.Describe(ctx, key)
		one.Setting, one.Rollout = d.Setting, d.Setting.Stamp.Rollout
		if errors.Is(d.Foreign, flags.ErrForeign) && !d.Plain {
			one.Foreign = d.Foreign
		}
		return one, err
	}
	var err error
	one.Setting, err = g.Read(ctx, key)
	one.Rollout = one.Setting.Stamp.Rollout
	return one, err
}
