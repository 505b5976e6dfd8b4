package web

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // to damage a journal with

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	keeper "github.com/seed-c8cbbb61/cutover/rollout/journal"
)

// audited is a house with a real journal.
type audited struct {
	*house
	journal *keeper.Journal
	path    string
}

var auditedAt = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// newAudited has orders at places 1, 2 and 4, pay at 3, and a freeze at 5, a
// minute apart.
func newAudited(t *testing.T) *audited {
	t.Helper()
	h := &audited{house: newHouse(t), path: filepath.Join(t.TempDir(), "journal.db")}
	var err error
	if h.journal, err = keeper.Open(t.Context(), "sqlite:"+h.path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.journal.Close() })
	states := map[string]rollout.State{"*": {Name: rollout.HouseName}}
	for n, e := range []rollout.Event{
		{Rollout: "orders", Kind: rollout.Planned, By: "ann"},
		{Rollout: "orders", Kind: rollout.Noted, By: "bob", Why: "calm"},
		{Rollout: "pay", Kind: rollout.Planned, By: "ann"},
		{Rollout: "orders", Kind: rollout.Noted, By: "ann", Why: "calm"},
		{Rollout: "*", Kind: rollout.Frozen, By: "ann", Freeze: &rollout.Freeze{Database: "pay-db"}},
	} {
		e.At = auditedAt.Add(time.Duration(n) * time.Minute)
		if e.Kind == rollout.Planned {
			e.Plan = &rollout.Plan{Name: e.Rollout, Database: rollout.Database{Name: e.Rollout + "-db"}, Lanes: []rollout.LanePlan{{
				Name: "reads", Flag: flags.Key{Namespace: "default", Name: e.Rollout},
			}}}
		}
		if states[e.Rollout], _, err = h.journal.Append(t.Context(), states[e.Rollout], e); err != nil {
			t.Fatal(err)
		}
	}
	h.serve(t, h.journal)
	return h
}

// serve has another auditor.
func (h *audited) serve(t *testing.T, a Auditor) {
	t.Helper()
	tokens, err := LoadTokens(h.house.path)
	if err != nil {
		t.Fatal(err)
	}
	h.handler = New(Options{
		Desk: h.desk, House: h.rules, Inspector: h.look, Journal: h.journal, Fleet: h.fleet, Plans: plans, Tokens: tokens, Version: "v9",
		Audit: a, Log: slog.New(slog.NewJSONHandler(h.log, nil)),
	})
}

func (h *audited) damage(t *testing.T, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", h.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func (h *audited) head(t *testing.T) audit.Checkpoint {
	t.Helper()
	result, err := h.journal.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result.Checkpoint
}

func TestTheJournalIsOpenToWhoeverMayReadAllOfIt(t *testing.T) {
	h := newAudited(t)
	for _, path := range []string{"/api/v1/audit", "/api/v1/audit/verify", "/api/v1/audit/export"} {
		for _, role := range []Role{Viewer, Operator, Approver, Admin} {
			if w := h.ask(role, "GET", path, ""); w.Code != 200 {
				t.Errorf("%s as %s: %d %s", path, role, w.Code, w.Body)
			}
		}
		if p := problemOf(t, h.ask(Reporter, "GET", path, "")); p.Code != Forbidden {
			t.Errorf("%s as reporter: %s", path, p.Code)
		}
		if p := problemOf(t, h.ask("", "GET", path, "")); p.Code != Unauthenticated {
			t.Errorf("%s as nobody: %s", path, p.Code)
		}
	}
	plain, entry := NewToken("of-one-database", Viewer, "")
	entry.Grants = []Grant{{Role: Viewer, Databases: []string{"pay-db"}}}
	if err := SaveTokens(h.house.path, []Entry{entry}); err != nil {
		t.Fatal(err)
	}
	h.serve(t, h.journal)
	h.tokens[Viewer] = plain
	for _, path := range []string{"/api/v1/audit/verify", "/api/v1/audit/export"} {
		if p := problemOf(t, h.ask(Viewer, "GET", path, "")); p.Code != Forbidden || !strings.Contains(p.Detail, "on all databases") {
			t.Errorf("%s as viewer of one database: %s, %s", path, p.Code, p.Detail)
		}
	}
}

