package web

import (
	"slices"
	"time"
)

// wish is the body of what a person asks of all rollouts, or of a database.
type wish struct {
	Reason   string `json:"reason"`
	Request  string `json:"request"`
	Database string `json:"database"`
	What     string `json:"what"`
	Quiet    *bool  `json:"quiet"`
	From     string `json:"from"`
	Until    string `json:"until"`
	For      string `json:"for"` // instead of until
}

// whatLimit is how much may be said of what disturbs.
const whatLimit = 200

// wish reads a body that has some of these names and no others.
func (c *call) wish(names ...string) (w wish, err error) {
	if err := queries(c.r.URL.Query()); err != nil {
		return w, err
	}
	text, err := c.body(jsonKind, bodyLimit)
	if err != nil {
		return w, err
	}
	if err := forbidden(text); err != nil {
		return w, err
	}
	if err := strictly(text, &w, names...); err != nil {
		return w, err
	}
	if err := sayable("reason", w.Reason, reasonLimit); err != nil {
		return w, err
	}
	if err := sayable("what", w.What, whatLimit); err != nil {
		return w, err
	}
	if err := goodID("request", w.Request); err != nil {
		return w, err
	}
	if !slices.Contains(names, "database") {
		return w, nil
	}
	if w.Database == "" {
		return w, bad("database", "", "is missing; * means every one")
	}
	return w, sayable("database", w.Database, nameLimit)
}

// reason reads a reason from a query: that of a DELETE, which has no body.
func (c *call) reason() (string, error) {
	query := c.r.URL.Query()
	if err := queries(query, "reason"); err != nil {
		return "", err
	}
	return query.Get("reason"), sayable("reason", query.Get("reason"), reasonLimit)
}

// until returns when something ends, which is said as a moment or as a duration
// from its beginning; none is now.
func (w *wish) until(from time.Time, longest time.Duration) (time.Time, error) {
	switch {
	case w.Until != "" && w.For != "":
		return time.Time{}, bad("for", w.For, "says the same as until; leave one out")
	case w.Until != "":
		return moment("until", w.Until)
	case w.For == "":
		return time.Time{}, bad("until", "", "is missing; say until when, or for how long with for")
	}
	d, err := within("for", w.For, time.Second, longest)
	if err != nil {
		return time.Time{}, err
	}
	if from.IsZero() {
		from = time.Now()
	}
	return from.Add(d).UTC(), nil
}

// moment reads a moment such as 2026-11-30T02:00:00Z; none is zero.
func moment(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if year := at.UTC().Year(); err != nil || year < 1 || year > 9999 { // another year cannot be written again
		return time.Time{}, bad(field, text, "must be a moment such as 2026-11-30T02:00:00Z")
	}
	return at.UTC(), nil
}
