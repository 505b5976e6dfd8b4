// Package openfeature is the provider that an application imports: it decides in
// the process which endpoint a task uses.
//
//	rolloutd, Flipt v1, Flipt v2 ──snapshot, every 10 s──▶ Provider ──▶ OpenFeature client
//	                                                          └───────▶ Decide, ShareSeen
//
// A decision costs no call and no lock. When the flag store is away, hangs or
// answers nonsense, each flag keeps its last known value for as long as that
// lasts; the application is told by events. A task that has never seen a
// snapshot is cold: it uses the source, unless [Options].Cold says otherwise.
//
// A flag is followed only in the form that Cutover writes: boolean, not enabled,
// one threshold that answers true. What can only lower (no threshold, less than
// 0 %) is taken as it stands; anything else would have to be guessed about and
// is refused, that is, the flag keeps its last known value.
//
// The package knows nothing of rollouts and databases. Besides package flags it
// imports the OpenFeature SDK and the standard library only.
package openfeature