func TestEventsAreFoundByWhatIsAskedFor(t *testing.T) {
	h := newAudited(t)
	for _, tt := range []struct {
		query string
		want  []int64
		next  int64
	}{
		{"", []int64{1, 2, 3, 4, 5}, 5},
		{"rollout=orders", []int64{1, 2, 4}, 4},
		{"rollout=*", []int64{5}, 5},
		{"rollout=nobody", []int64{}, 0},
		{"by=ann&kind=noted,frozen", []int64{4, 5}, 5},
		{"from=2026-11-30T09:01:00Z&until=2026-11-30T09:03:00Z", []int64{2, 3}, 3},
		{"from=2026-11-30T18:01:00%2B09:00&limit=2", []int64{2, 3}, 3},
		{"after=3&limit=1", []int64{4}, 4},
		{"newest=true&limit=2", []int64{5, 4}, 4},
		{"newest=true&limit=9&after=4", []int64{3, 2, 1}, 1},
		{"newest=false&after=5", []int64{}, 5},
	} {
		w := h.ask(Viewer, "GET", "/api/v1/audit?"+tt.query, "")
		var body struct {
			Events []rollout.Event
			Next   int64
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 200 {
			t.Errorf("%s: %d %s", tt.query, w.Code, w.Body)
		}
		places := []int64{}
		for i := range body.Events {
			places = append(places, body.Events[i].Place)
		}
		if diff := cmp.Diff(tt.want, places); diff != "" || body.Next != tt.next {
			t.Errorf("%s: next %d, want %d; want -, got +:\n%s", tt.query, body.Next, tt.next, diff)
		}
	}
	for _, query := range []string{
		"by=", "kind=x", "kind=", "from=yesterday", "until=9", "newest=yes", "after=-1", "limit=0", "limit=1001", "name=orders", "by=a&by=b",
	} {
		p := problemOf(t, h.ask(Viewer, "GET", "/api/v1/audit?"+query, ""))
		if field, _, _ := strings.Cut(query, "="); p.Status != 400 || len(p.Problems) != 1 || p.Problems[0].Field != field {
			t.Errorf("%s: %d %+v", query, p.Status, p.Problems)
		}
	}
}

func TestTheServerVerifiesItsJournal(t *testing.T) {
	h := newAudited(t)
	head := h.head(t)
	type body struct {
		OK         bool
		Places     int64
		Checkpoint audit.Checkpoint
		Damage     *audit.Damage
	}
	ask := func(query string) (b body) {
		t.Helper()
		w := h.ask(Viewer, "GET", "/api/v1/audit/verify"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return b
	}
	for _, query := range []string{"", "?checkpoint=" + head.String(), "?checkpoint=0:," + head.String()} {
		if diff := cmp.Diff(body{OK: true, Places: 5, Checkpoint: head}, ask(query)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", query, diff)
		}
	}
	other := "4:" + strings.Repeat("ab", 32)
	if b := ask("?checkpoint=" + head.String() + "," + other); b.OK || b.Damage == nil || b.Damage.Kind != audit.Rewritten || b.Damage.Place != 4 {
		t.Errorf("against another checkpoint: %+v", b)
	}
	h.damage(t, `UPDATE events SET body = REPLACE(body, 'calm', 'wild') WHERE place = 4`)
	b := ask("")
	if b.OK || b.Damage == nil || b.Damage.Kind != audit.Edited || b.Damage.Place != 4 || b.Damage.Rollout != "orders" || b.Places != 3 {
		t.Errorf("damaged: %+v", b)
	}
	if !strings.Contains(h.log.String(), `"level":"ERROR","msg":"the journal is damaged","place":4`) {
		t.Errorf("the log does not say so:\n%s", h.log)
	}
	for _, query := range []string{"checkpoint=", "checkpoint=4", "checkpoint=" + head.String() + ",", "place=4", "checkpoint=" + strings.Repeat("0:,", 100) + "0:"} {
		if p := problemOf(t, h.ask(Viewer, "GET", "/api/v1/audit/verify?"+query, "")); p.Status != 400 {
			t.Errorf("%s: %d", query, p.Status)
		}
	}
}

func TestAnExportIsStreamedAndVerifies(t *testing.T) {
	h := newAudited(t)
	server := httptest.NewServer(h.handler)
	defer server.Close()
	for after, want := range map[string]int64{"": 5, "?after=0": 5, "?after=2": 3, "?after=5": 0} {
		text, err := h.get(t, server.URL+"/api/v1/audit/export"+after)
		if err != nil {
			t.Fatal(err)
		}
		result, err := audit.VerifyExport(bytes.NewReader(text))
		if err != nil || result.Damage != nil || result.Places != want {
			t.Errorf("%s: %+v, %v", after, result, err)
		}
	}
	if w := h.ask(Viewer, "HEAD", "/api/v1/audit/export", ""); w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson" || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	for _, query := range []string{"after=6", "after=-1", "after=x", "place=1"} {
		if p := problemOf(t, h.ask(Viewer, "GET", "/api/v1/audit/export?"+query, "")); p.Status != 400 {
			t.Errorf("%s: %d", query, p.Status)
		}
	}
	if err := h.journal.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/audit", "/api/v1/audit/verify", "/api/v1/audit/export"} {
		if p := problemOf(t, h.ask(Viewer, "GET", path, "")); p.Code != Away {
			t.Errorf("%s without a journal: %s", path, p.Code)
		}
	}
}

