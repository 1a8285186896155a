// Package limit is the arithmetic of rate limits: pure functions of a small
// state, a moment, a cost and a limit. No locks, no I/O, no clock.
//
// Moments are nanoseconds on any one clock that the caller chooses; costs are
// whole tokens. All arithmetic is exact in integers and saturates: no input
// overflows, and no input admits more than the limit promises.
package limit
