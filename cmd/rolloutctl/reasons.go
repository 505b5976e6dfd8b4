package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// people is what people have to say to each other: an offer, an amendment.
func (p *page) people() []string {
	s := &p.State
	var lines []string
	if s.Offer != nil {
		lines = append(lines, fmt.Sprintf("OFFERED to %s by %s, %s: ends when %s accepts", s.Offer.To, s.Offer.By, p.moment(s.Offer.At), s.Offer.To))
	}
	if s.Proposal != nil {
		lines = append(lines, fmt.Sprintf("AMENDMENT by %s, %s: %s; a second person must approve what it loosens", s.Proposal.By, p.moment(s.Proposal.At), cmp.Or(s.Proposal.Why, "no reason given")))
		lines = append(lines, indented("  ", s.Proposal.Loosens)...)
	}
	if s.Tainted {
		since := "nobody knows since when"
		if !s.TaintedSince.IsZero() {
			since = "since " + p.moment(s.TaintedSince)
		}
		lines = append(lines, "TAKEN OVER  another hand had raised the flags ("+since+"): no baseline is without a share")
	}
	return lines
}

// holds are all holds, each with its owner, reason and end.
func (p *page) holds() []string {
	if len(p.State.Holds) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(p.State.Holds))
	for _, h := range p.State.Holds {
		rows = append(rows, []string{
			string(h.Kind), "by " + h.Owner, p.moment(h.At), h.Why + " (" + endOf(h.Kind) + ")",
		})
	}
	again := p.again()
	if len(p.allWaits()) > 0 {
		again = "" // said there
	}
	return append([]string{"HOLDS" + again}, table("  ", rows)...)
}

// endOf says how a hold ends.
func endOf(kind rollout.HoldKind) string {
	switch kind {
	case rollout.HoldPerson, rollout.HoldGate, rollout.HoldDrift:
		return "ends by resume"
	case rollout.HoldAll:
		return "ends by release-all (two people)"
	default:
		return "ends with its cause"
	}
}

// waits are all things that are waited for, none left out.
func (p *page) waits() []string {
	waits := p.allWaits()
	if len(waits) == 0 || p.State.Phase.Ended() {
		return nil
	}
	lines := p.still(waits)
	if p.State.Go {
		lines = append(lines, "  (the go is given)")
	}
	for _, a := range p.State.Approvals {
		lines = append(lines, fmt.Sprintf("  (approved by %s at %s, good until %s)", a.By, p.moment(a.At), p.moment(a.Expires)))
	}
	return lines
}

// still lists what is waited for.
func (p *page) still(waits []rollout.Wait) []string {
	if len(waits) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(waits))
	for _, w := range waits {
		rows = append(rows, []string{string(w.Kind), w.Subject, w.Why + p.pointAge(w)})
	}
	return append([]string{"WAITS FOR" + p.again()}, table("  ", rows)...)
}

// again says when what is waited for is looked at next.
func (p *page) again() string {
	if p.Next.IsZero() {
		return ""
	}
	return "   looked at again " + p.moment(p.Next)
}

// allWaits are the waits of the last look; before it, those that were recorded.
// Holds have a list of their own.
func (p *page) allWaits() []rollout.Wait {
	waits := p.Waits
	if len(waits) == 0 {
		waits = p.State.Waits
	}
	return slices.DeleteFunc(slices.Clone(waits), func(w rollout.Wait) bool { return w.Kind == rollout.WaitHold })
}

// pointAge says of a gate its limit and how old its newest point is.
func (p *page) pointAge(w rollout.Wait) string {
	if w.Kind != rollout.WaitGate || p.State.Plan == nil {
		return ""
	}
	at := slices.IndexFunc(p.State.Plan.Gates, func(g gates.Gate) bool { return g.Name == w.Subject })
	if at < 0 || at >= len(p.Verdicts) {
		return ""
	}
	v := &p.Verdicts[at]
	if v.Newest.IsZero() {
		return fmt.Sprintf(" (limit %s; no point yet)", p.limit(&p.State.Plan.Gates[at]))
	}
	return fmt.Sprintf(" (value %s, limit %s; newest point %s old)", p.value(v), p.limit(&p.State.Plan.Gates[at]), span(v.Age))
}

// preflight is its report, while it is what counts.
func (p *page) preflight() []string {
	r := p.State.Report
	if r == nil || p.State.Phase != rollout.Draft && p.State.Phase != rollout.Preflight && p.State.Phase != rollout.Ready {
		return nil
	}
	rows := make([][]string, 0, len(r.Checks))
	for _, c := range r.Checks {
		rows = append(rows, p.check(c))
	}
	return append([]string{"PREFLIGHT"}, table("  ", rows)...)
}

// failedChecks is what keeps a draft from starting.
func (p *page) failedChecks() []string {
	if p.State.Phase != rollout.Draft || p.State.Report.Passed() || p.State.Report == nil {
		return nil
	}
	var rows [][]string
	for _, c := range p.State.Report.Checks {
		if c.Result == rollout.CheckFail {
			rows = append(rows, p.check(c))
		}
	}
	return append([]string{"PREFLIGHT FAILED"}, table("  ", rows)...)
}

func (p *page) check(c rollout.Check) []string {
	sign := map[string]string{rollout.CheckPass: p.ok, rollout.CheckWarn: p.near, rollout.CheckFail: p.bad}[c.Result]
	return []string{cmp.Or(sign, p.unknown), c.Result, c.Name, c.Why}
}
