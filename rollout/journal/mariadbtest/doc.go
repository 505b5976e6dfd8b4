// Package mariadbtest starts a real, private MariaDB server for a test and
// can take it away and bring it back in the middle of one.
//
// Every server has its own folder, a free port on 127.0.0.1 and a root password
// of its own, so any number of test binaries can run at once. It ends with the
// test that started it. A machine without MariaDB fails the test: what is
// promised for MariaDB is proven on MariaDB.
//
// It knows nothing of the journal or of any schema.
package mariadbtest
