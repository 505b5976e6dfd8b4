package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// pane is a flag that is to be set.
type pane struct {
	Key     flags.Key     `json:"flag"`
	Rollout string        `json:"rollout,omitempty"`
	Lane    string        `json:"lane,omitempty"`
	Class   rollout.Class `json:"class,omitempty"`
	Safe    flags.Share   `json:"safe"`
	Before  flags.Setting `json:"before"`
	Foreign string        `json:"foreign,omitempty"` // why its share cannot be known

	lost error // it could not be read
}

func newPane(one flipt.Listed) pane {
	p := pane{
		Key: one.Key, Rollout: one.Rollout, Before: one.Setting,
		Lane: one.Setting.Stamp.Lane, Class: rollout.Class(one.Setting.Stamp.Class),
	}
	if one.Setting.Stamp.Safe == flags.All {
		p.Safe = flags.All
	}
	if one.Foreign != nil {
		p.Foreign = one.Foreign.Error()
	}
	return p
}

// place is when it is this flag's turn. A flag of an unknown class may be one of writes.
func (p *pane) place() int {
	switch {
	case p.Safe == flags.None && p.Class == rollout.Writes:
		return 0
	case p.Safe == flags.None && p.Class != rollout.Reads:
		return 1
	case p.Safe == flags.None:
		return 2
	case p.Class == rollout.Reads:
		return 3
	case p.Class != rollout.Writes:
		return 4
	default:
		return 5
	}
}

// says names the flag and its lane.
func (p *pane) says() string {
	lane := p.Lane
	if lane == "" {
		lane = "?"
	}
	return fmt.Sprintf("%-8s %s", lane, p.Key)
}

// intends says what will be done.
func (p *pane) intends() string {
	switch {
	case p.lost != nil:
		return "cannot be read: " + p.lost.Error()
	case p.Foreign != "":
		return "unknown → " + p.Safe.String()
	case p.settled():
		return "already " + p.Safe.String()
	case p.Safe == flags.All:
		return fmt.Sprintf("%v → %v: the rollout is completed, and the source may be gone", p.Before.Share, p.Safe)
	}
	return fmt.Sprintf("%v → %v", p.Before.Share, p.Safe)
}

// glassSign begins the signature of every write of break-glass.
const glassSign = "break-glass "

// settled reports whether nothing is left to do. A flag that was at 0 % before
// anybody broke the glass is written all the same: a raise may be under way.
func (p *pane) settled() bool {
	if p.lost != nil || p.Foreign != "" || p.Before.Share != p.Safe {
		return false
	}
	return p.Safe == flags.All || strings.HasPrefix(p.Before.Author, glassSign)
}

// outcome is what came of a flag.
type outcome struct {
	pane
	OK    bool         `json:"ok"` // at its safe value, read back
	After *flags.Share `json:"after,omitempty"`
	Why   string       `json:"why,omitempty"`

	err error
}

// setAll sets flags one after the other, and tells of each. One that cannot be
// lowered keeps no other from it; writes are not raised above their reads.
func (g *glass) setAll(ctx context.Context, panes []pane, by string, tell func(*outcome)) []outcome {
	done := make([]outcome, 0, len(panes))
	low := map[string]bool{} // rollouts whose reads could not be raised
	for _, p := range panes {
		o := outcome{pane: p}
		switch {
		case p.settled():
			o.OK, o.After = true, &p.Before.Share
		case p.lost != nil:
			o.err = p.lost
		case p.Safe == flags.All && p.Foreign != "":
			o.err = errors.New(p.Foreign)
		case p.Safe == flags.All && p.Class != rollout.Reads && low[p.Rollout]:
			o.err = errors.New("its reads are not at 100%")
		default:
			o.set(ctx, g, by)
		}
		if o.err != nil {
			o.Why = o.err.Error()
		}
		if p.Safe == flags.All && p.Class != rollout.Writes && !o.OK {
			low[p.Rollout] = true
		}
		done = append(done, o)
		tell(&o)
	}
	return done
}

// set writes the flag and reads it back, each within its time.
func (o *outcome) set(ctx context.Context, g *glass, by string) {
	bounded, cancel := context.WithTimeout(ctx, glassWrite)
	defer cancel()
	after, err := g.Write(bounded, o.Key, o.change(by))
	if err == nil {
		o.After, o.OK = &after.Share, after.Share == o.Safe
		return
	}
	o.err = err
	bounded, cancel = context.WithTimeout(ctx, glassLook)
	defer cancel()
	if now, err := g.Read(bounded, o.Key); err == nil { // it may have been written all the same
		o.After, o.OK = &now.Share, now.Share == o.Safe && !errors.Is(o.err, flipt.ErrNotServed)
	}
}

// change is the write that is wanted.
func (o *outcome) change(by string) flags.Change {
	stamp := o.Before.Stamp
	c := flags.Change{Kind: flags.Lower, Share: flags.None, Rollout: o.Rollout, Epoch: stamp.Epoch, Seq: stamp.Seq, By: by}
	if o.Safe == flags.All {
		c.Kind, c.Share, c.Revision = flags.Raise, flags.All, o.Before.Revision
	}
	return c
}

// says tells what was, what is, and what went wrong.
func (o *outcome) says(with signs) string {
	was, is := o.Before.Share.String(), "?"
	if o.Foreign != "" || o.lost != nil {
		was = "unknown"
	}
	if o.After != nil {
		is = o.After.String()
	}
	line := fmt.Sprintf("%s  %s → %s", o.pane.says(), was, is)
	switch {
	case o.settled() && o.Before.Author != "":
		return fmt.Sprintf("%s  already %v, by %s", o.pane.says(), o.Safe, o.Before.Author)
	case o.settled():
		return fmt.Sprintf("%s  already %v", o.pane.says(), o.Safe)
	case o.OK && o.err == nil:
		return line + "  " + with.ok + " read back"
	case o.OK:
		return line + "  " + with.ok + " read back, but: " + o.Why
	default:
		return line + "  " + with.bad + " not at " + o.Safe.String() + ": " + o.Why
	}
}

// todo says what a person can do about a flag that is not at its safe value.
func (o *outcome) todo() string {
	byHand := "in the store, by hand: a threshold of " + o.Safe.String() + " that gives true, and not enabled"
	switch needed := flipt.Lacks(o.err); {
	case needed != "":
		return "use a token with " + needed
	case errors.Is(o.err, flipt.ErrNotServed):
		return "it is stored, and Flipt still decides otherwise: its cache may lag; run it again"
	case errors.Is(o.err, flags.ErrChanged):
		return "it was written by another hand meanwhile; run it again"
	case errors.Is(o.err, flags.ErrNotFound):
		return "it is gone: tasks use their default; create it, " + byHand
	case o.Foreign != "":
		return "set it " + byHand
	default:
		return "run it again; or set it " + byHand
	}
}