// get reads an export over the wire.
func (h *audited) get(t *testing.T, url string) ([]byte, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.tokens[Viewer])
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/x-ndjson" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	return io.ReadAll(resp.Body)
}

// auditor verifies and exports as it is told.
type auditor struct {
	verify func(context.Context) error
	export func(context.Context, io.Writer) error
}

func (a *auditor) Verify(ctx context.Context, _ ...audit.Checkpoint) (audit.Result, error) {
	return audit.Result{}, a.verify(ctx)
}

func (a *auditor) Export(ctx context.Context, w io.Writer, _ int64) error { return a.export(ctx, w) }

func TestAnExportThatBreaksOffIsNotTakenForAWholeOne(t *testing.T) {
	for _, sent := range []int{0, 10, 100_000} {
		h := newAudited(t)
		h.serve(t, &auditor{export: func(_ context.Context, w io.Writer) error {
			if _, err := w.Write(bytes.Repeat([]byte("x"), sent)); err != nil {
				return err
			}
			return errors.New("the disk is gone")
		}})
		server := httptest.NewServer(h.handler)
		if text, err := h.get(t, server.URL+"/api/v1/audit/export"); err == nil {
			t.Errorf("after %d bytes: %d were read to the end", sent, len(text))
		}
		server.Close()
		if !strings.Contains(h.log.String(), "the disk is gone") {
			t.Errorf("the log does not say why:\n%s", h.log)
		}
	}
}

func TestAnExportMayTakeLongerThanOtherAnswers(t *testing.T) {
	h := newAudited(t)
	h.serve(t, &auditor{
		export: func(ctx context.Context, w io.Writer) error {
			if deadline, ok := ctx.Deadline(); ok {
				return fmt.Errorf("it ends at %v", deadline)
			}
			_, err := io.WriteString(w, "whole\n")
			return err
		},
		verify: func(ctx context.Context) error {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) < time.Minute {
				return fmt.Errorf("it ends at %v, %v", deadline, ok)
			}
			return nil
		},
	})
	if w := h.ask(Viewer, "GET", "/api/v1/audit/export", ""); w.Body.String() != "whole\n" {
		t.Errorf("%d %q\n%s", w.Code, w.Body, h.log)
	}
	if w := h.ask(Viewer, "GET", "/api/v1/audit/verify", ""); w.Code != 200 {
		t.Errorf("%d %s\n%s", w.Code, w.Body, h.log)
	}
}

func TestAVerificationEndsWhenWhoeverAskedHasGone(t *testing.T) {
	h := newAudited(t)
	begun, ended := make(chan struct{}), make(chan struct{})
	h.serve(t, &auditor{verify: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}})
	server := httptest.NewServer(h.handler)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/audit/verify", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.tokens[Viewer])
	go func() {
		<-begun
		leave()
	}()
	if resp, err := http.DefaultClient.Do(r); err == nil {
		_ = resp.Body.Close()
		t.Errorf("answered %d", resp.StatusCode)
	}
	<-ended
}

func TestOnlySoManyReadTheWholeJournalAtOnce(t *testing.T) {
	h := newAudited(t)
	running, end := make(chan struct{}, auditsAtOnce), make(chan struct{})
	wait := func(ctx context.Context) error {
		running <- struct{}{}
		<-end
		return ctx.Err()
	}
	h.serve(t, &auditor{verify: wait, export: func(ctx context.Context, _ io.Writer) error { return wait(ctx) }})
	codes := make(chan int, auditsAtOnce)
	paths := []string{"/api/v1/audit/verify", "/api/v1/audit/export"}
	for n := range auditsAtOnce {
		go func() { codes <- h.ask(Viewer, "GET", paths[n%2], "").Code }()
		<-running
	}
	for _, path := range paths {
		w := h.ask(Viewer, "GET", path, "")
		if p := problemOf(t, w); p.Code != TooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s, one too many: %s", path, p.Code)
		}
	}
	close(end)
	for range auditsAtOnce {
		if code := <-codes; code != 200 {
			t.Errorf("one that ran: %d", code)
		}
	}
	for _, path := range slices.Concat(paths, paths, paths) {
		if w := h.ask(Viewer, "GET", path, ""); w.Code != 200 {
			t.Errorf("%s afterwards: %d", path, w.Code)
		}
		<-running
	}
}
