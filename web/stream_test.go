package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

const (
	oneStream = "/api/v1/rollouts/orders-db/events"
	allEvents = "/api/v1/events"
)

func TestAStreamTellsWhatCameToPassAndThenWhatDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		one := h.listen(t, h.tokens[Viewer], oneStream+"?after=1")
		again := h.listen(t, h.tokens[Viewer], oneStream+"?after=1", "Last-Event-ID", "3")
		all := h.listen(t, h.tokens[Viewer], allEvents+"?after=2")
		few := h.listen(t, h.tokens[Viewer], allEvents+"?kind=held,resumed&by=ann")
		pass(time.Second)
		equal(t, "one, before", one.ids(), "2", "3")
		h.journal.add(rollout.Event{Rollout: "users-db", Kind: rollout.Planned, By: "ann", At: began})
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.HeldOn, By: "ann", Why: "a\nb", At: began})
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.HeldOn, By: "ben", At: began})
		pass(time.Second)
		equal(t, "one", one.ids(), "2", "3", "4", "5")
		equal(t, "one that went on", again.ids(), "4", "5")
		equal(t, "all", all.ids(), "3", "4", "5", "6")
		equal(t, "some kinds by one", few.ids(), "5")
		const want = "id: 5\nevent: held\n" +
			`data: {"place":5,"rollout":"orders-db","seq":4,"kind":"held","at":"2026-11-30T02:00:00Z","by":"ann","why":"a\nb"}` + "\n\n"
		if !strings.HasSuffix(few.got(), want) {
			t.Errorf("sent as %q", few.got())
		}
		if one.header.Get("Content-Type") != "text/event-stream" || one.header.Get("Cache-Control") != "no-store" || one.status != 200 {
			t.Errorf("headers %v", one.header)
		}
	})
}

func TestAStreamStaysOpenWhileTheJournalIsAwayAndMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		one := h.listen(t, h.tokens[Viewer], oneStream+"?after=3")
		all := h.listen(t, h.tokens[Viewer], allEvents+"?after=3")
		pass(time.Second)
		h.journal.fail(errors.New("no route to host"))
		pass(time.Minute)
		for range 5 {
			h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		}
		if n := strings.Count(one.got(), ": still here\n\n"); n < 5 || n > 7 || !one.open() {
			t.Errorf("%d heartbeats in a minute, open %v", n, one.open())
		}
		h.journal.fail(nil)
		pass(time.Second)
		equal(t, "one", one.ids(), "4", "5", "6", "7", "8")
		equal(t, "all", all.ids(), "4", "5", "6", "7", "8")
		if n := strings.Count(h.log.String(), "streams wait"); n != 1 {
			t.Errorf("that the journal is away is said %d times", n)
		}
	})
}

func TestAStreamCatchesUpHoweverFarItIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		for range 3 * tailKept {
			h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		}
		late := h.listen(t, h.tokens[Viewer], allEvents+"?after=0")
		pass(time.Minute)
		for range 2 * tailKept {
			h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		}
		pass(time.Minute)
		ids := late.ids()
		if len(ids) != 5*tailKept+3 {
			t.Fatalf("%d events came, want %d", len(ids), 5*tailKept+3)
		}
		for i, id := range ids {
			if id != fmt.Sprint(i+1) {
				t.Fatalf("event %d has the id %s", i+1, id)
			}
		}
	})
}

