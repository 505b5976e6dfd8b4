package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// action is what somebody wants to do: a verb of a rollout or of the house, or
// one of those below. docs/permissions.md has the same in one table, and a test
// holds this to it.
type action string

// The actions that are no verbs.
const (
	toRead      action = "read"
	toPreflight action = "preflight"
	toTokens    action = "tokens" // list, make, take away
	toVerify    action = "verify" // the journal's chain
	toExport    action = "export" // of the journal
	toReport    action = "report"
	toDecide    action = "decide" // what a flag says: tasks ask

	toPlan  = action(rollout.Planning)
	toAmend = action(rollout.Amending)
)

// Where something counts, beside on one database by its name.
const (
	everywhere = rollout.AllDatabases // on all databases, those to come included
	anywhere   = ""                   // on some database, whichever
)

// needed returns the roles that may do something. What stops or lowers is open
// to everybody who may act at all; what raises, or lets rise again, is not.
func needed(what action) []Role {
	switch what {
	case toRead, toVerify, toExport:
		return []Role{Viewer, Operator, Approver, Admin}
	case toPreflight: // it starts nothing
		return []Role{Operator, Approver, Admin}
	case toTokens:
		return []Role{Admin}
	case toReport:
		return []Role{Reporter}
	case toDecide:
		return roles()
	case toPlan, toAmend:
		return []Role{Operator, Admin}
	}
	switch rollout.Verb(what) {
	case rollout.Rollback, rollout.HoldIt, rollout.HoldForAll, rollout.Reject, rollout.Note, rollout.Freezing, rollout.Disturb:
		return []Role{Operator, Approver, Admin}
	case rollout.Approve:
		return []Role{Approver, Admin}
	case rollout.Start, rollout.Adopt, rollout.Advance, rollout.Resume, rollout.Retry, rollout.Withdraw, rollout.Complete,
		rollout.Acknowledge, rollout.HandOver, rollout.Accept, rollout.ReleaseAll, rollout.Thaw, rollout.Quiet:
		return []Role{Operator, Admin}
	case rollout.MakeToken, rollout.TakeToken:
		return []Role{Admin}
	default:
		return nil
	}
}

// wide reports whether an action is about all databases at once.
func (a action) wide() bool {
	switch a {
	case toTokens, action(rollout.MakeToken), action(rollout.TakeToken), toVerify, toExport, action(rollout.HoldForAll), action(rollout.ReleaseAll):
		return true
	default:
		return false
	}
}

// may reports whether somebody may do something on a database, and if not, why.
// It is the only place that knows, for each surface.
func may(who Caller, what action, database string) (ok bool, why string) {
	if what.wide() {
		database = everywhere
	}
	need := needed(what)
	if who.has(need, database) {
		return true, ""
	}
	if len(need) == 0 {
		return false, fmt.Sprintf("nobody may %s", what)
	}
	return false, fmt.Sprintf("%s needs the role %s%s; %s is %s", what, either(need), onWhich(database), who.Name, who.roles())
}

// mayReport is may for a report of one service.
func mayReport(who Caller, service string) (ok bool, why string) {
	if ok, why := may(who, toReport, anywhere); !ok {
		return false, why
	}
	if who.Service != service {
		return false, fmt.Sprintf("%s may report for the service %s, not for %s", who.Name, who.Service, service)
	}
	return true, ""
}

// mayMake is may for a token that somebody makes. Whoever makes tokens is admin on
// all databases, so none may do more than he; but none may outlast his either.
func mayMake(who Caller, e Entry) (ok bool, why string) {
	if ok, why := may(who, action(rollout.MakeToken), everywhere); !ok {
		return false, why
	}
	if !who.Expires.IsZero() && (e.Expires.IsZero() || e.Expires.After(who.Expires)) {
		return false, fmt.Sprintf("%s may make no token that outlasts his own, which expires at %s; say expires_in", who.Name, who.Expires.Format(time.RFC3339))
	}
	return true, ""
}

// actions returns all there are.
func actions() []action {
	list := []action{
		toRead, toPlan, toAmend, toPreflight, toTokens, toVerify, toExport, toReport, toDecide,
		action(rollout.Freezing), action(rollout.Thaw), action(rollout.Disturb), action(rollout.Quiet),
	}
	for _, verb := range rollout.Verbs() {
		list = append(list, action(verb))
	}
	return list
}

// reach returns on which databases somebody may do something: all, some, or none.
func reach(who Caller, what action) []string {
	if ok, _ := may(who, what, everywhere); ok {
		return []string{everywhere}
	}
	var list []string
	for _, g := range who.Grants {
		for _, database := range g.Databases {
			if ok, _ := may(who, what, database); ok {
				list = append(list, database)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// onWhich says on which database something is needed.
func onWhich(database string) string {
	switch database {
	case anywhere:
		return ""
	case everywhere:
		return " on all databases"
	default:
		return " on database " + database
	}
}

// either joins words as a sentence does: "operator, approver or admin".
func either[T ~string](list []T) string { return joined(list, "or") }

func joined[T ~string](list []T, last string) string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	end := len(words) - 1
	if end < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:end], ", ") + " " + last + " " + words[end]
}
