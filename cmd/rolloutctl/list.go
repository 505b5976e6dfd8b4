package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

type listCmd struct {
	NeedsMe  bool     `help:"Only those that need you: yours, offered to you, or with an approval that you may give."`
	Mine     bool     `help:"Only those that you own."`
	State    []string `placeholder:"STATE" help:"Only those in these states, such as held."`
	Database string   `placeholder:"NAME" help:"Only those on this database."`
	Owner    string   `placeholder:"NAME" help:"Only those of this owner: a person, or the plan's owner."`
	All      bool     `short:"a" help:"Also those that have ended."`
}

// Run lists rollouts.
func (c *listCmd) Run(ctx context.Context, s *session) error {
	filter := client.Filter{Database: c.Database, Owner: c.Owner}
	for _, name := range c.State {
		var a aim
		if err := a.UnmarshalText([]byte("state=" + name)); err != nil {
			return usageError{text: fmt.Sprintf("--state %q: must be one of %s", name, phaseNames())}
		}
		filter.Phases = append(filter.Phases, a.state)
	}
	found, err := s.api.Find(ctx, filter)
	if err != nil {
		return err
	}
	if c.Mine || c.NeedsMe {
		if found, err = s.own(ctx, found, c.NeedsMe); err != nil {
			return err
		}
	}
	slices.SortStableFunc(found, func(a, b rollout.State) int { return urgency(&a) - urgency(&b) })
	shown := found
	if !c.All && len(c.State) == 0 {
		shown = slices.DeleteFunc(slices.Clone(found), func(st rollout.State) bool { return st.Phase.Ended() })
	}
	if s.json() {
		return s.encode(map[string][]rollout.State{"rollouts": append([]rollout.State{}, shown...)})
	}
	s.list(shown, len(found)-len(shown), c.everything())
	return nil
}

// everything reports whether no rollout is left out by what was asked.
func (c *listCmd) everything() bool {
	return !c.NeedsMe && !c.Mine && len(c.State) == 0 && c.Database == "" && c.Owner == ""
}

// own keeps those of a person; with needed, those that wait for him.
func (s *session) own(ctx context.Context, all []rollout.State, needed bool) ([]rollout.State, error) {
	who, err := s.api.Whoami(ctx)
	if err != nil {
		return nil, err
	}
	may := map[string]bool{}
	if needed {
		awaited, err := s.api.Approvals(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range awaited {
			may[a.Rollout] = may[a.Rollout] || a.May
		}
	}
	return slices.DeleteFunc(all, func(st rollout.State) bool {
		mine := st.Owner == who.Name
		if needed {
			offered := st.Offer != nil && st.Offer.To == who.Name
			return !may[st.Name] && !offered && (!mine || urgency(&st) != needsPerson)
		}
		return !mine
	}), nil
}

// list prints rollouts, and says what is not shown and who is needed.
func (s *session) list(shown []rollout.State, hidden int, everything bool) {
	ended := ""
	if hidden > 0 {
		ended = fmt.Sprintf("; %d that ended not shown (--all)", hidden)
	}
	if len(shown) == 0 {
		if hidden == 0 && everything {
			s.print("no rollouts yet", "next: rolloutctl plan apply FILE")
			return
		}
		s.print("no such rollouts" + ended)
		return
	}
	head := []string{"NAME", "", "STATE", "INTENDED", "WAITS FOR", "SINCE"}
	if s.wide() {
		head = append(head, "OWNER", "DATABASE", "PLAN", "HASH", " REVISION", " ATTEMPT")
	}
	rows := [][]string{head}
	var need []string
	for i := range shown {
		rows = append(rows, s.row(&shown[i]))
		if urgency(&shown[i]) == needsPerson {
			need = append(need, shown[i].Name)
		}
	}
	s.print(table("", rows)...)
	if len(need) == 0 {
		s.print(count(len(shown), "rollout; it does not need you", "rollouts; none needs you") + ended)
		return
	}
	s.print(fmt.Sprintf("%s; %d of them for you to look at%s", count(len(shown), "rollout", "rollouts"), len(need), ended))
	s.print("next: rolloutctl status " + need[0])
}

// row is a rollout in a line.
func (s *session) row(st *rollout.State) []string {
	row := []string{st.Name, s.screen.phaseSign(st.Phase), words(st.Phase), intended(st), awaits(st), moment(st.Since, s.now(), s.zone)}
	if !s.wide() {
		return row
	}
	database := "-"
	if st.Plan != nil {
		database = st.Plan.Database.Name
	}
	return append(row, dash(st.Owner), database, fmt.Sprintf("v%d", st.PlanVersion), short(st.PlanHash), fmt.Sprint(st.Version), fmt.Sprint(st.Attempt))
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// The order of a list: by whether a person has to act.
const (
	needsPerson = iota
	lowering
	moving
	resting
	over
)

// urgency says how soon somebody should look.
func urgency(s *rollout.State) int {
	switch {
	case s.Phase == rollout.Stuck || s.Phase == rollout.Held || s.Phase == rollout.RolledBack || s.Offer != nil || s.Proposal != nil:
		return needsPerson
	case slices.ContainsFunc(s.Waits, func(w rollout.Wait) bool { return w.Kind == rollout.WaitGo || w.Kind == rollout.WaitApproval }) &&
		(s.Phase == rollout.Ready || s.Phase == rollout.Waiting || s.Phase == rollout.Soaking):
		return needsPerson
	case s.Phase == rollout.RollingBack:
		return lowering
	case s.Phase == rollout.Draft:
		return resting
	case s.Phase.Ended():
		return over
	default:
		return moving
	}
}

// intended is the intended share of each lane.
func intended(s *rollout.State) string {
	parts := make([]string, len(s.Lanes))
	for i := range s.Lanes {
		parts[i] = fmt.Sprintf("%s %v", s.Lanes[i].Name, s.Lanes[i].Intended)
	}
	return strings.Join(parts, ", ")
}

// awaits names all that a rollout waits for.
func awaits(s *rollout.State) string {
	var parts []string
	for _, h := range s.Holds {
		parts = append(parts, fmt.Sprintf("hold %s (%s)", h.Kind, h.Owner))
	}
	if s.Phase == rollout.Ready || s.Phase == rollout.Waiting || s.Phase == rollout.Soaking {
		for _, w := range s.Waits {
			parts = append(parts, strings.TrimSpace(string(w.Kind)+" "+w.Subject))
		}
	}
	if s.Proposal != nil {
		parts = append(parts, "amendment ("+s.Proposal.By+")")
	}
	if s.Offer != nil {
		parts = append(parts, s.Offer.To+" to accept it")
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
