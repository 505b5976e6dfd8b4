// Package journal keeps what happened: every event of every rollout, in order,
// on SQLite or on MySQL and its kin, with one set of queries.
//
//	events    place 1 ─▶ 2 ─▶ 3 ─▶ 4 …    each hash covers the event and the hash before
//	               │    │    │    │
//	rollouts    orders orders pay orders  a row is the fold of its rollout's events
//	claims      database orders ─▶ orders
//	readers     slack ─▶ 3                how far each has told the story
//	journal     4:60ab…                   the head row: where the chain ends, and its hash there
//
// [Journal.Append] stores event, row and claims in one transaction, one at a time:
// it begins by taking the next place, which is a row lock on MySQL and comes after
// BEGIN IMMEDIATE on SQLite. So places have no gaps and lie in the order of the
// commits; who reads on from a place misses nothing.
//
// [Journal.Verify] holds all of it to the chain, which is package audit's, and
// [Journal.Export] writes the events for others to do so. An append onto a chain
// whose end is not what it was is refused.
//
// A request id counts once for a rollout: the second event that bears it is
// refused with the first, as [rollout.Duplicate].
//
// The journal knows what claims a state makes and how an event is applied, and
// nothing else of what events mean: events and fields of a newer program are
// kept and read like any others. It reads no clock.
package journal
