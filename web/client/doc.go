// Package client is the API from the other side: one method for each thing that
// package web serves, with the types of package rollout.
//
// An answer that is not a success is a [*Problem]; no answer is an
// [*Unreachable]. The package never asks twice by itself: whether a command may
// be repeated is for whoever gave it to say. It must not know how the server is
// made.
package client
