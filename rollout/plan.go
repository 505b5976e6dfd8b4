package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// Plan is what a rollout runs by. Package planfile reads it from YAML and fills
// in the defaults; a plan in a state is complete and never changes.
// Durations in its JSON are nanoseconds.
type Plan struct {
	Name     string            `json:"rollout"`
	Owner    string            `json:"owner"`
	Reason   string            `json:"reason,omitempty"`
	Kind     PlanKind          `json:"kind"`
	Database Database          `json:"database"`
	Source   Endpoint          `json:"source"`
	Target   Endpoint          `json:"target"`
	Services []Service         `json:"services"`
	Lanes    []LanePlan        `json:"lanes"`
	Windows  map[string]Window `json:"windows,omitempty"`
	Soak     Soak              `json:"soak"`
	Gates    []gates.Gate      `json:"gates"`
	Guard    Guard             `json:"guard"`
	OnRaise  OnRaise           `json:"on_raise"`
	Converge Converge          `json:"converge"`
	Patience time.Duration     `json:"patience"` // how long a bake may lack data before hold data
	Grace    time.Duration     `json:"grace"`    // how long a bad source, or a gate after a rollback, may take to recover
	Recovery time.Duration     `json:"recovery"` // how long until a rollback must be proven and recovered; then stuck
}

// PlanKind says whether the data behind the target are the same.
type PlanKind string

// The kinds of a plan.
const (
	SameData   PlanKind = "same-data"   // a proxy put in, removed or replaced
	MovingData PlanKind = "moving-data" // other data behind the target: blue/green, a new cluster
)

// Database is what is protected: one cluster or writer with its limits.
type Database struct {
	Name           string `json:"name"`
	Engine         string `json:"engine"`
	MaxConnections int    `json:"max_connections,omitempty"`
	Region         string `json:"region,omitempty"`
	Account        string `json:"account,omitempty"`
}

// Endpoint is where applications connect.
type Endpoint struct {
	Host     string            `json:"host"`
	Port     int               `json:"port"`
	Kind     string            `json:"kind"` // direct, rds-proxy, proxysql, pgbouncer, cluster
	Settings map[string]string `json:"settings,omitempty"`
}

// Service is an application that uses the database.
type Service struct {
	Name          string        `json:"name"`
	Tasks         int           `json:"tasks"`    // the inventory: how many should report
	PoolMax       int           `json:"pool_max"` // connections a task may open
	SocketTimeout time.Duration `json:"socket_timeout,omitempty"`
	PoolLifetime  time.Duration `json:"pool_lifetime,omitempty"`
}

// Class is reads or writes.
type Class string

// The classes of traffic.
const (
	Reads  Class = "reads"
	Writes Class = "writes"
)

// LanePlan is how one lane is meant to rise. Lanes rise in their order.
type LanePlan struct {
	Name     string    `json:"name"`
	Class    Class     `json:"class"`
	Services []string  `json:"services"`
	Flag     flags.Key `json:"flag"`
	Stages   []Stage   `json:"stages"`
}

// Stage is a lane's next share and what it takes to go there and to leave it.
type Stage struct {
	Share     flags.Share   `json:"share"`
	Bake      time.Duration `json:"bake"` // complete, settled data at this share
	MinTasks  int           `json:"min_tasks"`
	Contains  []string      `json:"contains,omitempty"` // windows that the bake must contain
	Approvals int           `json:"approvals,omitempty"`
	Manual    bool          `json:"manual,omitempty"` // go: manual — an operator's advance is needed
}

// Soak is the watch over all lanes at 100 % before the old path may go.
type Soak struct {
	For      time.Duration `json:"for"`
	Contains []string      `json:"contains,omitempty"`
}

// Guard is the guard cycle.
type Guard struct {
	Every time.Duration `json:"every"`
}

// OnRaise says what is done about a flag that another hand has raised.
type OnRaise string

// What is done about a flag that another hand has raised.
const (
	OnRaiseHold    OnRaise = "hold"
	OnRaiseRestore OnRaise = "restore" // put back, if seen within 60 s, and at most once an hour
)

// Converge says when tasks count as having followed the flag.
type Converge struct {
	Within       time.Duration `json:"within"`        // then hold not_converged
	MinReporting int           `json:"min_reporting"` // percent of the inventory's tasks
	Interval     time.Duration `json:"interval"`      // of reports; live = reported within three
}

// Window is a recurring stretch of time that a bake may have to contain:
// minutes of each hour, or a time of day in a zone, on some weekdays.
type Window struct {
	FromMinute int            `json:"from_minute"`
	ToMinute   int            `json:"to_minute"` // inclusive
	From       time.Duration  `json:"from"`      // since midnight
	To         time.Duration  `json:"to"`        // since midnight; not after From means past midnight
	Daily      bool           `json:"daily"`     // by time of day, not by minute
	Zone       string         `json:"zone,omitempty"`
	Weekdays   []time.Weekday `json:"weekdays,omitempty"` // none means all
}

// Hash returns the hex SHA-256 of the plan's JSON: what an approval is bound to.
func (p *Plan) Hash() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("a plan that JSON cannot hold: " + err.Error()) // only an unmarshalable type could do this
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Period returns the longest metric period of the plan's gates: how long a
// share must be proven before its data counts.
func (p *Plan) Period() time.Duration {
	var longest time.Duration
	for i := range p.Gates {
		longest = max(longest, p.Gates[i].Metric.Period)
	}
	return longest
}

// next returns the first stage of the ladder above a share.
func (l *LanePlan) next(share flags.Share) (Stage, bool) {
	for _, stage := range l.Stages {
		if stage.Share > share {
			return stage, true
		}
	}
	return Stage{}, false
}

// previous returns the highest stage's share below a share; 0 below the first.
func (l *LanePlan) previous(share flags.Share) flags.Share {
	below := flags.None
	for _, stage := range l.Stages {
		if stage.Share < share {
			below = stage.Share
		}
	}
	return below
}

// stage returns the highest stage at or below a share: where a lane stands.
func (l *LanePlan) stage(share flags.Share) (Stage, bool) {
	at, ok := Stage{}, false
	for _, stage := range l.Stages {
		if stage.Share <= share {
			at, ok = stage, true
		}
	}
	return at, ok
}

// follows reports whether lane w carries writes of a service whose reads lane r carries.
func (p *Plan) follows(w, r int) bool {
	if p.Lanes[w].Class != Writes || p.Lanes[r].Class != Reads {
		return false
	}
	for _, service := range p.Lanes[w].Services {
		if slices.Contains(p.Lanes[r].Services, service) {
			return true
		}
	}
	return false
}
