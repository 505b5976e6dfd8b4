package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

type auditVerifyCmd struct {
	File       string   `arg:"" optional:"" help:"An export, or - for stdin, verified here and now; without it, the server verifies its journal."`
	Checkpoint []string `sep:"none" placeholder:"CHECKPOINT" help:"What was kept elsewhere: PLACE:HASH, or a file with it, such as an older export; may be repeated."`
}

func (*auditVerifyCmd) offline() {} // with a file; without one, it connects by itself

// Run verifies a journal.
func (c *auditVerifyCmd) Run(ctx context.Context, s *session) error {
	checkpoints := make([]audit.Checkpoint, len(c.Checkpoint))
	for i, text := range c.Checkpoint {
		var err error
		if checkpoints[i], err = checkpoint(text); err != nil {
			return err
		}
	}
	a := verification{session: s, held: checkpoints}
	var err error
	if c.File == "" {
		err = a.ask(ctx)
	} else {
		err = a.read(ctx, c.File)
	}
	if err != nil {
		return err
	}
	return a.tell()
}

// checkpoint reads a checkpoint, or the file that has it.
func checkpoint(text string) (audit.Checkpoint, error) {
	c, err := audit.ParseCheckpoint(text)
	if err == nil {
		return c, nil
	}
	file, openErr := os.Open(text)
	if openErr != nil {
		return c, usageError{text: fmt.Sprintf("--checkpoint %q: must be PLACE:HASH, with the 64 hexadecimal digits of the hash, or a file with it: %v", text, openErr)}
	}
	defer file.Close() //nolint:errcheck // it is only read
	if c, err = audit.ReadCheckpoint(file); err != nil {
		return c, usageError{text: fmt.Sprintf("--checkpoint %s: %v", text, err)}
	}
	return c, nil
}

// verification is what is verified, against what, and what came of it.
type verification struct {
	*session
	what   string // such as: the journal of http://127.0.0.1:8080
	held   []audit.Checkpoint
	after  int64 // the place after which an export begins
	result audit.Result
}

// ask has the server verify its journal.
func (a *verification) ask(ctx context.Context) error {
	api, err := a.unhurried()
	if err != nil {
		return err
	}
	a.what = "the journal of " + a.URL
	defer a.meter(func() string { return "the server verifies its journal" })()
	a.result, err = api.VerifyAudit(ctx, a.held...)
	return err
}

// read verifies an export.
func (a *verification) read(ctx context.Context, name string) error {
	in, size := a.in, int64(0)
	a.what = "the export on stdin"
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("reading the export: %w", err)
		}
		defer file.Close() //nolint:errcheck // it is only read
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
		in, a.what = file, name
	}
	counted := &counter{from: in, stop: ctx.Err}
	defer a.meter(func() string { return "verifying, " + counted.of(size) })()
	export, err := audit.Read(counted)
	if err != nil {
		return fmt.Errorf("%s: %w", a.what, err)
	}
	a.after = export.After.Place
	if a.result, err = export.Verify(a.held...); err != nil {
		return fmt.Errorf("%s: %w", a.what, err)
	}
	return nil
}

// tell says what was verified, or what is damaged.
func (a *verification) tell() error {
	if a.json() {
		return a.tellJSON(a.out, "")
	}
	if d := a.result.Damage; d != nil {
		return a.damaged(d)
	}
	a.print(a.screen.ok+" "+a.what+" holds: "+a.places(), "  head        "+a.result.Checkpoint.String())
	for i := range a.held {
		a.print("  checkpoint  " + a.held[i].String() + " holds")
	}
	if len(a.held) == 0 {
		a.print("  checkpoint  none was given: who computes all hashes anew is found by a checkpoint only")
	}
	a.print("next: keep the head where nobody who can write the journal can write, for --checkpoint")
	return nil
}

// places says which places hold.
func (a *verification) places() string {
	first, last := a.after+1, a.result.Checkpoint.Place
	switch {
	case last < first:
		return "no events"
	case last == first:
		return fmt.Sprintf("1 event, place %d", last)
	default:
		return fmt.Sprintf("%d events, places %d to %d", a.result.Places, first, last)
	}
}

