// Package gates judges whether the world is healthy enough to go on.
//
// A [Gate] is a rule on one metric. [Judge] holds a [Series] against it and
// gives a [Verdict]: pass, marginal, fail, or inconclusive with a cause. What
// cannot be seen is never a pass: missing, stale, partial, throttled or absurd
// data is inconclusive, and only pass and marginal let a share rise.
//
// The package is pure: it reads no clock, does no I/O and knows nothing of
// rollouts or flags. Readers of series lie beneath it; [Memory] is one.
package gates
