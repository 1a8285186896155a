// Package outbound keeps outgoing HTTP calls inside somebody else's quota.
//
//	transport, err := outbound.New(outbound.Config{Limiter: limiter})
//	…
//	client := &http.Client{Transport: transport}
//
// Before a call it takes tokens of a ratelimit.Limiter, per host unless said
// otherwise, and waits for them in order of arrival or fails at once. After an
// answer it heeds what the remote side says: Retry-After on 429 and 503, the
// RateLimit field of the drafts, and the older RateLimit-* and X-RateLimit-*
// fields. Calls that come while the remote side asked for a pause are held
// back in the same way.
//
// # What it does not do
//
// It never sends a call twice. Only its caller knows whether a payment may be
// made again and whether the body can be read again; and a client that retries
// by itself multiplies the load on a side that just said it has too much. A 429
// is handed to the caller like any answer; what the caller sends next is held
// until the remote side wants it.
//
// It does not know what other processes send under the same quota, unless
// their limiters share a store. What the remote side said is kept in memory,
// for each process by itself.
//
// # Margins
//
// A call arrives later than it leaves, by a time that varies. Calls that leave
// at exactly the quota may therefore arrive faster for a moment. Set the
// limiter's rate and burst so that rate·W + burst stays below the quota of each
// window W, with a little to spare.
//
// A Transport is safe for concurrent use, starts no goroutines, and costs a
// claim at the limiter and two short locks a call. The zero Transport is not
// usable; New makes one.
package outbound
