package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Validate returns [Invalid] with all that is wrong with a plan, or nil. Fields
// are named as in the plan file. Zones are looked up in the machine's time zone
// database; nothing else outside of the plan is asked.
func (p *Plan) Validate() error {
	v := inspection{plan: p, tasks: make(map[string]int), windows: slices.Sorted(maps.Keys(p.Windows))}
	for _, service := range p.Services {
		v.tasks[service.Name] = service.Tasks
	}
	v.services = slices.Sorted(maps.Keys(v.tasks))
	for i := range p.Lanes {
		v.lanes = append(v.lanes, p.Lanes[i].Name)
	}
	slices.Sort(v.lanes)
	v.head()
	v.allServices()
	v.allLanes()
	for _, name := range v.windows {
		v.window("windows."+name, name, p.Windows[name])
	}
	v.span("soak.for", p.Soak.For, 0, longest)
	v.known("soak.contains", p.Soak.Contains, "window", v.windows)
	v.allGates()
	v.pace()
	if len(v.problems) == 0 {
		return nil
	}
	return v.problems
}

const (
	longest    = 366 * 24 * time.Hour // no plan waits longer; beyond it is a slip of the pen
	mostTasks  = 1_000_000            // keeps products of tasks and pools far from overflow
	mostBucket = 60                   // how many buckets a limit may look back on
	mostText   = 2000                 // bytes; every event with the plan carries it
	mostWrong  = 100                  // problems listed; nobody reads more
)

