// Package scenario replays recorded moments of incidents against rules.
//
// A file of golden scenarios holds series as plain lists of values, rules on
// them, and the verdict that a good judge gives. Each rule that is known is put
// as a gate to [gates.Judge], so that what is tried here is what guards a
// rollout. A kind of rule that is not known yet is said to be unknown, never
// passed over.
//
// The package knows nothing of where series come from or what a verdict does.
package scenario
