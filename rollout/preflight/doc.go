// Package preflight holds a plan against what was found of the world before
// anything is moved: can the flags be set, do the gates see, do tasks report.
//
// It is pure: facts come in, a report goes out. It starts nothing and locks
// nothing; the journal does that when a rollout starts.
package preflight
