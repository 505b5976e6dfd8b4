// Package rollout decides how a rollout goes on.
//
// A rollout moves a database's traffic from its source endpoint to its target,
// lane by lane and stage by stage. Everything that happens to it is an [Event];
// its [State] is nothing but its events, folded:
//
//	Apply(state, event)         what an event changes
//	Obey(state, command, now)   what a person may ask for
//	Decide(state, seen, now)    what the world calls for
//
// Decide is twelve rules in order; the first that applies wins, so their order
// is their priority: what lowers stands above what holds, and what holds above
// what raises. A [Step] is one event to record or one write of a flag; acting
// twice does no harm.
//
//	draft ─ start ─▶ preflight ─▶ ready ─▶ advancing ─▶ baking ─▶ waiting ─▶ advancing … ─▶ soaking ─▶ completed
//	                                          │   ▲        │         │                         │
//	                                        held ─┘        └──── breach, rollback, kill ───────┘
//	                                          ▲                          ▼
//	                                          └───────────────── rolling_back ─▶ rolled_back
//	                                                                 stuck ──────▶
//
// The package is pure. It reads no clock, does no I/O and starts no goroutine:
// package controller looks at the world and acts on it, package journal keeps
// the events.
package rollout
