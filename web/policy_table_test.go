package web

import (
	"fmt"
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

// row is one line of the table in docs/permissions.md.
type row struct {
	command action
	roles   []Role
	on      string   // its, all or some
	taken   []string // states; none: it is not about one rollout
}

// permissions reads the table that people read.
func permissions(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	var columns []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "command":
			columns = cells
		case columns == nil || len(cells) != len(columns) || strings.HasPrefix(cells[0], "-"):
			continue
		default:
			r := row{command: action(strings.Trim(cells[0], "`")), on: cells[len(cells)-2], taken: statesOf(t, cells[len(cells)-1])}
			for i, cell := range cells {
				if cell == "●" {
					r.roles = append(r.roles, Role(columns[i]))
				}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// statesOf reads a cell of states: "a, b", "all states", or those but some.
func statesOf(t *testing.T, cell string) []string {
	t.Helper()
	var list []string
	switch rest, all := strings.CutPrefix(cell, "all states"); {
	case cell == "–":
		return nil
	case all:
		except := strings.Split(strings.TrimPrefix(rest, ", but not "), ", ")
		for _, s := range states() {
			if !slices.Contains(except, s.name) {
				list = append(list, s.name)
			}
		}
	default:
		list = strings.Split(cell, ", ")
	}
	for _, name := range list {
		if !slices.ContainsFunc(states(), func(s stateOf) bool { return s.name == name }) {
			t.Errorf("the table names a state %q that there is not", name)
		}
	}
	return list
}

// callers are each role on all databases, on the rollout's, on
// another one, and on another one by somebody who may look everywhere.
func callers() []Caller {
	var list []Caller
	for _, role := range roles() {
		if role == Reporter {
			list = append(list, Caller{Name: "reporter", Grants: []Grant{{Role: role}}, Service: "checkout"})
			continue
		}
		name := string(role)
		list = append(list,
			Caller{Name: name + "-of-all", Grants: []Grant{{Role: role}}},
			Caller{Name: name + "-of-its", Grants: []Grant{{Role: role, Databases: []string{"payments"}}}},
			Caller{Name: name + "-of-another", Grants: []Grant{{Role: role, Databases: []string{"billing"}}}})
		if role != Viewer {
			list = append(list, Caller{Name: name + "-of-another-who-looks", Grants: []Grant{{Role: Viewer}, {Role: role, Databases: []string{"billing"}}}})
		}
	}
	return list
}

// allowed is what the table says of a caller.
func (r *row) allowed(who *Caller) bool {
	return slices.ContainsFunc(who.Grants, func(g Grant) bool {
		on := len(g.Databases) == 0 || r.on == "its" && g.Databases[0] == "payments" || r.on == "some"
		return on && slices.Contains(r.roles, g.Role)
	})
}

// orderOf is what somebody says with a command.
func orderOf(verb rollout.Verb) rollout.Command {
	cmd := rollout.Command{Verb: verb, Reason: "because"}
	switch verb {
	case rollout.HandOver:
		cmd.Person = "heir"
	case rollout.Adopt:
		cmd.To = []rollout.LaneShare{{Lane: "reads", Share: 50}}
	default:
	}
	return cmd
}

// request is the command over HTTP.
func (w *tables) request(what action) (method, path, body string) {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	switch what {
	case toRead:
		return "GET", "/api/v1/rollouts/orders-db", ""
	case toPlan:
		return "POST", "/api/v1/plans", tablePlan
	case toPreflight:
		return "POST", "/api/v1/rollouts/orders-db/preflight", ""
	case action(rollout.Freezing):
		return "POST", "/api/v1/freezes", `{"database":"payments","for":"1h"}`
	case action(rollout.Thaw):
		return "DELETE", "/api/v1/freezes/payments", ""
	case action(rollout.Disturb):
		return "POST", "/api/v1/quiet", `{"database":"payments","quiet":false,"what":"deploy","for":"1h"}`
	case action(rollout.Quiet):
		return "POST", "/api/v1/quiet", `{"database":"payments","quiet":true}`
	case action(rollout.HoldForAll):
		return "POST", "/api/v1/hold-all", `{"reason":"because"}`
	case action(rollout.ReleaseAll):
		return "DELETE", "/api/v1/hold-all", ""
	case toTokens:
		return "GET", "/api/v1/tokens", ""
	case toReport:
		return "POST", "/api/v1/reports", `{"task":"t","service":"checkout","sent_at":"` + at(0) + `"}`
	case toDecide:
		return "POST", "/ofrep/v1/evaluate/flags", ""
	case toVerify:
		return "GET", "/api/v1/audit/verify", ""
	case toExport:
		return "GET", "/api/v1/audit/export", ""
	case toAmend:
		return "POST", "/api/v1/rollouts/orders-db/amendments", strings.Replace(tablePlan, "for: 7d", "for: 8d", 1)
	}
	cmd := orderOf(rollout.Verb(what))
	body = fmt.Sprintf(`{"verb":%q,"reason":%q`, cmd.Verb, cmd.Reason)
	if cmd.Person != "" {
		body += fmt.Sprintf(`,"person":%q`, cmd.Person)
	}
	for _, to := range cmd.To {
		body += fmt.Sprintf(`,"to":[{"lane":%q,"share":%d}]`, to.Lane, to.Share)
	}
	return "POST", "/api/v1/rollouts/orders-db/commands", body + "}"
}

// The ways by which a surface gives a command.
type way int

const (
	byPolicy way = iota // nobody serves that yet: the policy alone is asked
	byServer            // what console and Slack will call
	byHTTP
)

func (w *tables) way(what action, surface string) way {
	_, path, _ := w.request(what)
	switch {
	case path != "" && (surface == "api" || surface == "cli"):
		return byHTTP
	case slices.Contains(verbs(), rollout.Verb(what)):
		return byServer
	default:
		return byPolicy
	}
}

// ask gives a command by a surface and returns what HTTP would answer.
func (w *tables) ask(who *Caller, what action, surface string) (code int, detail string) {
	switch w.way(what, surface) {
	case byHTTP:
		method, path, body := w.request(what)
		r := httptest.NewRequestWithContext(w.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+w.tokens[who.Name])
		r.Header.Set("Content-Type", "application/json")
		if what == toPlan || what == toAmend {
			r.Header.Set("Content-Type", "application/yaml")
		}
		if surface == "cli" {
			r.Header.Set("User-Agent", "rolloutctl/test")
		}
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, r)
		return answer.Code, answer.Body.String()
	case byServer:
		cmd := orderOf(rollout.Verb(what))
		cmd.By, cmd.Surface = who.Name, surface
		if _, err := w.server.obey(w.Context(), *who, "orders-db", cmd); err != nil {
			p := status(err)
			return p.Status, p.Detail
		}
	default:
		database := "payments"
		if what == toReport || what == toDecide {
			database = anywhere
		}
		if ok, why := may(*who, what, database); !ok {
			return http.StatusForbidden, why
		}
	}
	return http.StatusOK, ""
}

// expected is what the table says: the status, and what the journal tells.
func (r *row) expected(who *Caller, state string, by way) (code int, event string) {
	marks := !slices.Contains([]action{toRead, toTokens, toVerify, toExport, toReport, toDecide}, r.command)
	switch {
	case !r.allowed(who) && (by == byPolicy || !who.person() || !marks):
		return http.StatusForbidden, ""
	case !r.allowed(who):
		return http.StatusForbidden, "refused"
	case by == byPolicy:
		return http.StatusOK, ""
	case r.taken != nil && !slices.Contains(r.taken, state):
		return http.StatusConflict, "refused"
	case !marks || r.command == toPreflight: // it only looks
		return http.StatusOK, ""
	default:
		return http.StatusOK, "obeyed"
	}
}

// standingFor is what stands for all while a command is tried: what it ends is there.
func standingFor(what action, now time.Time) []rollout.Event {
	switch rollout.Verb(what) {
	case rollout.ReleaseAll:
		return []rollout.Event{{Kind: rollout.HeldAll, At: now, Hold: &rollout.Hold{Kind: rollout.HoldAll, Owner: "planner"}}}
	case rollout.Thaw:
		return []rollout.Event{{Kind: rollout.Frozen, At: now, Freeze: &rollout.Freeze{Database: "payments", Until: now.Add(time.Hour)}}}
	case rollout.Quiet:
		return []rollout.Event{{Kind: rollout.Disturbed, At: now, Trouble: &rollout.Disturbance{Database: "payments", What: "deploy", Until: now.Add(time.Hour)}}}
	default:
		return nil
	}
}

// try gives one command to a rollout in one state and holds what comes of it to the table.
func (w *tables) try(r *row, state string, stands rollout.State, who *Caller, surface string) {
	w.cases++
	w.ledger.lay(offered(stands, who.Name), standingFor(r.command, time.Now()))
	code, detail := w.ask(who, r.command, surface)
	synctest.Wait() // for what is recorded behind the answer
	name := fmt.Sprintf("%s by %s via %s, %s", r.command, who.Name, surface, state)

	want, event := r.expected(who, state, w.way(r.command, surface))
	if code != want && (want != http.StatusOK || code >= http.StatusMultipleChoices) {
		w.Errorf("%s: %d, the table says %d: %s", name, code, want, detail)
	}
	if found := w.told(who.Name, surface); found != event {
		w.Errorf("%s: %d, and the journal has %q, not %q", name, code, found, event)
	}
	blind := strings.HasSuffix(who.Name, "-of-another") && !strings.Contains(w.body(r.command), "payments")
	if code == http.StatusForbidden && r.on == "its" && blind && strings.Contains(detail, "payments") && w.way(r.command, surface) != byPolicy {
		w.Errorf("%s: tells somebody who may not look where the rollout is: %s", name, detail)
	}
}

// body is what somebody says himself.
func (w *tables) body(what action) string {
	_, path, body := w.request(what)
	return path + body
}

// told says what the journal has of somebody since it was laid out.
func (w *tables) told(name, surface string) string {
	found := ""
	for _, e := range w.ledger.told {
		switch {
		case e.By != name:
		case e.Surface != surface:
			w.Errorf("event %s of %s is said to come by %s, not %s", e.Kind, name, e.Surface, surface)
		case e.Kind == rollout.Refused:
			found += "refused"
		case found == "":
			found = "obeyed"
		}
	}
	return found
}

func TestEveryCommandRoleStateAndSurfaceIsAsTheTableSays(t *testing.T) {
	rows := permissions(t)
	for _, what := range actions() {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.command == what }) {
			t.Errorf("the table has no line for %s", what)
		}
	}
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		w := newTables(t)
		for _, r := range rows {
			of := states()
			if r.taken == nil {
				of = of[5:6] // it is not about a state
			}
			for _, state := range of {
				stands := w.in(state)
				for _, who := range callers() {
					for _, surface := range []string{"api", "cli", "console", "slack"} {
						w.try(&r, state.name, stands, &who, surface)
						time.Sleep(10 * time.Second) // within all limits
					}
				}
			}
		}
		if w.cases < 2000 {
			t.Errorf("%d cases", w.cases)
		}
		t.Logf("%d cases", w.cases)
	})
	t.Logf("in %v", time.Since(began).Round(time.Millisecond))
}
