// Package migrations brings the journal's database to the schema that this
// program knows.
//
// SQLite and MySQL share every query, so they share names, columns and versions;
// only the DDL is written twice, in two folders that a test holds to each other.
// A released file is never edited. Since MySQL commits after each DDL statement,
// a crash can leave half a file behind: every statement under mysql must do no
// harm when it is run again. SQLite runs a file whole or not at all.
//
// The package knows nothing of rollouts or events.
package migrations
