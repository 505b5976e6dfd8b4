package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Role is what a token may do.
type Role string

// The roles. Viewer, operator and admin each may do what the one before may;
// an approver approves and stops, but moves nothing forward; a reporter is a
// task of one service and may only report.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Approver Role = "approver"
	Admin    Role = "admin"
	Reporter Role = "reporter"
)

// roles returns all roles there are.
func roles() []Role { return []Role{Viewer, Operator, Approver, Admin, Reporter} }

// Caller is who asks: the holder of a token.
type Caller struct {
	Name    string
	Role    Role
	Service string // of a reporter: the one it may report for
}

// action is what somebody wants to do: read, plan, report, or a verb.
type action string

const (
	toRead   action = "read"
	toPlan   action = "plan"
	toReport action = "report"
)

// may reports whether somebody may do something, and if not, why. It is the
// only place that knows. What stops or lowers is open to everybody who may act
// at all; what raises is not.
func may(who Caller, what action) (ok bool, why string) {
	need := needed(what)
	if slices.Contains(need, who.Role) {
		return true, ""
	}
	if len(need) == 0 {
		return false, fmt.Sprintf("nobody may %s", what)
	}
	return false, fmt.Sprintf("%s needs the role %s; %s is %s", what, either(need), who.Name, who.Role)
}

// mayReport is may for a report of one service.
func mayReport(who Caller, service string) (ok bool, why string) {
	if ok, why := may(who, toReport); !ok {
		return false, why
	}
	if who.Service != service {
		return false, fmt.Sprintf("%s may report for the service %s, not for %s", who.Name, who.Service, service)
	}
	return true, ""
}

// needed returns the roles that may do something.
func needed(what action) []Role {
	switch what {
	case toRead:
		return []Role{Viewer, Operator, Approver, Admin}
	case toPlan:
		return []Role{Operator, Admin}
	case toReport:
		return []Role{Reporter}
	case toDecide:
		return roles()
	}
	switch rollout.Verb(what) {
	case rollout.Rollback, rollout.HoldIt, rollout.HoldForAll, rollout.Note:
		return []Role{Operator, Approver, Admin}
	case rollout.Approve:
		return []Role{Approver, Admin}
	case rollout.Start, rollout.Advance, rollout.Resume, rollout.Retry,
		rollout.Withdraw, rollout.Complete, rollout.Acknowledge, rollout.ReleaseAll:
		return []Role{Operator, Admin}
	}
	return nil
}

// either joins roles as a sentence does: "operator, approver or admin".
func either(list []Role) string {
	words := make([]string, len(list))
	for i, role := range list {
		words[i] = string(role)
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
