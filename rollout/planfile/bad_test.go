package planfile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

var update = flag.Bool("update", false, "write what the bad plans' errors are now; read the difference")

// bad is a plan to refuse: testdata/every-field.yaml with a change, or a text of its own.
type bad struct {
	name     string
	old, new string
	and      []string // more of old and new
	passes   bool     // the schema, which knows only the structure
}

func (b bad) text(t *testing.T) []byte {
	t.Helper()
	if b.old == "" {
		return []byte(b.new)
	}
	text := everyField(t)
	for change := range slices.Chunk(append([]string{b.old, b.new}, b.and...), 2) {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("the plan has no %q", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return []byte(text)
}

// TestABadPlanSaysWhatIsWrongWhereAndWhatIsAllowed holds each error, word for
// word, against the transcript in testdata/bad.txt.
func TestABadPlanSaysWhatIsWrongWhereAndWhatIsAllowed(t *testing.T) {
	const file = "testdata/bad.txt"
	var transcript strings.Builder
	for _, b := range badPlans() {
		_, err := Parse("plan.yaml", b.text(t))
		var invalid rollout.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want rollout.Invalid", b.name, err)
			continue
		}
		for _, p := range invalid {
			if p.Line < 1 || p.Field == "" || p.Allowed == "" {
				t.Errorf("%s: %+v lacks line, field or what is allowed", b.name, p)
			}
		}
		fmt.Fprintf(&transcript, "# %s\n%v\n\n", b.name, invalid)
	}
	if *update {
		if err := os.WriteFile(file, []byte(transcript.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(transcript.String(), "\n")); diff != "" {
		t.Errorf("the errors differ (-want +got); renew with -update and read the difference:\n%s", diff)
	}
}

func badPlans() []bad {
	return slices.Concat(badFiles(), badFields(), badValues(), badSense(), badGates())
}

// badFiles are no YAML that a plan may be written in.
func badFiles() []bad {
	return []bad{
		{name: "an empty file", new: "# nothing yet\n"},
		{name: "a lone separator", new: "---\n"},
		{name: "a file too large", new: "#" + strings.Repeat(" ", MaxSize)},
		{name: "a list instead of fields", new: "- rollout: a\n"},
		{name: "text instead of fields", new: "\n\nhello\n"},
		{name: "two documents", old: "recovery: 15m\n", new: "recovery: 15m\n---\nrollout: other\n"},
		{name: "a broken second document", old: "recovery: 15m\n", new: "recovery: 15m\n---\n{\n"},
		{name: "a byte that is no UTF-8", old: "team-orders", new: "team-\xff"},
		{name: "a control character", old: "team-orders", new: "team\x00orders"},
		{name: "a tab for indentation", old: "    class: reads", new: "\tclass: reads"},
		{name: "a bracket left open", old: "soak: {for: 7d, contains: [night]}", new: "soak: {for: 7d, contains: [night]"},
		{name: "a colon forgotten", old: "on_raise: restore", new: "on_raise restore"},
		{name: "an odd indentation", old: "    class: writes", new: "   class: writes"},
		{name: "a colon too many", old: "owner: team-orders", new: "owner: team: orders"},
		{name: "an error on the first line", old: "rollout: orders-db", new: "rollout: @orders"},
		{name: "an anchor and its alias", old: "services: [checkout, cart]", new: "services: [&c checkout, *c]"},
		{name: "an anchor on the plan itself", old: "rollout: orders-db\n", new: "--- &all\nrollout: orders-db\n"},
		{name: "a merge key", old: "burst: {minute: 25-26}", new: "burst: {<<: {minute: 25-26}, minute: 25}"},
		{name: "a bomb of aliases", old: "reason: fewer connections", new: "reason: {a: &a [x, x, x], b: &b [*a, *a, *a], c: [*b, *b, *b]}"},
		{name: "a tag", old: "owner: team-orders", new: "owner: !!binary aGk="},
		{name: "a name of another type", old: "pinned: true", new: "80: true"},
		{name: "nesting without end", old: "reason: fewer connections", new: "reason: " + strings.Repeat("[", 20) + strings.Repeat("]", 20)},
		{name: "a list without end", old: "services: [checkout, cart]", new: "services: [" + strings.Repeat("x, ", 1001) + "]"},
	}
}

// badFields are too many, too few or misspelt.
func badFields() []bad {
	return []bad{
		{name: "an unknown field of the plan", old: "reason: fewer", new: "colour: fewer"},
		{name: "a misspelt field of a stage", old: "bake: 7d", new: "bakes: 7d"},
		{name: "a hyphen for an underscore", old: "max_connections: 16000", new: "max-connections: 16000"},
		{name: "a misspelt limit is not missing, too", old: "limit: {above: 50ms, below: 0.5us, for: 2 of 3}", new: "limits: {above: 50ms}"},
		{name: "a field of another place", old: "grace: 1m", new: "within: 1m"},
		{name: "a field twice", old: "owner: team-orders", new: "owner: team-orders\nowner: team-cart"},
		{name: "a field twice on a line", old: "{minute: 25-26}", new: "{minute: 25-26, minute: 27}"},
		{name: "a field without a value", old: "reason: fewer connections", new: "reason:"},
		{name: "a null", old: "tasks: 120", new: "tasks: ~"},
		{name: "no owner", old: "owner: team-orders\n", new: ""},
		{name: "no kind", old: "kind: same-data\n", new: ""},
		{name: "no database", old: "database: {name: orders, engine: aurora-mysql, max_connections: 16000, region: ap-northeast-1, account: \"123456789012\"}\n", new: ""},
		{name: "a target without host and kind", old: "host: orders-proxy.example, port: 3306, kind: rds-proxy,", new: "port: 3306,"},
		{name: "a lane without a flag key", old: "flag: {key: orders-db-writes}", new: "flag: {namespace: default}"},
		{name: "a lane without a flag", old: "    flag: {key: orders-db-writes}\n", new: ""},
		{name: "a stage without share and bake", old: "{share: 100%, bake: 7d}", new: "{min_tasks: 1}"},
		{name: "no stage at all", old: "defaults: {bake: 2h, min_tasks: 2, contains: [burst], approvals: 2, go: manual}", new: "stages: []"},
		{name: "a service without tasks", old: "tasks: 10, ", new: ""},
	}
}

// badValues have the wrong type, unit or form.
func badValues() []bad {
	return []bad{
		{name: "a mapping instead of a list", old: "services: [checkout, cart]", new: "services: {checkout: cart}"},
		{name: "text instead of a list", old: "services: [checkout]", new: "services: checkout"},
		{name: "a list instead of a mapping", old: "guard: {every: 10s}", new: "guard: [10s]"},
		{name: "text instead of a mapping", old: "flag: {key: orders-db-writes}", new: "flag: orders-db-writes"},
		{name: "a list instead of text", old: "owner: team-orders", new: "owner: [team-orders]"},
		{name: "an account that looks like a number", old: `account: "123456789012"`, new: "account: 123456789012"},
		{name: "a truth instead of text", old: "owner: team-orders", new: "owner: true"},
		{name: "a number in a list of texts", old: "[checkout, cart]", new: "[checkout, 7]"},
		{name: "a list as a setting", old: "pinned: true", new: "pinned: [true]"},
		{name: "a quoted number", old: "port: 3306, kind: direct", new: `port: "3306", kind: direct`},
		{name: "a fraction of a task", old: "tasks: 120", new: "tasks: 1.5"},
		{name: "an octal number", old: "tasks: 120", new: "tasks: 0o17", passes: true},
		{name: "a number with a leading zero", old: "tasks: 120", new: "tasks: 010", passes: true},
		{name: "a number beyond all bounds", old: "tasks: 120", new: "tasks: 99999999999999999999"},
		{name: "a negative number", old: "pool_max: 38", new: "pool_max: -1"},
		{name: "yes for true", old: "target: true", new: "target: yes"},
		{name: "on for a duration", old: "patience: 20m", new: "patience: on"},
		{name: "a duration without a unit", old: "patience: 20m", new: "patience: 20"},
		{name: "a duration of an unknown unit", old: "patience: 20m", new: "patience: 20min"},
		{name: "a negative duration", old: "patience: 20m", new: "patience: -20m"},
		{name: "a duration with a blank", old: "patience: 20m", new: "patience: 20 m"},
		{name: "a duration beyond all bounds", old: "patience: 20m", new: "patience: 9999999h", passes: true},
		{name: "a duration that runs over", old: "patience: 20m", new: "patience: 9999d2562047h", passes: true},
		{name: "a bake that is over before a gate could see a breach", old: "bake: 15m", new: "bake: 1m", passes: true},
		{name: "a duration of years", old: "patience: 20m", new: "patience: 9999d", passes: true},
		{name: "a share without its sign", old: "share: 50%", new: "share: 50"},
		{name: "a share of half a percent", old: "share: 50%", new: "share: 0.5%"},
		{name: "a part reporting without its sign", old: "min_reporting: 95%", new: "min_reporting: 95"},
		{name: "a go that is neither", old: "go: auto", new: "go: yes"},
		{name: "a minute beyond the hour", old: "minute: 25-26", new: "minute: 25-60"},
		{name: "a zone of minutes", old: "minute: 25-26", new: "minute: 25-26, zone: UTC"},
		{name: "no minutes", old: "minute: 25-26", new: "minute: often"},
		{name: "a time without minutes", old: `"22:00-05:00"`, new: "22-05"},
		{name: "a time beyond the day", old: `"22:00-05:00"`, new: `"22:00-24:30"`, passes: true},
		{name: "times that are the same", old: `"22:00-05:00"`, new: `"22:00-22:00"`, passes: true},
		{name: "a weekday in full", old: "[mon, fri]", new: "[monday, fri]"},
		{name: "a weekday twice", old: "[mon, fri]", new: "[mon, mon]"},
		{name: "no weekday", old: "[mon, fri]", new: "[]"},
	}
}

// badSense is well-formed and makes no sense.
func badSense() []bad {
	return []bad{
		{name: "a name with capitals", old: "rollout: orders-db", new: "rollout: Orders_DB"},
		{name: "a name too long", old: "rollout: orders-db", new: "rollout: " + strings.Repeat("o", 64)},
		{name: "a story for a reason", old: "fewer connections", new: strings.Repeat("blah ", 500), passes: true},
		{name: "an owner of blanks", old: "owner: team-orders", new: `owner: "  "`, passes: true},
		{name: "a kind that does not exist", old: "kind: same-data", new: "kind: same"},
		{name: "an account of eleven digits", old: `account: "123456789012"`, new: `account: "12345678901"`},
		{name: "a port in the host", old: "host: orders.cluster-x.example", new: `host: "orders.example:3306"`, passes: true},
		{name: "a port beyond the last", old: "port: 3306, kind: direct", new: "port: 70000, kind: direct"},
		{name: "an endpoint of no kind", old: "kind: rds-proxy", new: "kind: proxy"},
		{name: "a target that is the source", old: "host: orders-proxy.example", new: "host: ORDERS.cluster-x.example.", passes: true},
		{name: "two services of one name", old: "name: cart", new: "name: checkout", passes: true},
		{name: "two lanes of one name", old: "- name: writes", new: "- name: reads", passes: true},
		{name: "two lanes on one flag", old: "key: orders-db-writes", new: "key: orders-db-reads", passes: true},
		{name: "a flag key with a blank", old: "key: orders-db-writes", new: "key: orders db"},
		{name: "a lane of no class", old: "class: writes", new: "class: both"},
		{name: "a service that is not there", old: "services: [checkout]", new: "services: [chekout]", passes: true},
		{name: "a service twice in a lane", old: "[checkout, cart]", new: "[checkout, checkout]"},
		{name: "writes before reads", old: "class: writes", new: "class: reads", and: []string{"class: reads", "class: writes"}, passes: true},
		{name: "reads in two lanes", old: "class: writes", new: "class: reads", passes: true},
		{name: "shares that do not rise", old: "share: 50%", new: "share: 10%", passes: true},
		{name: "a share of nothing", old: "share: 10%", new: "share: 0%", passes: true},
		{name: "a share of more than all", old: "share: 100%", new: "share: 101%", passes: true},
		{name: "a ladder that ends early", old: "share: 100%", new: "share: 99%", passes: true},
		{name: "a bake of no time", old: "bake: 15m", new: "bake: 0s", passes: true},
		{name: "more tasks than there are", old: "min_tasks: 1", new: "min_tasks: 131", passes: true},
		{name: "no tasks needed", old: "min_tasks: 1", new: "min_tasks: 0"},
		{name: "a default that is wrong, told once and there", old: "approvals: 2", new: "approvals: 11"},
		{name: "a default window that is not there", old: "contains: [burst], approvals", new: "contains: [bursts], approvals", passes: true},
		{name: "a bake in a window that nothing defines", old: "[burst, night], approvals", new: "[burst, noon], approvals", passes: true},
		{name: "a soak in a window that nothing defines", old: "soak: {for: 7d, contains: [night]}", new: "soak: {contains: [noon]}", passes: true},
		{name: "a window of neither kind", old: "{minute: 25-26}", new: "{zone: UTC}"},
		{name: "a window of both kinds", old: "{minute: 25-26}", new: `{minute: 25-26, time: "01:00-02:00", zone: UTC}`},
		{name: "a time without a zone", old: ", zone: Asia/Tokyo", new: ""},
		{name: "a zone that does not exist", old: "Asia/Tokyo", new: "Asia/Tokio", passes: true},
		{name: "the zone of whatever machine this is", old: "Asia/Tokyo", new: "Local", passes: true},
		{
			name: "several steps for the writes of moving data", old: "kind: same-data", new: "kind: moving-data",
			and: []string{"defaults: {bake: 2h, min_tasks: 2, contains: [burst], approvals: 2, go: manual}", "stages: [{share: 50%, bake: 1h}, {share: 100%, bake: 1h}]"}, passes: true,
		},
		{name: "a guard that sleeps", old: "every: 10s", new: "every: 2m", passes: true},
		{name: "a guard that spins", old: "every: 10s", new: "every: 1ms", passes: true},
		{name: "a raise met by nothing", old: "on_raise: restore", new: "on_raise: ignore"},
		{name: "nobody needs to report", old: "min_reporting: 95%", new: "min_reporting: 0%", passes: true},
		{name: "no patience", old: "patience: 20m", new: "patience: 0s", passes: true},
	}
}

// badGates would not protect anything.
func badGates() []bad {
	before, _, _ := strings.Cut(leastPlan, "gates:")
	return []bad{
		{name: "no gate at all", new: before + "gates: []\n"},
		{name: "an account emptied", old: `account: "210987654321", region: us-east-1`, new: `account: ""`, passes: true},
		{name: "two gates of one name", old: "name: failed-opens", new: "name: borrow-wait", passes: true},
		{name: "only gates on errors", old: "name: DatabaseConnectionsBorrowLatency", new: "name: HTTPCode_Target_5XX_Count", passes: true},
		{name: "a source that does not exist", old: "source: tasks", new: "source: prometheus"},
		{name: "a gate without a metric", old: "    metric: {name: failed_opens, period: 5s, per: second, lane: reads, target: true, stat: Sum}\n", new: ""},
		{name: "a metric without a name", old: "name: failed_opens, ", new: ""},
		{name: "a CloudWatch metric without namespace and stat", old: "namespace: AWS/RDS, name: DatabaseConnectionsBorrowLatency, dimensions: {ProxyName: orders}, stat: Maximum", new: "name: DatabaseConnectionsBorrowLatency"},
		{name: "a stat that does not exist", old: "stat: Maximum", new: "stat: Max", passes: true},
		{name: "a dimension without a value", old: "{ProxyName: orders}", new: `{ProxyName: ""}`, passes: true},
		{name: "a period that CloudWatch does not have", old: "period: 60s", new: "period: 90s", passes: true},
		{name: "a short period that CloudWatch does not have", old: "period: 60s", new: "period: 15s", passes: true},
		{name: "a period of tasks that is too short", old: "period: 5s", new: "period: 5ms", passes: true},
		{name: "a rate that tasks do not have", old: "per: second", new: "per: minute"},
		{name: "a rate of CloudWatch", old: "stat: Maximum,", new: "stat: Maximum, per: second,"},
		{name: "a lane of CloudWatch", old: "stat: Maximum,", new: "stat: Maximum, lane: reads, target: true,"},
		{name: "a place and dimensions of tasks", old: "stat: Sum}", new: `stat: Sum, account: "123456789012", region: us-east-1, namespace: App, dimensions: {a: b}}`},
		{name: "a lane of the metric that is not there", old: "lane: reads, target", new: "lane: red, target", passes: true},
		{name: "a unit that does not exist", old: "unit: us", new: "unit: usec"},
		{name: "a unit that is another's limit", old: "unit: us", new: "unit: percent", passes: true},
		{name: "a limit without the metric's unit", old: "above: 50ms", new: "above: 50", passes: true},
		{name: "a limit of another quantity", old: "above: 50ms", new: "above: 62%", passes: true},
		{name: "a percentage without its sign", old: "unit: us}\n    limit: {above: 50ms, below: 0.5us,", new: "unit: percent}\n    limit: {above: 62,", passes: true},
		{name: "a limit with a unit where the metric has none", old: "above: 1.5", new: "above: 1.5/s", passes: true},
		{name: "a limit in quotes", old: "above: 1.5", new: `above: "1.5"`},
		{name: "a limit that is no number", old: "above: 1.5", new: "above: .nan"},
		{name: "a limit without end", old: "above: 1.5", new: "above: .inf"},
		{name: "a limit in words", old: "above: 50ms", new: "above: much"},
		{name: "a limit as a list", old: "above: 50ms", new: "above: [50ms]"},
		{name: "a gate without a condition", old: "limit: {above: 1.5}", new: "limit: {for: 1 of 2}"},
		{name: "a gate without a limit", old: "    limit: {above: 1.5}\n", new: ""},
		{name: "a band inside out", old: "below: 0.5us", new: "below: 60ms", passes: true},
		{name: "more bad buckets than buckets", old: "for: 2 of 3", new: "for: 3 of 2", passes: true},
		{name: "no bucket", old: "for: 2 of 3", new: "for: 0 of 3", passes: true},
		{name: "more buckets than are kept", old: "for: 2 of 3", new: "for: 2 of 61", passes: true},
		{name: "buckets without of", old: "for: 2 of 3", new: "for: 2/3"},
		{name: "buckets as a duration", old: "for: 2 of 3", new: "for: 3m"},
		{name: "an absence of no meaning", old: "absent: zero", new: "absent: ok"},
		{name: "a breach without a consequence", old: "    on_breach: zero\n", new: ""},
		{name: "a breach with an unknown consequence", old: "on_breach: zero", new: "on_breach: rollback"},
		{name: "a scope that does not exist", old: "scope: database", new: "scope: service"},
		{name: "a lane in scope that is not there", old: "lanes: [reads]", new: "lanes: [reads, red]", passes: true},
		{name: "lanes of a gate on the database", old: "scope: database", new: "lanes: [reads]", passes: true},
		{name: "another lane than the metric's", old: "lanes: [reads]", new: "lanes: [writes]", passes: true},
		{name: "points that come days later", old: "delay: 3m", new: "delay: 2d", passes: true},
	}
}
