// Package redisstore keeps the state of limits in Redis, for a fleet of workers
// that share them.
//
// All claims of a request are decided by one script in one round trip, by the
// server's clock and in whole numbers: all or none, and nothing is written when
// it refuses. Requests that arrive while a call is under way leave together
// with the next one, over a few connections. Who asks waits on its own timer,
// never on the socket: a claim that was not sent by then is never sent, and one
// that was is given back when its grant arrives. Nothing is sent twice, except
// that a script the server does not know is loaded, and asked again: then
// nothing has run. A claim whose connection broke, or was given up after
// Config.Patience, may have been made: its tokens refill; its slot the guard
// gives back, or its lease ends. See docs/faults.md for each way to fail.
//
// State lies in one string for all limits on tokens of one owner, and in one
// sorted set for each limit on slots of one owner, whose members are the ids of
// the requests that hold one. Every key has an end.
//
// In a cluster, an owner's state lies in one slot. The claims of one owner are
// decided as above; those of several owners are asked for in parallel, owner by
// owner, and if one owner's are refused, what the others granted is given back
// in a second round trip. Until then others may be refused for its sake, and
// what a refused request is told to remain is as good as it was. Keys that many
// owners' requests ask for are leased by the guard, out of Lend, and then a
// request is one script on one node again. No redirection
// is followed: while a slot moves, its keys fail for up to a second, and count
// as data errors that open no breaker.
//
// Do not use it bare: store.NewGuard adds the breaker, the probe and the queue
// of returns. Do not let the server evict keys: a key that is evicted is a limit
// that is full again. The tests run on Redis 7.0, and the
// scripts use nothing that 5.0 does not have. See Permissions for
// what its user must be allowed, Checkup for whether a server is fit, and Silence.
//
// Cost: one script of about 7 microseconds of the server for a request with one
// bucket, 12 to 17 with a slot and up to three limits, 20 to 29 where the general
// way is gone, and about a kilobyte of traffic. Moments are rounded to
// microseconds. A limit must count in whole numbers below 2^52; see Check.
//
// A Store is safe for concurrent use. Its zero value is not usable; see New.
package redisstore
