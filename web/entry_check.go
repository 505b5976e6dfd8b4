package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// checkWhose refuses an entry that stands for nobody, whatever its token.
func (e *Entry) checkWhose() error {
	if problem := checkName(e.Name); problem != "" {
		return rollout.Problem{Field: "name", Value: e.Name, Allowed: problem}
	}
	return checkGrants(e.Grants, e.Service)
}

// check refuses an entry that means nothing.
func (e *Entry) check() error {
	if err := e.checkWhose(); err != nil {
		return err
	}
	if sum, err := hex.DecodeString(e.SHA256); err != nil || len(sum) != sha256.Size {
		return rollout.Problem{Field: "sha256", Allowed: fmt.Sprintf("must be %d hex digits", 2*sha256.Size)}
	}
	return nil
}

// beside refuses an entry that cannot be told from another one.
func (e *Entry) beside(others []Entry) error {
	for i := range others {
		if others[i].Name == e.Name {
			return rollout.Problem{Field: "name", Value: e.Name, Allowed: "is taken by another token"}
		}
		if strings.EqualFold(others[i].SHA256, e.SHA256) {
			return rollout.Problem{Field: "sha256", Allowed: "is that of another token"}
		}
	}
	return nil
}

// longestName is how many characters the name of a token may have.
const longestName = 100

// checkName says what is wrong with the name of a token; nothing if it is good.
func checkName(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:@+-", r)
	}
	switch {
	case name == "", utf8.RuneCountInString(name) > longestName, strings.ContainsFunc(name, odd):
		return fmt.Sprintf("must be 1 to %d letters, digits or any of . _ : @ + -", longestName)
	case name == rollout.Controller:
		return "is the controller's own"
	}
	return ""
}

// checkGrants refuses grants that mean nothing, or not what they look like.
func checkGrants(grants []Grant, service string) error {
	if len(grants) == 0 {
		return rollout.Problem{Field: "grants", Allowed: "there must be one at least"}
	}
	for i, g := range grants {
		role := rollout.Problem{Field: fmt.Sprintf("grants[%d].role", i), Value: string(g.Role)}
		switch {
		case !slices.Contains(roles(), g.Role):
			role.Allowed = "must be " + either(roles())
			return role
		case slices.ContainsFunc(grants[:i], func(o Grant) bool { return o.Role == g.Role }):
			role.Allowed = "is there twice; name all its databases in one grant"
			return role
		case g.Role == Reporter && len(grants) > 1:
			role.Allowed = "must stand alone; tasks have a token of their own"
			return role
		}
		if err := checkDatabases(fmt.Sprintf("grants[%d].databases", i), &g); err != nil {
			return err
		}
	}
	if reporter := grants[0].Role == Reporter; reporter != (service != "") || sayable("", service, nameLimit) != nil {
		return rollout.Problem{Field: "service", Value: service, Allowed: "must be set for a reporter, and for nobody else"}
	}
	return nil
}

func checkDatabases(field string, g *Grant) error {
	switch {
	case g.Databases == nil:
		return nil
	case len(g.Databases) == 0:
		return rollout.Problem{Field: field, Allowed: "must name one at least; leave it out for all"}
	case g.Role == Reporter:
		return rollout.Problem{Field: field, Allowed: "must be left out: a reporter has a service"}
	}
	for i, database := range g.Databases {
		one := rollout.Problem{Field: fmt.Sprintf("%s[%d]", field, i), Value: database}
		switch {
		case database == everywhere || database == "" || sayable("", database, nameLimit) != nil:
			one.Allowed = "must be the name of a database; leave databases out for all"
			return one
		case slices.Contains(g.Databases[:i], database):
			one.Allowed = "is there twice"
			return one
		}
	}
	return nil
}

// Lifetime is how long a token is good: 90d, 12h, 45m.
type Lifetime time.Duration

// How long a token may be good.
const (
	shortestLife = time.Minute
	longestLife  = 3650 * day
	day          = 24 * time.Hour
)

// UnmarshalText reads a lifetime.
func (l *Lifetime) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * day
	}
	if err != nil || d < shortestLife || d > longestLife {
		return errors.New("must be like 90d, 12h or 45m, from 1m to 3650d; leave it out for a token that stays")
	}
	*l = Lifetime(d)
	return nil
}