func TestAStreamTellsOnlyOfDatabasesThatItsReaderMayRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Viewer, Databases: []string{"users"}}}})
		all := h.listen(t, token, allEvents)
		wide := h.listen(t, h.tokens[Viewer], allEvents)
		house := func(kind rollout.Kind, e rollout.Event) {
			e.Rollout, e.Kind, e.At, e.By = rollout.HouseName, kind, began, "ann"
			h.journal.add(e)
		}
		h.journal.add(rollout.Event{Rollout: "users-db", Kind: rollout.Planned, At: began, By: "ann"})                     // 4
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})                      // 5
		house(rollout.Frozen, rollout.Event{Subject: "orders", Freeze: &rollout.Freeze{Database: "orders"}})               // 6
		house(rollout.Frozen, rollout.Event{Subject: "users", Freeze: &rollout.Freeze{Database: "users"}})                 // 7
		house(rollout.Disturbed, rollout.Event{Subject: "orders", Trouble: &rollout.Disturbance{Database: "orders"}})      // 8
		house(rollout.Disturbed, rollout.Event{Subject: "users", Trouble: &rollout.Disturbance{Database: "users"}})        // 9
		house(rollout.Thawed, rollout.Event{Subject: "orders"})                                                            // 10
		house(rollout.Thawed, rollout.Event{Subject: "users"})                                                             // 11
		house(rollout.HeldAll, rollout.Event{Hold: &rollout.Hold{Kind: rollout.HoldAll}})                                  // 12
		house(rollout.TokenMade, rollout.Event{Subject: "ben: admin"})                                                     // 13
		house(rollout.Refused, rollout.Event{Subject: "freeze", Why: "the database orders is nobody's business of these"}) // 14
		pass(time.Second)
		equal(t, "who may read users", all.ids(), "4", "7", "9", "11", "12")
		if n := len(wide.ids()); n != 14 {
			t.Errorf("who may read all got %d events", n)
		}
		if p := problemOf(t, h.with(token, "GET", oneStream, "", "Accept", "text/event-stream")); p.Code != Forbidden {
			t.Errorf("a stream of another database: %s", p.Code)
		}
	})
}

func TestATokenThatIsTakenAwayEndsItsStreamWithinAMinute(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *house){
		"taken away": func(t *testing.T, h *house) {
			if err := os.WriteFile(h.path, []byte(`{"tokens":[]}`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"of another database now": func(t *testing.T, h *house) {
			entries, err := ReadTokens(h.path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range entries {
				if entries[i].Name == "x" {
					entries[i].Grants = []Grant{{Role: Viewer, Databases: []string{"users"}}}
				}
			}
			if err := SaveTokens(h.path, entries); err != nil {
				t.Fatal(err)
			}
		},
		"expired": func(*testing.T, *house) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				token := h.admit(t, Entry{Name: "x", Grants: []Grant{{Role: Viewer, Databases: []string{"orders"}}}, Expires: time.Now().Add(5 * time.Minute)})
				one := h.listen(t, token, oneStream)
				pass(4*time.Minute + 30*time.Second)
				if !one.open() {
					t.Fatal("it ended while the token was good")
				}
				end(t, h)
				if name == "expired" {
					pass(30 * time.Second)
				}
				pass(time.Minute)
				if one.open() {
					t.Error("it goes on")
				}
			})
		})
	}
}

func TestStreamsEndWithTheServerAndWithTheirReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ending := make(chan struct{})
		h.handler = New(Options{Desk: h.desk, Journal: h.journal, Tokens: mustLoad(t, h.path), Log: slog.New(slog.DiscardHandler), Ending: ending})
		gone, stays := h.listen(t, h.tokens[Viewer], allEvents), h.listen(t, h.tokens[Viewer], oneStream)
		pass(time.Second)
		gone.stop()
		pass(time.Millisecond)
		if gone.open() || !stays.open() {
			t.Errorf("its reader left: %v is open; the other one: %v", gone.open(), stays.open())
		}
		close(ending)
		pass(time.Millisecond)
		if stays.open() {
			t.Error("the server ends and the stream does not")
		}
	})
}

func TestAReaderWhoDoesNotReadIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		slow, quick := h.listen(t, h.tokens[Viewer], allEvents), h.listen(t, h.tokens[Viewer], allEvents)
		pass(time.Second)
		slow.mu.Lock()
		slow.stuck = true
		slow.mu.Unlock()
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		pass(slowest + time.Second)
		if slow.open() || !quick.open() {
			t.Errorf("the slow one: %v is open; the quick one: %v", slow.open(), quick.open())
		}
		equal(t, "the quick one", quick.ids(), "1", "2", "3", "4")
	})
}

func TestManyStreamsShareOneLookAtTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		const streams = 500
		list := make([]*reader, streams)
		for i := range list {
			path := oneStream + "?after=3"
			if i%2 == 0 {
				path = allEvents + "?after=3"
			}
			list[i] = h.listen(t, h.tokens[Admin], path)
		}
		pass(time.Second)
		h.journal.mu.Lock()
		h.journal.finds = 0
		h.journal.mu.Unlock()
		pass(10 * time.Second)
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		pass(10 * time.Second)
		h.journal.mu.Lock()
		finds := h.journal.finds
		h.journal.mu.Unlock()
		if most := int(20*time.Second/lookEvery) + 2; finds > most || finds < 20 {
			t.Errorf("%d streams asked the journal %d times in 20 s, want %d at most", streams, finds, most)
		}
		for i, r := range list {
			if ids := r.ids(); !slices.Equal(ids, []string{"4"}) {
				t.Fatalf("stream %d got %q", i, ids)
			}
		}
	})
}

func TestThereAreOnlySoManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.handler = New(Options{Desk: h.desk, Journal: h.journal, Tokens: mustLoad(t, h.path), Log: slog.New(slog.DiscardHandler), Rates: Rates{Reads: Rate{PerSecond: 1e6, AtOnce: 1e6}}})
		var first *reader
		for range streamsMost {
			first = h.listen(t, h.tokens[Viewer], allEvents)
		}
		pass(time.Second)
		w := h.ask(Viewer, "GET", allEvents, "", "Accept", "text/event-stream")
		if p := problemOf(t, w); p.Status != 429 || p.Code != TooManyStreams || w.Header().Get("Retry-After") == "" {
			t.Errorf("one too many: %d %s", p.Status, p.Code)
		}
		first.stop()
		pass(time.Second)
		if next := h.listen(t, h.tokens[Viewer], allEvents); !next.open() {
			t.Error("a place that is free again is not given away")
		}
	})
}

func TestWhatCannotBeStreamedIsRefused(t *testing.T) {
	h := newHouse(t)
	for name, tt := range map[string]struct {
		path    string
		headers []string
		status  int
		detail  string
	}{
		"a limit":             {oneStream + "?limit=5", nil, 400, `limit: "5": is for lists only`},
		"an odd last event":   {oneStream, []string{"Last-Event-ID", "x"}, 400, `after: "x": must be a whole number`},
		"no such rollout":     {"/api/v1/rollouts/nobody/events", nil, 404, "no such rollout"},
		"an unknown kind":     {allEvents + "?kind=exploded", nil, 400, `kind: "exploded": must be some of planned`},
		"a place that is odd": {allEvents + "?after=-1", nil, 400, `after: "-1": must be a whole number`},
		"gates":               {"/api/v1/rollouts/orders-db/gates", nil, 406, "only application/json is served"},
	} {
		p := problemOf(t, h.ask(Viewer, "GET", tt.path, "", append(tt.headers, "Accept", "text/event-stream")...))
		if p.Status != tt.status || !strings.Contains(p.Detail, tt.detail) {
			t.Errorf("%s: %d %s", name, p.Status, p.Detail)
		}
	}
}

func TestAStreamOutlivesTheTimeLimitsOfOtherAnswers(t *testing.T) {
	h := newHouse(t)
	server := httptest.NewUnstartedServer(h.handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = lookEvery/10, lookEvery/10
	server.Start()
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+oneStream+"?after=3", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.tokens[Viewer])
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got string
	buffer := make([]byte, 4096)
	for next := 4; next < 7; next++ { // each comes with another look, after both limits
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		for !strings.Contains(got, fmt.Sprintf("id: %d\n", next)) {
			n, err := resp.Body.Read(buffer)
			if got += string(buffer[:n]); err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
		}
	}
}

func TestAStreamThatPanicsEndsAloneAndIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		bad, good := h.listen(t, h.tokens[Viewer], oneStream), h.listen(t, h.tokens[Viewer], allEvents)
		pass(time.Second)
		bad.mu.Lock()
		bad.broken = true
		bad.mu.Unlock()
		h.journal.add(rollout.Event{Rollout: "orders-db", Kind: rollout.Noted, At: began, By: "ann"})
		pass(time.Second)
		equal(t, "the other one", good.ids(), "1", "2", "3", "4")
		if bad.open() || !strings.Contains(h.log.String(), "panic: hunter2") {
			t.Errorf("it is open: %v; the log:\n%s", bad.open(), h.log)
		}
	})
}
