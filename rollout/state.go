package rollout

import (
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
)

// Phase is the state of the machine that a rollout is in.
type Phase string

// The phases; DESIGN section 3 says what each means and leaves by.
const (
	Draft       Phase = "draft"
	Preflight   Phase = "preflight"
	Ready       Phase = "ready"
	Advancing   Phase = "advancing"
	Baking      Phase = "baking"
	Waiting     Phase = "waiting"
	Held        Phase = "held"
	RollingBack Phase = "rolling_back"
	RolledBack  Phase = "rolled_back"
	Stuck       Phase = "stuck"
	Soaking     Phase = "soaking"
	Completed   Phase = "completed"
	Withdrawn   Phase = "withdrawn"
)

// Phases returns all phases, in the order in which a rollout comes to them.
func Phases() []Phase {
	return []Phase{
		Draft, Preflight, Ready, Advancing, Baking, Waiting, Held,
		RollingBack, RolledBack, Stuck, Soaking, Completed, Withdrawn,
	}
}

// Ended reports whether nothing more will happen.
func (p Phase) Ended() bool { return p == Completed || p == Withdrawn }

// Lowering reports whether shares fall, or should.
func (p Phase) Lowering() bool { return p == RollingBack || p == Stuck }

// Active reports whether shares may change.
func (p Phase) Active() bool { return p != Draft && !p.Ended() }

// Watched reports whether the controller has anything to look at: as long as
// the rollout is active, and until its flags say that it was completed.
func (s *State) Watched() bool {
	return s.Plan != nil && (s.Phase.Active() || s.Phase == Completed && !s.Sealed)
}

// safe returns a lane's safe value, where a kill and break-glass take it.
func (s *State) safe() flags.Share {
	if s.Phase == Completed {
		return flags.All
	}
	return flags.None
}

// State is a rollout as its events made it. Events are the truth; see [Fold].
type State struct {
	Name    string    `json:"name"`
	Version uint64    `json:"version"` // how many events were folded: what --expect-rev means
	Phase   Phase     `json:"phase"`
	Since   time.Time `json:"since"` // when the phase began
	Why     string    `json:"why,omitempty"`

	Plan        *Plan  `json:"plan"`
	PlanVersion int    `json:"plan_version"`
	PlanHash    string `json:"plan_hash"`
	Planner     string `json:"planner"`

	Attempt int   `json:"attempt"`
	Epoch   int64 `json:"epoch"` // of the leader that may raise

	Lanes   []Lane `json:"lanes"` // in the plan's order
	Pending *Raise `json:"pending,omitempty"`
	Holds   []Hold `json:"holds,omitempty"`
	Waits   []Wait `json:"waits,omitempty"`

	Changed time.Time `json:"changed,omitzero"` // last raise, lowering, adoption or resume
	Settled time.Time `json:"settled,omitzero"` // since when data counts at the present shares; zero until proven
	Soaked  bool      `json:"soaked,omitempty"`

	Evidence  string     `json:"evidence,omitempty"` // hash of what the next step is judged by
	Go        bool       `json:"go,omitempty"`       // the operator's go for the next step
	Approvals []Approval `json:"approvals,omitempty"`

	LastRaised int       `json:"last_raised"`        // lane; -1 before the first raise
	Previous   int       `json:"previous,omitempty"` // breaches of `previous` gates in this attempt
	Causes     []string  `json:"causes,omitempty"`   // gates whose recovery a rollback waits for
	Report     *Report   `json:"report,omitempty"`   // of the last preflight
	Restored   time.Time `json:"restored,omitzero"`  // last time that another hand's raise was put back

	Owner    string    `json:"owner,omitempty"`    // the person that answers for it
	Offer    *Offer    `json:"offer,omitempty"`    // of the rollout to another owner
	Proposal *Proposal `json:"proposal,omitempty"` // an amendment that waits for a second person
	Sealed   bool      `json:"sealed,omitempty"`   // completed, and the flags say so

	TakeOver     []LaneShare `json:"take_over,omitempty"`    // what the flags are said to have, while its preflight runs
	Tainted      bool        `json:"tainted,omitempty"`      // another hand had raised the flags before: no baseline is without a share
	TaintedSince time.Time   `json:"tainted_since,omitzero"` // since when; zero if nobody knows
	Untouched    bool        `json:"untouched,omitempty"`    // taken over, and not resumed since: the flags bear no stamp of ours

	House *House `json:"house,omitempty"` // of [HouseName] only
}

