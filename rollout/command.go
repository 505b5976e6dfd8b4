package rollout

// Verb names a command.
type Verb string

// The verbs that a person may use.
const (
	Start       Verb = "start"
	Advance     Verb = "advance"
	Approve     Verb = "approve"
	HoldIt      Verb = "hold"
	Resume      Verb = "resume"
	Rollback    Verb = "rollback"
	Retry       Verb = "retry"
	Withdraw    Verb = "withdraw"
	Complete    Verb = "complete"
	Acknowledge Verb = "acknowledge"
	HoldForAll  Verb = "hold-all"
	ReleaseAll  Verb = "release-all"
	Note        Verb = "note"
)

// Command is what a person asks of a rollout.
type Command struct {
	Verb    Verb        `json:"verb"`
	By      string      `json:"by"`
	Surface string      `json:"surface,omitempty"`
	Request string      `json:"request,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Expect  uint64      `json:"expect,omitempty"` // the version that the person looked at; 0 if any will do
	To      []LaneShare `json:"to,omitempty"`     // of rollback: these lanes only; none means all to 0
}
