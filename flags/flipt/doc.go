// Package flipt keeps a lane's share in a Flipt server, v1 or v2.
//
// A lane has one boolean flag, disabled, with one threshold rollout that gives
// true: its percentage is the share. The [Store] finds out which generation it
// talks to, and afterwards does for every write the same: read the flag, let
// [flags.Change.Apply] decide, write, read back, and evaluate tasks on both
// sides of the threshold as Flipt does for applications. All else on the flag is
// written back as it was read. A flag that serves a share by other means
// (segments, several rollouts, variants) is [flags.ErrForeign]: it is not
// guessed about, except that a lowering to 0 puts an end to it, see below.
//
// # Revision and stamp
//
// A flag's revision is a digest of all that the management API shows of it. Our
// stamp is a line of text such as
//
//	cutover orders-db 25% epoch=3 seq=17 lane=reads class=reads
//
// to which safe=100 and by=WHO are added where there is such a thing to say.
// In v2 it stands in the flag's metadata, under "cutover"; in v1 in the rollout's
// description, because only that is written together with the percentage.
// Neither reaches the snapshots that tasks decide by. In v2 a write that changes
// nothing at all is not seen, since there is nothing to see; in v1 its time is.
//
// # Flipt v2
//
// A PUT replaces the whole flag and is conditional on the head of the whole
// branch. If only other flags have moved the head, we read again and retry. An
// empty or malformed revision would overwrite whatever is there, so none is
// ever sent. Behind a git remote Flipt checks its own clone only: what somebody
// pushes there is lost to our write if Flipt has not fetched it yet, and no
// client can tell. Let Flipt be the only writer of its branch.
//
// # Flipt v1
//
// Nothing is conditional: between our read and our write another hand's write is
// overwritten, and of two leaders the last to write wins. What we can do is
// done: the revision and the epoch are checked just before, the write is not
// sent once its deadline has passed and never sent twice, and it is read back. A
// fence writes no percentage, which could undo a kill; it marks the flag's
// metadata, so that a raise that still has to read finds another revision. A
// raise that has read already may land after a fence; the controller finds it
// and lowers it.
//
// # Lowering to 0
//
// It must work in every state. Rules that are not ours are taken off and kept,
// as JSON text, in the flag's metadata under "cutover-replaced"; the flag is
// left plain, so that every client understands it: disabled, one threshold, 0 %.
// Only a variant flag cannot be lowered so. A task that asks for it as a boolean
// gets its own default; a person has to delete it and create a boolean one.
//
// # Looking around
//
// [Store.List] finds the flags that bear a mark of ours, for somebody who has
// nothing left but the store; [Store.Describe] tells what a flag is made of that
// somebody else has made.
//
// The package knows nothing of rollouts, leaders or databases.
package flipt
