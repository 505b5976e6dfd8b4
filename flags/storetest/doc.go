// Package storetest is the contract of every flag store, as tests.
//
// [Run] holds a store to what package flags says of a [flags.Change]: what is
// conditional and what is not, which writes make a revision, what another hand's
// write looks like, and that it does what [flags.Memory] does over a long walk.
// A store joins with one test that opens a [Subject].
//
// The package knows no store.
package storetest
