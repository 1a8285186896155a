// Package ratelimit is the request rate limiter: may this caller send one more
// now?
//
// It is a list of limits. A request meets every limit whose match it fits, and
// must pass them all; a refusal by one charges none. Tiers such as global, per
// address, per caller and per route are several limits on one request.
//
// The state is in the pipeline's store, shared by the fleet when the store is;
// the stage itself holds none, and costs some ten nanoseconds a limit. Refused
// requests cost their caller nothing unless a limit charges attempts.
package ratelimit
