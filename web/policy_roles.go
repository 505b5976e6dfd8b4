package web

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is what a token may do.
type Role string

// The roles. Viewer, operator and admin each may do what the one before may;
// an approver approves, rejects and stops, but moves nothing forward; a reporter
// is the tasks of one service and may only report, and ask what flags say.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Approver Role = "approver"
	Admin    Role = "admin"
	Reporter Role = "reporter"
)

// roles returns all roles there are.
func roles() []Role { return []Role{Viewer, Operator, Approver, Admin, Reporter} }

// Grant is a role on some databases; on all, if none is named.
type Grant struct {
	Role      Role     `json:"role"`
	Databases []string `json:"databases,omitempty"`
}

// Caller is who asks: the holder of a token.
type Caller struct {
	Name    string
	Grants  []Grant
	Service string    // of a reporter: the one it may report for
	Expires time.Time // zero: never
}

// on reports whether a grant is for a database: its name, everywhere or anywhere.
func (g *Grant) on(database string) bool {
	return len(g.Databases) == 0 || database == anywhere || slices.Contains(g.Databases, database)
}

// has reports whether somebody has one of some roles on a database.
func (c *Caller) has(need []Role, database string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return slices.Contains(need, g.Role) && g.on(database) })
}

// expired reports whether a token is good no longer.
func (c *Caller) expired(now time.Time) bool { return !c.Expires.IsZero() && !now.Before(c.Expires) }

// person reports whether this is somebody who can be asked, and not tasks.
func (c *Caller) person() bool { return !c.has([]Role{Reporter}, anywhere) }

// roles says what somebody is: "viewer, operator on orders and billing".
func (c *Caller) roles() string {
	words := make([]string, len(c.Grants))
	for i, g := range c.Grants {
		words[i] = string(g.Role)
		if len(g.Databases) > 0 {
			words[i] = fmt.Sprintf("%s on %s", g.Role, joined(g.Databases, "and"))
		}
	}
	return strings.Join(words, ", ")
}
