package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// HouseName is the name under which the journal keeps what is about all
// rollouts. No plan may have it.
const HouseName = "*"

// House is what stands for all rollouts, or all of a database.
type House struct {
	HoldAll   *Hold         `json:"hold_all,omitempty"`
	Releasing string        `json:"releasing,omitempty"` // the first of the two people who must end it
	AskedAt   time.Time     `json:"asked_at,omitzero"`   // when he asked; it is void after ApprovalLife
	Freezes   []Freeze      `json:"freezes,omitempty"`
	Troubles  []Disturbance `json:"troubles,omitempty"`
}

// Freeze keeps shares on a database from rising. A rollback asks nobody.
type Freeze struct {
	Database string    `json:"database"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	By       string    `json:"by"`
	Why      string    `json:"why,omitempty"`
	At       time.Time `json:"at"`
}

// Disturbance says that a database is not quiet: somebody deploys, or changes a
// schema. It ends by itself, so that a pipeline that breaks off stops nothing for ever.
type Disturbance struct {
	Database string    `json:"database"`
	What     string    `json:"what"` // such as deploy checkout 2.4
	Until    time.Time `json:"until"`
	By       string    `json:"by"`
	Why      string    `json:"why,omitempty"`
	At       time.Time `json:"at"`
}

// The verbs of the house.
const (
	Freezing  Verb = "freeze"
	Thaw      Verb = "thaw"
	Disturb   Verb = "disturb" // a database is not quiet
	Quiet     Verb = "quiet"   // it is again
	MakeToken Verb = "make-token"
	TakeToken Verb = "take-token"
)

// HouseCommand is what a person asks of all rollouts: hold-all, release-all, and
// the verbs of the house.
type HouseCommand struct {
	Verb     Verb      `json:"verb"`
	By       string    `json:"by"`
	Surface  string    `json:"surface,omitempty"`
	Request  string    `json:"request,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Database string    `json:"database,omitempty"`
	What     string    `json:"what,omitempty"`    // of disturb and quiet
	From     time.Time `json:"from,omitzero"`     // of freeze; zero: from now on
	Until    time.Time `json:"until,omitzero"`    // of freeze and disturb
	Subject  string    `json:"subject,omitempty"` // of a token: its name and what it may
	Alone    bool      `json:"alone,omitempty"`   // nobody else could release: one person is enough
}

// Bounds of what a person may set.
const (
	LongestFreeze      = 90 * 24 * time.Hour
	LongestDisturbance = 24 * time.Hour

	mostFreezes  = 200 // in all
	mostTroubles = 50  // of one database
)

// ObeyHouse returns the event that a command of the house brings about, or a
// [Refusal]. The state is that of [HouseName].
func ObeyHouse(s *State, c *HouseCommand, now time.Time) (Event, error) {
	e := Event{
		Rollout: HouseName, Seq: s.Version + 1, At: now,
		By: c.By, Surface: c.Surface, Request: c.Request, Why: c.Reason, Subject: cmp.Or(c.Subject, c.Database),
	}
	h := s.House
	if h == nil {
		h = &House{}
	}
	switch c.Verb {
	case HoldForAll:
		return e, h.obeyHoldAll(c, &e)
	case ReleaseAll:
		return e, h.obeyReleaseAll(c, &e)
	case Freezing:
		return e, h.obeyFreeze(c, &e)
	case Thaw:
		e.Kind = Thawed
		if !slices.ContainsFunc(h.Freezes, func(f Freeze) bool { return f.Database == c.Database && now.Before(f.Until) }) {
			return e, refuse("database %s is not frozen", c.Database)
		}
	case Disturb:
		return e, h.obeyDisturb(c, &e)
	case Quiet:
		e.Kind = Quieted
		e.Trouble = &Disturbance{Database: c.Database, What: c.What, By: c.By, At: now}
		if !slices.ContainsFunc(h.Troubles, func(d Disturbance) bool { return e.Trouble.covers(&d) && now.Before(d.Until) }) {
			return e, refuse("database %s is quiet already; nothing on record disturbs it%s", c.Database, orNothing(" by ", c.What))
		}
	case MakeToken:
		e.Kind = TokenMade
	case TakeToken:
		e.Kind = TokenTaken
	default:
		return e, refuse("there is no command %q for all rollouts", c.Verb)
	}
	return e, nil
}

