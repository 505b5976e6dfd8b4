package web

import (
	"net/http"
	"strings"
	"testing"
)

// manyLanes is a list of n targets.
func manyLanes(n int) string {
	var list []string
	for i := range n {
		list = append(list, `{"lane":"l`+strings.Repeat("x", i)+`","share":0}`)
	}
	return strings.Join(list, ",")
}

func TestEachBadInputHasItsOwnClearAnswer(t *testing.T) {
	const commands = "/api/v1/rollouts/orders-db/commands"
	const reports = "/api/v1/reports"
	const plans = "/api/v1/plans"
	const events = "/api/v1/rollouts/orders-db/events"
	const rollouts = "/api/v1/rollouts"
	const one = "/api/v1/rollouts/orders-db"
	const freezes = "/api/v1/freezes"
	const quiet = "/api/v1/quiet"
	const all = "/api/v1/hold-all"
	tests := []struct {
		name    string
		method  string
		path    string
		body    string
		headers []string
		status  int
		detail  string
	}{
		{"no body", "POST", commands, "", nil, 400, "body: is empty"},
		{"only spaces", "POST", commands, " \n ", nil, 400, "body: is empty"},
		{"not JSON", "POST", commands, "verb=hold", nil, 400, "body: is not JSON, at byte 1"},
		{"cut off", "POST", commands, `{"verb":"ho`, nil, 400, "body: is not JSON, at byte 11"},
		{"something after it", "POST", commands, `{"verb":"hold"} {}`, nil, 400, "is not JSON, at byte 17"},
		{"a list", "POST", commands, `["hold"]`, nil, 400, "body: must be a JSON object"},
		{"null", "POST", commands, `null`, nil, 400, "body: must be a JSON object"},
		{"a text", "POST", commands, `"hold"`, nil, 400, "body: must be a JSON object"},
		{"not UTF-8", "POST", commands, "{\"verb\":\"hold\",\"reason\":\"\xff\"}", nil, 400, "body: is not UTF-8"},
		{"nested without end", "POST", commands, strings.Repeat(`{"to":[`, 100_000), nil, 400, "is not JSON"},
		{"too long", "POST", commands, `{"reason":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "the body is longer than 1024 KiB"},
		{"no verb", "POST", commands, `{}`, nil, 400, `verb: must be one of accept, acknowledge`},
		{"another tool's verb", "POST", commands, `{"verb":"promote"}`, nil, 400, `verb: "promote": must be one of`},
		{"a verb in capitals", "POST", commands, `{"verb":"HOLD"}`, nil, 400, `verb: "HOLD": must be one of`},
		{"an unknown field", "POST", commands, `{"verb":"hold","force":true}`, nil, 400, "force: is no field of this; there are verb, reason"},
		{"a field in capitals", "POST", commands, `{"Verb":"hold"}`, nil, 400, "Verb: is no field of this"},
		{"a field twice", "POST", commands, `{"verb":"hold","verb":"rollback"}`, nil, 400, "verb: is there twice"},
		{"a field in the wrong place", "POST", commands, `{"verb":"hold","lane":"reads"}`, nil, 400, `unknown field "lane"`},
		{"by in the body", "POST", commands, `{"verb":"hold","by":"ann"}`, nil, 400, "by: is found out from the token"},
		{"surface in the body", "POST", commands, `{"verb":"hold","surface":"slack"}`, nil, 400, "surface: is found out from the token"},
		{"expect is a text", "POST", commands, `{"verb":"hold","expect":"7"}`, nil, 400, `expect: "string": must be a whole number that is not negative`},
		{"expect is negative", "POST", commands, `{"verb":"hold","expect":-1}`, nil, 400, `expect: "number -1": must be a whole number that is not negative`},
		{"expect is broken", "POST", commands, `{"verb":"hold","expect":1.5}`, nil, 400, `expect: "number 1.5": must be`},
		{"verb is a number", "POST", commands, `{"verb":1}`, nil, 400, `verb: "number": must be a text`},
		{"to of another verb", "POST", commands, `{"verb":"hold","to":[{"lane":"reads","share":50}]}`, nil, 400, "to: is for rollback, adopt, advance, approve and reject only; hold has no choice"},
		{"hold-all of one rollout", "POST", commands, `{"verb":"hold-all"}`, nil, 400, `verb: "hold-all": is for all rollouts at once: POST /api/v1/hold-all`},
		{"release-all of one rollout", "POST", commands, `{"verb":"release-all"}`, nil, 400, `verb: "release-all": is for all rollouts at once: DELETE /api/v1/hold-all`},
		{"person of another verb", "POST", commands, `{"verb":"hold","person":"ann"}`, nil, 400, `person: "ann": is for handover only`},
		{"an odd person", "POST", commands, `{"verb":"handover","person":"an n"}`, nil, 400, `person: "an n": must be 1 to 100 letters`},
		{"since of another verb", "POST", commands, `{"verb":"start","since":"2026-11-29T03:00:00Z"}`, nil, 400, "since: "},
		{"since is a word", "POST", commands, `{"verb":"adopt","since":"yesterday"}`, nil, 400, `since: "yesterday": must be a moment such as`},
		{"since before all years", "POST", commands, `{"verb":"adopt","since":"0000-01-01T00:00:00+05:00"}`, nil, 400, `since: "0000-01-01T00:00:00+05:00": must be a moment such as`},
		{"since tomorrow", "POST", commands, `{"verb":"adopt","since":"2999-01-01T00:00:00Z"}`, nil, 400, `since: "2999-01-01T00:00:00Z": must not lie in the future`},
		{"to is no list", "POST", commands, `{"verb":"rollback","to":"reads:0"}`, nil, 400, `to: "string": must be a list`},
		{"to without a lane", "POST", commands, `{"verb":"rollback","to":[{"share":0}]}`, nil, 400, "to[0].lane: is missing"},
		{"to without a share", "POST", commands, `{"verb":"rollback","to":[{"lane":"reads"}]}`, nil, 400, "to[0].share: is missing"},
		{"to above 100", "POST", commands, `{"verb":"rollback","to":[{"lane":"reads","share":101}]}`, nil, 400, `to[0].share: "101": must be a whole percentage`},
		{"to below 0", "POST", commands, `{"verb":"rollback","to":[{"lane":"reads","share":-5}]}`, nil, 400, `to[0].share: "-5": must be a whole percentage`},
		{"to as a text", "POST", commands, `{"verb":"rollback","to":[{"lane":"reads","share":"25%"}]}`, nil, 400, "share"},
		{"to the same lane twice", "POST", commands, `{"verb":"rollback","to":[{"lane":"reads","share":0},{"lane":"reads","share":1}]}`, nil, 400, `to[1].lane: "reads": is there twice`},
		{"to too many lanes", "POST", commands, `{"verb":"rollback","to":[` + manyLanes(101) + `]}`, nil, 400, "must have at most 100 lanes"},
		{"a reason too long", "POST", commands, `{"verb":"hold","reason":"` + strings.Repeat("é", 1001) + `"}`, nil, 400, "reason: must have at most 1000 characters"},
		{"a reason that acts on a terminal", "POST", commands, `{"verb":"hold","reason":"a\u001b[2J"}`, nil, 400, "reason: has a control character at byte 1"},
		{"an odd request id", "POST", commands, `{"verb":"hold","request":"a b"}`, nil, 400, `request: "a b": must be at most 128 letters`},
		{"an odd idempotency key", "POST", commands, `{"verb":"hold"}`, []string{"Idempotency-Key", "a b"}, 400, `Idempotency-Key: "a b": must be`},
		{"two request ids", "POST", commands, `{"verb":"hold","request":"a"}`, []string{"Idempotency-Key", "b"}, 400, `request: "a": differs from the Idempotency-Key`},
		{"a form", "POST", commands, "verb=hold", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, `Content-Type "application/x-www-form-urlencoded": must be application/json`},
		{"no content type", "POST", commands, `{"verb":"hold"}`, []string{"Content-Type", ""}, 415, "must be application/json"},
		{"another charset", "POST", commands, `{"verb":"hold"}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, "must be application/json"},
		{"compressed", "POST", commands, `{"verb":"hold"}`, []string{"Content-Encoding", "gzip"}, 415, `Content-Encoding "gzip": send it as it is`},
		{"a query on a command", "POST", commands + "?force=1", `{"verb":"hold"}`, nil, 400, "force: there is no such parameter here"},
		{"HTML wanted", "GET", events, "", []string{"Accept", "text/html"}, 406, "only application/json, text/event-stream is served"},
		{"JSON not wanted", "GET", events, "", []string{"Accept", "application/json;q=0"}, 406, "only application/json, text/event-stream is served"},
		{"nonsense wanted", "GET", events, "", []string{"Accept", ";;;"}, 406, "only application/json, text/event-stream is served"},
		{"after is a word", "GET", events + "?after=now", "", nil, 400, `after: "now": must be a whole number from 0`},
		{"after is negative", "GET", events + "?after=-1", "", nil, 400, `after: "-1": must be a whole number`},
		{"after is too big", "GET", events + "?after=99999999999999999999", "", nil, 400, "after: "},
		{"after twice", "GET", events + "?after=1&after=2", "", nil, 400, "after: is there twice"},
		{"after is empty", "GET", events + "?after=", "", nil, 400, "after: must be a whole number"},
		{"limit 0", "GET", events + "?limit=0", "", nil, 400, `limit: "0": must be a whole number from 1 to 1000`},
		{"limit too big", "GET", events + "?limit=1001", "", nil, 400, `limit: "1001": must be`},
		{"an unknown parameter", "GET", events + "?before=1", "", nil, 400, "before: there is no such parameter here; there are after, limit"},
		{"a parameter where none is", "GET", "/api/v1/rollouts/orders-db/holds?state=held", "", nil, 400, "state: there is no such parameter here; there are none"},
		{"a parameter of a status", "GET", "/api/v1/rollouts/orders-db?x", "", nil, 400, "x: there is no such parameter here"},
		{"events of no rollout", "GET", "/api/v1/rollouts/nobody/events", "", nil, 404, "no such rollout"},
		{"later events of no rollout", "GET", "/api/v1/rollouts/nobody/events?after=5", "", nil, 404, "no such rollout"},
		{"an unknown state", "GET", rollouts + "?state=paused", "", nil, 400, `state: "paused": must be some of draft, preflight`},
		{"a state too many", "GET", rollouts + "?state=held,", "", nil, 400, "state: must be some of draft"},
		{"an empty owner", "GET", rollouts + "?owner=", "", nil, 400, "owner: is empty; leave it out"},
		{"a database that acts on a terminal", "GET", rollouts + "?database=%1b[2J", "", nil, 400, "database: has a control character"},
		{"a name to go on after that is too long", "GET", rollouts + "?after=" + strings.Repeat("x", 1025), "", nil, 400, "after: must have at most 1024 characters"},
		{"too long a list", "GET", rollouts + "?limit=1001", "", nil, 400, `limit: "1001": must be a whole number from 1 to 1000`},
		{"an order of a list", "GET", rollouts + "?sort=name", "", nil, 400, "sort: there is no such parameter here; there are state, database, owner, after, limit"},
		{"the house is no rollout", "GET", rollouts + "/*", "", nil, 404, "no such rollout"},
		{"gates of no rollout", "GET", rollouts + "/nobody/gates", "", nil, 404, "no such rollout"},
		{"gates of a while that is a number", "GET", one + "/gates?while=30", "", nil, 400, `while: "30": must be a duration such as 90s, 30m or 2h, from 1m0s to 192h0m0s`},
		{"gates of no while", "GET", one + "/gates?while=0s", "", nil, 400, `while: "0s": must be a duration`},
		{"gates of too long a while", "GET", one + "/gates?while=200h", "", nil, 400, `while: "200h": must be a duration`},
		{"tasks of no rollout", "GET", rollouts + "/nobody/tasks", "", nil, 404, "no such rollout"},
		{"tasks of an unknown lane", "GET", one + "/tasks?lane=dreams", "", nil, 400, `lane: "dreams": must be some of reads and writes`},
		{"tasks that stand nowhere", "GET", one + "/tasks?use=lost", "", nil, 400, `use: "lost": must be some of target, source`},
		{"approvals of no rollout", "GET", rollouts + "/nobody/approvals", "", nil, 404, "no such rollout"},
		{"approvals of one in parts", "GET", one + "/approvals?limit=1", "", nil, 400, "limit: there is no such parameter here"},
		{"approvals of nobody's", "GET", "/api/v1/approvals?mine=true", "", nil, 400, "mine: there is no such parameter here; there are after, limit"},
		{"holds of no rollout", "GET", rollouts + "/nobody/holds", "", nil, 404, "no such rollout"},
		{"the preflight of no rollout", "GET", rollouts + "/nobody/preflight", "", nil, 404, "no such rollout"},
		{"a preflight of no rollout", "POST", rollouts + "/nobody/preflight", "", nil, 404, "no such rollout"},
		{"a preflight with parameters", "POST", one + "/preflight?force=1", "", nil, 400, "force: there is no such parameter here"},
		{"events of an unknown kind", "GET", "/api/v1/events?kind=exploded", "", nil, 400, `kind: "exploded": must be some of planned`},
		{"events by nobody", "GET", "/api/v1/events?by=", "", nil, 400, "by: is empty; leave it out"},
		{"events from a place that is a word", "GET", "/api/v1/events?after=now", "", nil, 400, `after: "now": must be a whole number from 0`},
		{"hold-all without a body", "POST", all, "", nil, 400, "body: is empty"},
		{"hold-all of a database", "POST", all, `{"database":"orders"}`, nil, 400, "database: is no field of this; there are reason, request"},
		{"hold-all by somebody else", "POST", all, `{"by":"ann"}`, nil, 400, "by: is found out from the token"},
		{"hold-all with an odd id", "POST", all, `{"request":"a b"}`, nil, 400, `request: "a b": must be at most 128 letters`},
		{"hold-all as a form", "POST", all, "reason=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "must be application/json"},
		{"hold-all of a reason that acts on a terminal", "POST", all, `{"reason":"\u001b"}`, nil, 400, "reason: has a control character"},
		{"release-all with a force", "DELETE", all + "?force=1", "", nil, 400, "force: there is no such parameter here; there are reason"},
		{"release-all with an odd id", "DELETE", all, "", []string{"Idempotency-Key", "a b"}, 400, `Idempotency-Key: "a b": must be`},
		{"PUT of hold-all", "PUT", all, `{}`, nil, 405, "is not for this path"},
		{"a freeze of nothing", "POST", freezes, `{"for":"1h"}`, nil, 400, "database: is missing; * means every one"},
		{"a freeze without an end", "POST", freezes, `{"database":"orders"}`, nil, 400, "until: is missing; say until when, or for how long with for"},
		{"a freeze with two ends", "POST", freezes, `{"database":"orders","until":"2026-12-01T00:00:00Z","for":"1h"}`, nil, 400, `for: "1h": says the same as until; leave one out`},
		{"a freeze until tomorrow", "POST", freezes, `{"database":"orders","until":"tomorrow"}`, nil, 400, `until: "tomorrow": must be a moment such as 2026-11-30T02:00:00Z`},
		{"a freeze from Monday", "POST", freezes, `{"database":"orders","from":"Monday","for":"1h"}`, nil, 400, `from: "Monday": must be a moment such as`},
		{"a freeze for a long while", "POST", freezes, `{"database":"orders","for":"91d"}`, nil, 400, `for: "91d": must be a duration such as`},
		{"a freeze for ever", "POST", freezes, `{"database":"orders","for":"2161h"}`, nil, 400, `for: "2161h": must be a duration such as 90s, 30m or 2h, from 1s to 2160h0m0s`},
		{"a freeze that is a list", "POST", freezes, `[]`, nil, 400, "body: must be a JSON object"},
		{"freezes of a database", "GET", freezes + "?database=orders", "", nil, 400, "database: there is no such parameter here; there are after, limit"},
		{"the end of all freezes", "DELETE", freezes, "", nil, 405, "DELETE is not for this path"},
		{"quiet or not", "POST", quiet, `{"database":"orders","for":"1h"}`, nil, 400, "quiet: is missing; true: it is quiet again, false: it is not"},
		{"quiet is a word", "POST", quiet, `{"database":"orders","quiet":"yes"}`, nil, 400, `quiet: "string": must be true or false`},
		{"quiet until", "POST", quiet, `{"database":"orders","quiet":true,"for":"1h"}`, nil, 400, `until: "1h": is for quiet: false only`},
		{"a deploy without an end", "POST", quiet, `{"database":"orders","quiet":false,"what":"x"}`, nil, 400, "until: is missing"},
		{"a deploy for two days", "POST", quiet, `{"database":"orders","quiet":false,"what":"x","for":"48h"}`, nil, 400, `for: "48h": must be a duration such as 90s, 30m or 2h, from 1s to 24h0m0s`},
		{"a deploy of too many words", "POST", quiet, `{"database":"orders","quiet":false,"for":"1h","what":"` + strings.Repeat("x", 201) + `"}`, nil, 400, "what: must have at most 200 characters"},
		{"a deploy from a moment", "POST", quiet, `{"database":"orders","quiet":false,"from":"2026-11-30T02:00:00Z"}`, nil, 400, "from: is no field of this"},
		{"POST of the description", "POST", "/api/v1/openapi.yaml", "x", nil, 405, "GET is"},
		{"the description as HTML", "GET", "/api/v1/openapi.json", "", []string{"Accept", "text/html"}, 406, "only application/json is served"},
		{"no such path", "GET", "/api/v1/flags", "", nil, 404, "there is nothing at this path"},
		{"a slash too many", "GET", "/api/v1/rollouts/", "", nil, 404, "there is nothing at this path"},
		{"another version", "GET", "/api/v2/rollouts", "", nil, 404, "there is nothing at this path"},
		{"the wrong method", "DELETE", "/api/v1/rollouts/orders-db", "", nil, 405, "DELETE is not for this path; GET is"},
		{"GET of a command", "GET", commands, "", nil, 405, "GET is not for this path; POST is"},
		{"PUT of a plan", "PUT", plans, "rollout: a", nil, 405, "PUT is not for this path; POST is"},
		{"a plan as JSON", "POST", plans, "{}", []string{"Content-Type", "application/json"}, 415, "must be application/yaml"},
		{"an empty plan", "POST", plans, "", nil, 400, "body: is empty"},
		{"a plan too long", "POST", plans, "rollout: " + strings.Repeat("x", 1<<20), nil, 413, "longer than 1024 KiB"},
		{"a bad plan", "POST", plans, "nothing: here", nil, 422, "line 1: rollout: is missing"},
		{"a bad plan, dry", "POST", plans + "?dry_run=true", "nothing: here", nil, 422, "lanes: there must be one at least"},
		{"dry_run is yes", "POST", plans + "?dry_run=yes", "rollout: a", nil, 400, `dry_run: "yes": must be true or false`},
		{"dry_run is empty", "POST", plans + "?dry_run=", "rollout: a", nil, 400, "dry_run: must be true or false"},
		{"a plan's expect is a word", "POST", plans + "?expect=x", "rollout: a", nil, 400, `expect: "x": must be a whole number`},
		{"a plan's reason acts on a terminal", "POST", plans + "?reason=%1b[2J", "rollout: a", nil, 400, "reason: has a control character"},
		{"a report without a task", "POST", reports, `{"service":"checkout","sent_at":"2026-11-30T03:00:00Z"}`, nil, 400, "task: is missing"},
		{"a report without a service", "POST", reports, `{"task":"t","sent_at":"2026-11-30T03:00:00Z"}`, nil, 400, "service: is missing"},
		{"a report without a time", "POST", reports, `{"task":"t","service":"checkout"}`, nil, 400, "sent_at: is missing"},
		{"a report with an odd time", "POST", reports, `{"task":"t","service":"checkout","sent_at":"yesterday"}`, nil, 400, "yesterday"},
		{"a report from tomorrow", "POST", reports, `{"task":"t","service":"checkout","sent_at":"2999-01-01T00:00:00Z"}`, nil, 400, `sent_at: "2999-01-01T00:00:00Z": must not lie in the future`},
		{"a report sent before its task started", "POST", reports, `{"task":"t","service":"checkout","started_at":"2026-11-30T03:00:01Z","sent_at":"2026-11-30T03:00:00Z"}`, nil, 400, "started_at: "},
		{"a report of a nameless lane", "POST", reports, `{"task":"t","service":"checkout","sent_at":"2026-11-30T03:00:00Z","lanes":[{}]}`, nil, 400, "lanes[0].lane: is missing"},
		{"a report of a lane twice", "POST", reports, `{"task":"t","service":"checkout","sent_at":"2026-11-30T03:00:00Z","lanes":[{"lane":"a"},{"lane":"a"}]}`, nil, 400, `lanes[1].lane: "a": is there twice`},
		{"a report of a share above 100", "POST", reports, `{"task":"t","service":"checkout","sent_at":"2026-11-30T03:00:00Z","lanes":[{"lane":"a","share_seen":101}]}`, nil, 400, `lanes[0].share_seen: "101": must be`},
		{"a report of fewer than no connections", "POST", reports, `{"task":"t","service":"checkout","sent_at":"2026-11-30T03:00:00Z","lanes":[{"lane":"a","open":-1}]}`, nil, 400, `lanes[0].open: "-1": must not be negative`},
		{"a report with a text for a number", "POST", reports, `{"task":"t","service":"checkout","sent_at":"2026-11-30T03:00:00Z","lanes":[{"lane":"a","open":"many"}]}`, nil, 400, `lanes.open: "string": must be a whole number`},
		{"a report that acts on a terminal", "POST", reports, `{"task":"\u0007","service":"checkout","sent_at":"2026-11-30T03:00:00Z"}`, nil, 400, "task: has a control character"},
		{"a report too long", "POST", reports, `{"task":"` + strings.Repeat("x", 256<<10) + `"}`, nil, 413, "longer than 256 KiB"},
		{"a report of another service", "POST", reports, `{"task":"t","service":"billing","sent_at":"2026-11-30T03:00:00Z"}`, nil, 403, "the-reporter may report for the service checkout, not for billing"},
		{"basic authentication", "GET", "/api/v1/rollouts", "", []string{"Authorization", "Basic YTpi"}, 401, "no token was sent"},
		{"an unknown token", "GET", "/api/v1/rollouts", "", []string{"Authorization", "Bearer cut_nobody"}, 401, "the token is not known here"},
		{"an empty token", "GET", "/api/v1/rollouts", "", []string{"Authorization", "Bearer "}, 401, "no token was sent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t)
			role := Admin
			if tt.path == reports {
				role = Reporter
			}
			w := h.ask(role, tt.method, tt.path, tt.body, tt.headers...)
			p := problemOf(t, w)
			if p.Status != tt.status || !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("got %d %q, want %d %q", p.Status, p.Detail, tt.status, tt.detail)
			}
			if p.Status == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if p.Status == http.StatusUnauthorized && !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Error("401 without WWW-Authenticate")
			}
			if len(h.desk.cmds) > 0 || len(h.fleet.reports) > 0 || len(h.rules.cmds) > 0 {
				t.Errorf("something was done all the same: %v %v %v", h.desk.cmds, h.fleet.reports, h.rules.cmds)
			}
		})
	}
}
