package main

import (
	"fmt"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// laneShare reads LANE:SHARE.
type laneShare rollout.LaneShare

// UnmarshalText reads a lane and its share, such as reads:25%.
func (l *laneShare) UnmarshalText(text []byte) error {
	lane, share, found := strings.Cut(string(text), ":")
	if !found || lane == "" {
		return fmt.Errorf("%q: must be LANE:SHARE, such as writes:0", text)
	}
	s, err := flags.ParseShare(share)
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	l.Lane, l.Share = lane, s
	return nil
}

// step is a lane and share that may not be given, as a command has it.
func (l *laneShare) step() []rollout.LaneShare {
	if l == nil {
		return nil
	}
	return []rollout.LaneShare{rollout.LaneShare(*l)}
}

// laneShares are several, as a command has them.
func laneShares(list []laneShare) []rollout.LaneShare {
	var to []rollout.LaneShare
	for i := range list {
		to = append(to, list[i].step()...)
	}
	return to
}
