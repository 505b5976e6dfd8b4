// Package embedded keeps flags in one small file beside rolloutd: the flag
// store that needs no set-up.
//
// The file is JSON that a person can read. It is replaced as a whole: a new file
// is written and flushed, renamed over the old one, and the folder flushed too,
// before a write is answered. Whoever pulls the plug finds the old file or the
// new one, never half of either:
//
//	{
//	  "format": 1,
//	  "writes": 42,
//	  "flags": [
//	    {
//	      "namespace": "default",
//	      "key": "orders-db-reads",
//	      "share": 25,
//	      "revision": "42",
//	      ...
//
// A revision is the count of the file's writes, which never goes back. One
// process at a time holds the file.
//
// The package knows nothing of rollouts and shares nothing with the journal, on
// purpose: when the journal's database is gone, tasks still read their flags
// here and a rollback can still be written.
package embedded
