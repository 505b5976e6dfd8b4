// Package flags says which share of a lane's tasks uses the target endpoint.
//
// A flag is boolean: a task whose [Bucket] is below the flag's [Share] uses the
// target. The bucket is a hash of the task and the flag's key, bit for bit that
// of a Flipt threshold rollout, so that Flipt, our provider and the controller
// always agree; and since a task's bucket never changes, a task that has moved
// stays moved while the share grows.
//
// A store keeps the [Setting] of each flag and obeys a [Change]. [Memory] is
// one; packages flipt and embedded have others; storetest holds them all to
// the same contract.
//
// The package is pure: it reads no clock, does no I/O and knows nothing of
// rollouts, databases or metrics.
package flags
