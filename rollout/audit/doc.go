// Package audit holds a journal's events to their chain, in the database or far
// from it.
//
//	event   1 ──▶ 2 ──▶ 3 ──▶ 4        hash = SHA-256(hash before ‖ body)
//	              │           │
//	checkpoint    2:9f86…     4:60ab…  kept elsewhere, by people
//
// A [Record] is an event as it is stored: its body, the columns that repeat some
// of it, and the hash. [Verify] walks records and names the first that is not
// what was written. An export is a file of records ([WriteExport], [Read]), which
// can be verified with nothing else at hand.
//
// A chain shows that nobody has changed an event and left the rest alone. Whoever
// can compute all hashes anew is found by a [Checkpoint] only.
//
// The package knows how an event names its place and its rollout, and nothing of
// what events mean. It opens nothing, and reads no clock.
package audit