// orNothing puts a lead before a text; nothing before none.
func orNothing(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

func (h *House) obeyHoldAll(c *HouseCommand, e *Event) error {
	if h.HoldAll != nil {
		return refuse("everything is held already, by %s since %s: %s", h.HoldAll.Owner, h.HoldAll.At.UTC().Format(time.RFC3339), h.HoldAll.Why)
	}
	e.Kind = HeldAll
	e.Hold = &Hold{Kind: HoldAll, Owner: c.By, Why: cmp.Or(c.Reason, "no reason given"), At: e.At}
	return nil
}

// obeyReleaseAll takes two people, where there are two: one to ask, another to agree.
func (h *House) obeyReleaseAll(c *HouseCommand, e *Event) error {
	asked := h.Releasing
	if e.At.Sub(h.AskedAt) > ApprovalLife {
		asked = ""
	}
	switch {
	case h.HoldAll == nil:
		return refuse("nothing is held by hold-all")
	case asked == c.By && !c.Alone:
		return refuse("%s has asked for it already; a second person must release, too", c.By)
	case asked == "" && !c.Alone:
		e.Kind = ReleaseDue
	default:
		e.Kind = ReleasedAll
	}
	return nil
}

func (h *House) obeyFreeze(c *HouseCommand, e *Event) error {
	from := c.From
	if from.IsZero() {
		from = e.At
	}
	switch {
	case c.Database == "":
		return refuse("database: is missing")
	case !c.Until.After(e.At) || !c.Until.After(from):
		return refuse("until %s: must be after now and after the freeze begins", c.Until.UTC().Format(time.RFC3339))
	case len(h.Freezes) >= mostFreezes:
		return refuse("database %s: there are %d freezes already; thaw some first", c.Database, len(h.Freezes))
	case c.Until.Sub(e.At) > LongestFreeze:
		return refuse("until %s: a freeze ends within 90 days", c.Until.UTC().Format(time.RFC3339))
	}
	e.Kind = Frozen
	e.Freeze = &Freeze{Database: c.Database, From: from, Until: c.Until, By: c.By, Why: cmp.Or(c.Reason, "no reason given"), At: e.At}
	return nil
}

func (h *House) obeyDisturb(c *HouseCommand, e *Event) error {
	others := 0
	for _, d := range h.Troubles {
		if d.Database == c.Database && d.What != c.What && e.At.Before(d.Until) {
			others++
		}
	}
	switch {
	case others >= mostTroubles:
		return refuse("database %s: %d things disturb it already; say of some that they are over", c.Database, others)
	case c.Database == "":
		return refuse("database: is missing")
	case c.What == "":
		return refuse("what: is missing; say what disturbs, such as deploy checkout 2.4")
	case !c.Until.After(e.At):
		return refuse("until %s: must be after now", c.Until.UTC().Format(time.RFC3339))
	case c.Until.Sub(e.At) > LongestDisturbance:
		return refuse("until %s: a disturbance ends within 24 h; say it again if it goes on", c.Until.UTC().Format(time.RFC3339))
	}
	e.Kind = Disturbed
	e.Trouble = &Disturbance{Database: c.Database, What: c.What, Until: c.Until, By: c.By, Why: c.Reason, At: e.At}
	return nil
}

// covers reports whether a quiet means a disturbance: of its database, and the
// same thing, or any if it names none.
func (d *Disturbance) covers(other *Disturbance) bool {
	return d.Database == other.Database && (d.What == "" || d.What == other.What)
}

// house folds the events about all rollouts. What is over is forgotten with the next.
func (s State) house(e *Event) State {
	s.Name = HouseName
	h := House{}
	if s.House != nil {
		h = *s.House
	}
	h.Freezes = slices.DeleteFunc(slices.Clone(h.Freezes), func(f Freeze) bool {
		return !e.At.Before(f.Until) || e.Kind == Thawed && f.Database == e.Subject
	})
	trouble := e.Trouble
	h.Troubles = slices.DeleteFunc(slices.Clone(h.Troubles), func(d Disturbance) bool {
		same := trouble != nil && trouble.covers(&d)
		if same && e.Kind == Disturbed && d.Until.After(trouble.Until) { // said again, it ends no sooner
			longer := *trouble
			longer.Until = d.Until
			trouble = &longer
		}
		return same || !e.At.Before(d.Until)
	})
	switch {
	case e.Kind == Frozen && e.Freeze != nil:
		h.Freezes = append(h.Freezes, *e.Freeze)
	case e.Kind == Disturbed && trouble != nil:
		h.Troubles = append(h.Troubles, *trouble)
	case e.Kind == HeldAll:
		h.HoldAll, h.Releasing, h.AskedAt = e.Hold, "", time.Time{}
	case e.Kind == ReleaseDue:
		h.Releasing, h.AskedAt = e.By, e.At
	case e.Kind == ReleasedAll:
		h.HoldAll, h.Releasing, h.AskedAt = nil, "", time.Time{}
	}
	s.House = &h
	return s
}

// Due returns the command that makes a rollout held by hold-all, or not, as the
// house has it; false if it is so.
func (h *House) Due(s *State) (Command, bool) {
	all, held := h != nil && h.HoldAll != nil, s.holds(HoldAll)
	switch {
	case all && !held && s.Phase.Active() && !s.Phase.Lowering() && s.Phase != RolledBack:
		return Command{Verb: HoldForAll, By: h.HoldAll.Owner, Surface: Controller, Reason: h.HoldAll.Why}, true
	case h != nil && !all && held: // where nothing was ever said about all, nothing was released either
		return Command{Verb: ReleaseAll, By: Controller, Surface: Controller, Reason: "everything was released"}, true
	}
	return Command{}, false
}

// AllDatabases in a freeze or a disturbance means every one.
const AllDatabases = "*"

// Against returns what stands against a raise on a database at a moment.
func (h *House) Against(database string, now time.Time) []Wait {
	if h == nil {
		return nil
	}
	var waits []Wait
	if h.HoldAll != nil {
		waits = append(waits, Wait{WaitHold, string(HoldAll), h.HoldAll.Why + " (" + h.HoldAll.Owner + ")"})
	}
	here := func(name string) bool { return name == database || name == AllDatabases }
	for _, f := range h.Freezes {
		if here(f.Database) && !now.Before(f.From) && now.Before(f.Until) {
			waits = append(waits, Wait{WaitFreeze, f.Database, fmt.Sprintf("frozen until %s by %s: %s", f.Until.UTC().Format(time.RFC3339), f.By, f.Why)})
		}
	}
	for _, d := range h.Troubles {
		if here(d.Database) && now.Before(d.Until) {
			waits = append(waits, Wait{WaitQuiet, d.Database, strings.TrimSuffix(fmt.Sprintf("%s, said %s, until %s at the latest: %s", d.What, d.By, d.Until.UTC().Format(time.RFC3339), d.Why), ": ")})
		}
	}
	return waits
}
