package gates

import (
	"slices"
	"strings"
	"time"
)

// Gate is a rule on one metric.
type Gate struct {
	Name     string        `json:"name"`
	Source   string        `json:"source"` // which reader has the metric: cloudwatch, tasks
	Metric   Metric        `json:"metric"`
	Limit    Limit         `json:"limit"`
	Absent   Absent        `json:"absent"`
	OnBreach OnBreach      `json:"on_breach"`
	Scope    Scope         `json:"scope"`
	Lanes    []string      `json:"lanes,omitempty"` // of a lane-scoped gate: which lanes its metric speaks of; none means all
	Delay    time.Duration `json:"delay"`           // how long after a bucket's end its point can be trusted (publish delay)
}

// Metric says where a series is found. It is comparable by [Metric.ID].
type Metric struct {
	Account    string            `json:"account,omitempty"`
	Region     string            `json:"region,omitempty"`
	Namespace  string            `json:"namespace,omitempty"`
	Name       string            `json:"name"`
	Dimensions map[string]string `json:"dimensions,omitempty"`
	Stat       string            `json:"stat,omitempty"`   // Average, Maximum, Sum, p99 …
	Period     time.Duration     `json:"period"`           // length of a bucket
	Unit       string            `json:"unit,omitempty"`   // what the values mean: us, ms, s, count, percent … never converted by a reader
	Per        string            `json:"per,omitempty"`    // tasks: "second" makes a rate of a count
	Lane       string            `json:"lane,omitempty"`   // tasks: only what they report of this lane
	Target     bool              `json:"target,omitempty"` // tasks: only tasks that use the target
}

// ID returns a text that two metrics share if, and only if, they name the same series.
func (m Metric) ID() string {
	var b strings.Builder
	for _, part := range []string{m.Account, m.Region, m.Namespace, m.Name, m.Stat, m.Period.String(), m.Per, m.Lane} {
		b.WriteString(part)
		b.WriteByte(0)
	}
	if m.Target {
		b.WriteString("target")
	}
	names := make([]string, 0, len(m.Dimensions))
	for name := range m.Dimensions {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteByte(0)
		b.WriteString(name + "\x00" + m.Dimensions[name])
	}
	return b.String()
}

// Limit is what a value may not go beyond, in the unit of the metric. With both
// Above and Below it is a band, breached outside of it.
type Limit struct {
	Above *float64 `json:"above,omitempty"`
	Below *float64 `json:"below,omitempty"`
	M     int      `json:"m"` // a breach is M bad buckets…
	N     int      `json:"n"` // …in any N consecutive distinct ones
}

// Absent says what a missing point means.
type Absent string

// The meanings of a missing point.
const (
	AbsentUnknown    Absent = "unknown"     // nothing is known: no_data
	AbsentZero       Absent = "zero"        // the source publishes no zeros: it is one
	AbsentNotStarted Absent = "not_started" // the series begins with the first traffic; before that it blocks no first stage
)

// OnBreach says what a breach does.
type OnBreach string

// What a breach does, worst first.
const (
	OnBreachZero     OnBreach = "zero"     // the lanes in scope go to 0 %
	OnBreachPrevious OnBreach = "previous" // the lane raised last goes back one stage
	OnBreachHold     OnBreach = "hold"     // nothing rises until a person resumes
)

// Scope says whom a breach concerns.
type Scope string

// The scopes of a gate.
const (
	ScopeDatabase Scope = "database" // a shared resource: all lanes
	ScopeLane     Scope = "lane"     // a metric tagged by lane: the gate's Lanes
)

// Point is one bucket of a series.
type Point struct {
	Start       time.Time `json:"start"` // the bucket covers [Start, Start+Period)
	Value       float64   `json:"value"`
	Provisional bool      `json:"provisional,omitempty"` // may still change: may breach an upper limit, never pass
}

// Series is what a reader found: points, oldest first, at most one a bucket; or
// the cause why there is nothing to judge.
type Series struct {
	Points []Point `json:"points"`
	Cause  Cause   `json:"cause,omitempty"` // empty if the source answered in full
	Note   string  `json:"note,omitempty"`  // what the source said, for a person
}

// Cause says why a verdict is inconclusive.
type Cause string

// The causes of an inconclusive verdict.
const (
	NotStarted Cause = "not_started" // no point yet, and none is due before the first traffic
	NoData     Cause = "no_data"     // the source answered, without a point
	Stale      Cause = "stale"       // the newest point is too old
	Partial    Cause = "partial"     // the source says that data is missing
	Throttled  Cause = "throttled"   // the source refuses to answer so often
	Forbidden  Cause = "forbidden"   // we may not read it
	TooFew     Cause = "too_few"     // too little behind the value
	NaN        Cause = "nan"         // a value that is no number
	Config     Cause = "config"      // the gate itself cannot be judged
	Failed     Cause = "error"       // the source did not answer, or not sensibly
)

// Result is a verdict in a word.
type Result string

// The results. Only pass and marginal let a share rise.
const (
	Pass         Result = "pass"
	Marginal     Result = "marginal"
	Fail         Result = "fail"
	Inconclusive Result = "inconclusive"
)

// Verdict is what a gate says, and on what grounds.
type Verdict struct {
	Gate     string        `json:"gate"`
	Result   Result        `json:"result"`
	Cause    Cause         `json:"cause,omitempty"` // of an inconclusive one
	Breach   bool          `json:"breach,omitempty"`
	Value    float64       `json:"value"` // of the newest point judged; of the worst one after a breach
	Limit    float64       `json:"limit"`
	Unit     string        `json:"unit,omitempty"`
	Newest   time.Time     `json:"newest,omitzero"` // start of the newest complete bucket; if none is, of the newest at all
	Age      time.Duration `json:"age"`             // now − publish delay − end of the newest complete bucket
	Complete int           `json:"complete"`        // complete, settled buckets judged: what a bake counts
	// Recovered says that the newest complete bucket judged is within the limit,
	// whatever came before it: how the end of a breach is told.
	Recovered bool `json:"recovered,omitempty"`

	Why string `json:"why"` // "412ms > 50ms in 2 of 3"
}

// Allows reports whether the verdict lets a share rise.
func (v Verdict) Allows() bool { return v.Result == Pass || v.Result == Marginal }