// Offer is a hand-over that waits for the other person.
type Offer struct {
	To string    `json:"to"`
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Proposal is an amendment that loosens something, and so needs a second person.
type Proposal struct {
	Plan    *Plan     `json:"plan"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Why     string    `json:"why,omitempty"`
	Loosens []string  `json:"loosens"`
}

// Lane is the state of one lane.
type Lane struct {
	Name      string      `json:"name"`
	Intended  flags.Share `json:"intended"`  // what the controller wants
	Confirmed flags.Share `json:"confirmed"` // last read back after a write of ours
	Target    flags.Share `json:"target"`    // while lowering
	Revision  string      `json:"revision"`  // of the flag at the last confirmation; empty: any will do
	Seq       int64       `json:"seq"`       // of our stamp at the last confirmation
	Baked     bool        `json:"baked"`     // at 100 %

	// Fence is a revision that must be dead before anything counts as proven: a
	// raise that was taken back may still be in flight, conditional on it.
	Fence string `json:"fence,omitempty"`

	// Returned is a share to put back wherever it is found: a raise of ours that
	// was taken back and landed all the same; or, while Restoring, another hand's.
	Returned  flags.Share `json:"returned,omitempty"`
	Restoring bool        `json:"restoring,omitempty"`
}

// Raise is a raise that is recorded and not yet confirmed.
type Raise struct {
	Lane      string      `json:"lane"`
	From      flags.Share `json:"from"`
	To        flags.Share `json:"to"`
	Revision  string      `json:"revision"` // that the flag must still have
	At        time.Time   `json:"at"`
	Approvals []Approval  `json:"approvals,omitempty"`
}

// HoldKind says what a hold is for, and so who may end it.
type HoldKind string

// The kinds of holds. Data, not_converged and flag_unknown end with their
// cause; gate, drift and person by a person's resume; hold_all by release-all.
const (
	HoldPerson       HoldKind = "person"
	HoldDrift        HoldKind = "drift"
	HoldGate         HoldKind = "gate"
	HoldData         HoldKind = "data"
	HoldNotConverged HoldKind = "not_converged"
	HoldFlagUnknown  HoldKind = "flag_unknown"
	HoldAll          HoldKind = "hold_all"
)

// clearsItself reports whether a hold ends with its cause.
func (k HoldKind) clearsItself() bool {
	return k == HoldData || k == HoldNotConverged || k == HoldFlagUnknown
}

// Hold keeps shares where they are. A rollout has at most one of a kind.
type Hold struct {
	Kind  HoldKind  `json:"kind"`
	Owner string    `json:"owner"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
}

// Approval lets one step happen, once. It dies on expiry, hold, any change of a
// share or plan, or a required verdict leaving pass and marginal.
type Approval struct {
	Lane     string      `json:"lane"`
	From     flags.Share `json:"from"`
	To       flags.Share `json:"to"`
	Plan     string      `json:"plan"`     // hash
	Evidence string      `json:"evidence"` // hash
	By       string      `json:"by"`
	At       time.Time   `json:"at"`
	Expires  time.Time   `json:"expires"`
}

// ApprovalLife is how long an approval waits for its step.
const ApprovalLife = 24 * time.Hour

// Report is what a preflight found.
type Report struct {
	Checks []Check `json:"checks"`
	Hash   string  `json:"hash,omitempty"` // the evidence that a first step is approved on
}

// Check is one finding of a preflight.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"` // pass, warn, fail
	Why    string `json:"why,omitempty"`
}

// The results of a check.
const (
	CheckPass = "pass"
	CheckWarn = "warn"
	CheckFail = "fail"
)

// Passed reports whether no check failed.
func (r *Report) Passed() bool {
	return r != nil && !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Result == CheckFail })
}

// holds reports whether a hold of a kind is on.
func (s *State) holds(kind HoldKind) bool {
	return slices.ContainsFunc(s.Holds, func(h Hold) bool { return h.Kind == kind })
}

// atZero reports whether no lane is meant to use the target, nor known to.
func (s *State) atZero() bool {
	for i := range s.Lanes {
		if s.Lanes[i].Intended > 0 || s.Lanes[i].Confirmed > 0 {
			return false
		}
	}
	return true
}

// pending returns the lane of the unconfirmed raise, or -1.
func (s *State) pending() int {
	if s.Pending == nil {
		return -1
	}
	return s.lane(s.Pending.Lane)
}

// lane returns the index of a lane by name, or -1.
func (s *State) lane(name string) int {
	return slices.IndexFunc(s.Lanes, func(l Lane) bool { return l.Name == name })
}

// Next is the step that a rollout would take next.
type Next struct {
	Lane  int
	From  flags.Share
	Stage Stage
	First bool // the lane's first stage
}

// Next returns the next step: the next stage of the first lane that is not
// baked at 100 %; none once all are.
func (s *State) Next() (Next, bool) {
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		if lane.Baked && lane.Intended == flags.All {
			continue
		}
		stage, ok := s.Plan.Lanes[i].next(lane.Intended)
		if !ok {
			return Next{}, false
		}
		return Next{Lane: i, From: lane.Intended, Stage: stage, First: lane.Intended == flags.None}, true
	}
	return Next{}, false
}

// JudgeFrom returns the moment from which on the points of a gate count; false
// while none do. After a change of share a `zero` gate counts from the write on
// (its bucket included), others from settle on. Before the first share a while
// of history counts; on the way down only what came after the turn.
func (s *State) JudgeFrom(g *gates.Gate) (time.Time, bool) {
	const history = 10
	switch {
	case s.Changed.IsZero():
		return time.Time{}, false
	case s.Phase.Lowering():
		return s.Changed, true
	case s.Settled.IsZero() && (s.Phase == Ready || s.Pending != nil):
		return s.Changed.Add(-history * g.Metric.Period), true
	case g.OnBreach == gates.OnBreachZero:
		return s.Changed.Add(-g.Metric.Period), true
	case s.Settled.IsZero() && s.Phase == Held && s.Pending == nil:
		return s.Changed.Add(s.Plan.Converge.Within), true // nobody settles it now; by then it has
	default:
		return s.Settled, !s.Settled.IsZero()
	}
}