// tellJSON writes what came of it as one object.
func (a *verification) tellJSON(out io.Writer, file string) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(struct {
		OK   bool   `json:"ok"`
		File string `json:"file,omitempty"`
		audit.Result
	}{a.result.Damage == nil, file, a.result})
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	if a.result.Damage != nil {
		return ended(exitRefused)
	}
	return nil
}

type auditExportCmd struct {
	File  string `arg:"" help:"File to write, which must not be there yet; - for stdout."`
	After int64  `placeholder:"PLACE" help:"Only the events after this place, such as that of the last checkpoint."`
}

func (*auditExportCmd) offline() {} // it connects by itself: its answer takes as long as the journal is

// Run writes an export, and verifies it on the way.
func (c *auditExportCmd) Run(ctx context.Context, s *session) error {
	if c.After < 0 {
		return usageError{text: fmt.Sprintf("--after %d: must be a place, 0 or more", c.After)}
	}
	api, err := s.unhurried()
	if err != nil {
		return err
	}
	a := verification{session: s, what: "the journal of " + s.URL}
	if c.File == "-" {
		if err := a.copy(ctx, api, s.out, c.After); err != nil {
			return err
		}
		return a.exported(s.err, &s.errors, "")
	}
	if _, err := os.Lstat(c.File); err == nil {
		return usageError{text: c.File + " is there already, and an older export is evidence; give another name"}
	}
	file, err := renameio.NewPendingFile(c.File, renameio.WithTempDir(filepath.Dir(c.File)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	defer file.Cleanup() //nolint:errcheck // of what was not wanted any more
	if err := a.copy(ctx, api, file, c.After); err != nil {
		return err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	return a.exported(s.out, &s.screen, c.File)
}

// copy writes the server's export. Damage to the journal is written down, too; an
// export that does not come to its end is an error.
func (a *verification) copy(ctx context.Context, api *client.Client, to io.Writer, after int64) error {
	body, err := api.ExportAudit(ctx, after)
	if err != nil {
		return err
	}
	defer body.Close()
	counted := &counter{from: body, stop: ctx.Err}
	defer a.meter(func() string { return "exporting, " + counted.of(0) })()
	export, err := audit.Read(io.TeeReader(counted, to))
	whole := false
	if err == nil {
		a.after = export.After.Place
		a.result, err = export.Verify()
	}
	if err == nil {
		whole, err = export.Complete()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failure{code: exitError, text: "the export broke off: " + err.Error(), lines: []string{"  nothing is kept of it", "next: ask again"}}
	case !whole:
		return failure{code: exitError, text: "the export broke off, without its checkpoint", lines: []string{"  nothing is kept of it", "next: ask again"}}
	}
	return nil
}

// exported says what was written.
func (a *verification) exported(out io.Writer, screen *screen, file string) error {
	if a.json() {
		return a.tellJSON(out, file)
	}
	if d := a.result.Damage; d != nil {
		return a.damaged(d)
	}
	lines := []string{screen.ok + " exported " + a.places(), "  checkpoint  " + a.result.Checkpoint.String(), "next: keep the checkpoint elsewhere"}
	if file != "" {
		lines[2] += "; rolloutctl audit verify " + quoted(file) + " verifies the file, without a server"
	}
	screen.print(out, lines)
	return nil
}

// unhurried returns a client whose answers may take as long as the journal is.
func (s *session) unhurried() (*client.Client, error) {
	to, err := s.server()
	if err != nil {
		return nil, err
	}
	if err := goodURL(to.URL); err != nil {
		return nil, err
	}
	s.URL = to.URL
	way := http.DefaultTransport
	if s.Debug {
		way = &telling{next: way, say: func(line string) { s.errors.print(s.err, []string{line}) }}
	}
	return client.New(to.URL, to.token, http.Client{Transport: way}).As("rolloutctl/" + version()), nil
}
