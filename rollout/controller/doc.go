// Package controller carries rollouts on: it looks at the world, lets package
// rollout decide, records what came to pass, and then sets the shares.
//
//	look ──▶ Decide ──▶ record (journal) ──▶ act (flag store) ──▶ look again
//
// What matters is in the journal: whatever a crash interrupts, the next cycle
// finds there and finishes. In memory are only what tasks and metrics said last,
// and, while the journal is away, what was lowered without it.
//
// The package knows ports, no adapters: it has never heard of Flipt, CloudWatch,
// SQL or HTTP. [Controller.Cycle] is given the time; only [Controller.Run] reads
// a clock, so a cycle runs alike in production, in a test's virtual time and in
// the demo.
package controller
