// Package flipttest stands in for a Flipt server where none can be run: in
// tests, and in the demonstration.
//
// A [Server] speaks what Flipt v1.61 or v2.11 speaks on the wire, as far as
// boolean flags go: management, evaluation, OFREP, snapshots, and the stream of
// v2. It keeps their traps too: a PUT to v2 replaces the whole flag, an empty or
// malformed revision overwrites, v1 has no condition at all. Recorded answers of
// real servers hold it to that. Beyond them it can fail on purpose: see
// [Server.Before], [Server.After], [Server.LoseNextCommit],
// [Server.PushToRemote] and [Server.CacheEvaluations].
//
// Variants, rules and segments are kept and shown, never evaluated: a segment
// matches everyone. Not spoken: tokens other than the one given, branches,
// proposals.
//
// A [Hand] is somebody else at a Flipt server, real or not. The package knows
// the arithmetic of package flags, but not the client in package flipt.
package flipttest
