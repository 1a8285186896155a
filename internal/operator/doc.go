// Package operator is the client's side of the admin API: it finds a process
// and its token, makes changes that name the version which their author saw,
// and shows answers to people.
//
// A change is sent with an idempotency key. When it is not known what became of
// it, it is sent once more with the same key, which the process never does
// twice; nothing else is repeated. What a process answers is data: nothing of
// it reaches a terminal that is not printable.
//
// Do not use it in a service: package control is the control plane, and
// package admin its API.
package operator