var (
	namePattern   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	keyPattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?$`)
	regionPattern = regexp.MustCompile(`^[a-z0-9-]+$`)
	accountNumber = regexp.MustCompile(`^[0-9]{12}$`)
	statPattern   = regexp.MustCompile(`^(Average|Maximum|Minimum|Sum|SampleCount|IQM|(p|tm|wm|tc|ts)[0-9]{1,3}(\.[0-9]+)?|(TM|WM|TC|TS|PR)\([0-9.%:]+\))$`)
)

// How long they may be. Counted in the patterns it would cost each start of a
// program 5 ms to compile them.
const (
	longestName = 63
	longestKey  = 100
	longestHost = 253 // without the dot at its end
)

func isName(name string) bool { return len(name) <= longestName && namePattern.MatchString(name) }

func isRegion(name string) bool { return len(name) <= longestName && regionPattern.MatchString(name) }

func isKey(name string) bool { return len(name) <= longestKey && keyPattern.MatchString(name) }

func isHost(name string) bool {
	return len(strings.TrimSuffix(name, ".")) <= longestHost && hostPattern.MatchString(name)
}

// inspection is one pass over a plan.
type inspection struct {
	plan     *Plan
	problems Invalid

	tasks                    map[string]int // by service
	services, lanes, windows []string       // the names that the plan defines, sorted
}

// want notes a problem unless a field is as it should be.
func (v *inspection) want(ok bool, field string, value any, allowed string) {
	switch {
	case ok || len(v.problems) > mostWrong:
	case len(v.problems) == mostWrong:
		v.problems = append(v.problems, Problem{Field: "plan", Allowed: "has more problems than these"})
	default:
		v.problems = append(v.problems, Problem{Field: field, Value: fmt.Sprint(value), Allowed: allowed})
	}
}

func (v *inspection) name(field, name string) {
	v.want(isName(name), field, name,
		"must be a name of lower-case letters, digits and inner hyphens, at most 63 characters")
}

// unique notes a value that an earlier field has.
func (v *inspection) unique(seen map[string]string, field, value string) {
	first, taken := seen[value]
	v.want(!taken || value == "", field, value, "must be unique; "+first+" is the same")
	if !taken {
		seen[value] = field
	}
}

// text notes what would not survive a log line or a file. An empty text is fine.
func (v *inspection) text(field, text string, also ...rune) {
	odd := func(r rune) bool {
		joiner := r == '\u200c' || r == '\u200d'
		return r == unicode.ReplacementChar || !unicode.IsGraphic(r) && !joiner && !slices.Contains(also, r)
	}
	v.want(len(text) <= mostText && !strings.ContainsFunc(text, odd) && text == strings.TrimSpace(text), field, text,
		"must be readable text of at most 2000 bytes, without control characters or blanks around it")
}

func (v *inspection) whole(field string, n, low, high int) {
	v.want(low <= n && n <= high, field, n, fmt.Sprintf("must be a whole number from %d to %d", low, high))
}

func (v *inspection) span(field string, d, low, high time.Duration) {
	plain := strings.NewReplacer("h0m0s", "h", "m0s", "m")
	v.want(low <= d && d <= high, field, d, plain.Replace(fmt.Sprintf("must be a duration from %v to %v", low, high)))
}

func (v *inspection) chosen(field, value string, allowed ...string) {
	v.want(slices.Contains(allowed, value), field, value, "must be one of "+strings.Join(allowed, ", "))
}

// known notes names that the plan does not define, and those named twice.
func (v *inspection) known(field string, names []string, what string, defined []string) {
	seen, allowed := make(map[string]string), fmt.Sprintf("must be a %s of the plan: %s", what, listed(defined))
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		_, ok := slices.BinarySearch(defined, name)
		v.want(ok, at, name, allowed)
		v.unique(seen, at, name)
	}
}

// listed returns names for a sentence, the first few if there are many.
func listed(names []string) string {
	const many = 12
	switch {
	case len(names) == 0:
		return "there is none"
	case len(names) > many:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:many], ", "), len(names)-many)
	default:
		return strings.Join(names, ", ")
	}
}

func (v *inspection) head() {
	p := v.plan
	v.name("rollout", p.Name)
	v.want(p.Owner != "", "owner", "", "must say which team or person answers for the rollout")
	v.text("owner", p.Owner)
	v.text("reason", p.Reason, '\n')
	v.chosen("kind", string(p.Kind), string(SameData), string(MovingData))
	v.name("database.name", p.Database.Name)
	v.name("database.engine", p.Database.Engine)
	v.whole("database.max_connections", p.Database.MaxConnections, 0, mostTasks)
	v.place("database", p.Database.Account, p.Database.Region)
	v.endpoint("source", p.Source)
	v.endpoint("target", p.Target)
	host := func(e Endpoint) string { return strings.ToLower(strings.TrimSuffix(e.Host, ".")) }
	v.want(host(p.Source) != host(p.Target) || p.Source.Port != p.Target.Port || p.Source.Host == "",
		"target", fmt.Sprintf("%s:%d", p.Target.Host, p.Target.Port), "must be another host or port than the source")
}

func (v *inspection) place(field, account, region string) {
	v.want(account == "" || accountNumber.MatchString(account), field+".account", account, "must be an account number of 12 digits")
	v.want(region == "" || isRegion(region), field+".region", region, "must be a region such as ap-northeast-1")
}

func (v *inspection) endpoint(field string, e Endpoint) {
	_, err := netip.ParseAddr(e.Host)
	v.want(err == nil || isHost(e.Host), field+".host", e.Host, "must be a host name or an address, without port or scheme")
	v.whole(field+".port", e.Port, 1, 65535)
	v.chosen(field+".kind", e.Kind, "direct", "rds-proxy", "proxysql", "pgbouncer", "cluster")
	v.labels(field+".settings", e.Settings)
}

func (v *inspection) labels(field string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := field + "." + key
		v.want(key != "", at, "", "must have a name")
		v.text(at, key)
		v.text(at, labels[key])
	}
}

func (v *inspection) allServices() {
	v.want(len(v.plan.Services) > 0, "services", "", "must list at least one service that uses the database")
	seen := make(map[string]string)
	for i, s := range v.plan.Services {
		at := fmt.Sprintf("services[%d]", i)
		v.name(at+".name", s.Name)
		v.unique(seen, at+".name", s.Name)
		v.whole(at+".tasks", s.Tasks, 1, mostTasks)
		v.whole(at+".pool_max", s.PoolMax, 1, mostTasks)
		v.span(at+".socket_timeout", s.SocketTimeout, 0, longest)
		v.span(at+".pool_lifetime", s.PoolLifetime, 0, longest)
	}
}

func (v *inspection) allLanes() {
	v.want(len(v.plan.Lanes) > 0, "lanes", "", "must have at least one lane")
	names, keys := make(map[string]string), make(map[string]string)
	for i := range v.plan.Lanes {
		lane, at := &v.plan.Lanes[i], fmt.Sprintf("lanes[%d]", i)
		v.lane(at, lane)
		v.unique(names, at+".name", lane.Name)
		if lane.Flag.Name != "" {
			v.unique(keys, at+".flag", lane.Flag.String())
		}
	}
	v.order()
}

func (v *inspection) lane(at string, lane *LanePlan) {
	v.name(at+".name", lane.Name)
	v.chosen(at+".class", string(lane.Class), string(Reads), string(Writes))
	v.want(len(lane.Services) > 0, at+".services", "", "must name at least one service")
	v.known(at+".services", lane.Services, "service", v.services)
	v.want(isKey(lane.Flag.Name), at+".flag.key", lane.Flag.Name,
		"must be the lane's own flag key, of letters, digits, _ and -, at most 100 characters")
	v.want(isKey(lane.Flag.Namespace), at+".flag.namespace", lane.Flag.Namespace,
		"must be a namespace of letters, digits, _ and -, at most 100 characters")
	v.stages(at+".stages", lane)
	v.want(v.plan.Kind != MovingData || lane.Class != Writes || len(lane.Stages) == 1, at+".stages", fmt.Sprintf("%d stages", len(lane.Stages)),
		"must be the one stage 100%: the writes of a moving-data plan go over in one step")
}

func (v *inspection) stages(at string, lane *LanePlan) {
	v.want(len(lane.Stages) > 0, at, "", "must have at least one stage")
	tasks := 0 // stays so where the services are unknown, which is a problem of its own
	for _, service := range lane.Services {
		tasks += v.tasks[service]
	}
	before := flags.None
	for i, stage := range lane.Stages {
		field := fmt.Sprintf("%s[%d]", at, i)
		last := i == len(lane.Stages)-1
		v.want(before < stage.Share && stage.Share <= flags.All, field+".share", stage.Share,
			fmt.Sprintf("must be more than %v and at most 100%%", before))
		v.want(!last || stage.Share >= flags.All, field+".share", stage.Share, "must be 100% in the last stage")
		v.span(field+".bake", stage.Bake, time.Millisecond, longest)
		v.seen(field+".bake", stage.Bake)
		v.whole(field+".min_tasks", stage.MinTasks, 1, cmp.Or(tasks, mostTasks))
		v.known(field+".contains", stage.Contains, "window", v.windows)
		v.whole(field+".approvals", stage.Approvals, 0, 10)
		before = max(before, stage.Share)
	}
}

// order notes writes that would rise before the same service's reads, and a
// service that two lanes of one class would move. A service that has no reads
// lane may have a writes lane: nothing is there that it should wait for.
func (v *inspection) order() {
	carries := make(map[[2]string]int) // the lane, by class and service
	for i, lane := range v.plan.Lanes {
		for k, service := range lane.Services {
			at := fmt.Sprintf("lanes[%d].services[%d]", i, k)
			key := [2]string{string(lane.Class), service}
			first, taken := carries[key]
			v.want(!taken || first == i, at, service, fmt.Sprintf("must have its %s in one lane; lanes[%d] has them", lane.Class, first))
			if !taken {
				carries[key] = i
			}
			writes, early := carries[[2]string{string(Writes), service}]
			v.want(lane.Class != Reads || !early, at, service,
				fmt.Sprintf("must have its reads in a lane before its writes, which lanes[%d] has", writes))
		}
	}
}

func (v *inspection) window(at, name string, w Window) {
	v.name(at, name)
	if w.Daily {
		const day = 24 * time.Hour
		fits := 0 <= w.From && w.From < day && 0 <= w.To && w.To <= day && w.From != w.To
		v.want(fits && w.From%time.Minute == 0 && w.To%time.Minute == 0, at+".time", fmt.Sprintf("%v-%v", w.From, w.To), `must be two different times of day such as "01:00-05:00"`)
		v.want(w.Zone != "", at+".zone", "", "must be the time zone of the times, such as Asia/Tokyo or UTC")
	} else {
		v.want(0 <= w.FromMinute && w.FromMinute <= 59 && 0 <= w.ToMinute && w.ToMinute <= 59, at+".minute",
			fmt.Sprintf("%d-%d", w.FromMinute, w.ToMinute), "must be a minute of the hour from 0 to 59, or a range such as 25-26 or 58-2")
		v.want(w.Zone == "", at+".zone", w.Zone, "must be left out: minutes and weekdays of such a window are those of UTC")
	}
	_, err := time.LoadLocation(w.Zone)
	v.want(err == nil && w.Zone != "Local", at+".zone", w.Zone, "must be a time zone such as Asia/Tokyo or UTC")
	seen := make(map[string]string)
	for i, day := range w.Weekdays {
		field := fmt.Sprintf("%s.weekdays[%d]", at, i)
		v.want(time.Sunday <= day && day <= time.Saturday, field, day, "must be a day of the week")
		v.unique(seen, field, day.String())
	}
}

func (v *inspection) pace() {
	p := v.plan
	v.span("guard.every", p.Guard.Every, 100*time.Millisecond, time.Minute)
	v.chosen("on_raise", string(p.OnRaise), string(OnRaiseHold), string(OnRaiseRestore))
	v.span("converge.within", p.Converge.Within, time.Millisecond, longest)
	v.whole("converge.min_reporting", p.Converge.MinReporting, 1, 100)
	v.span("converge.interval", p.Converge.Interval, time.Millisecond, longest)
	v.span("patience", p.Patience, time.Millisecond, longest)
	v.span("grace", p.Grace, time.Millisecond, longest)
	v.span("recovery", p.Recovery, time.Millisecond, longest)
}
