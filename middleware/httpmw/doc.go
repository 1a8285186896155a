// Package httpmw puts a pipeline in front of an http.Handler.
//
//	protect, err := httpmw.New(httpmw.Config{}, pipeline)
//	…
//	http.ListenAndServe(addr, protect.Wrap(handler))
//
// Of each request it says who sends it, what it asks for and how much it
// matters; then it calls the handler or answers the refusal. What was admitted
// is given back on every way out: return, panic, client gone, the end of a
// hijacked connection.
//
// # Order
//
// Put it where the work is: around the handler, inside of everything that may
// answer before the work ends. http.TimeoutHandler outside is right, since the
// request then counts until the work has ended. Where http.TimeoutHandler has
// to be inside, wrap the handler within it in Work.
//
// # Streams
//
// Hijacked connections, WebSockets and answers of type text/event-stream move
// to the long-lived gauges of the stages by themselves, and so does any other
// request whose handler calls Detach. If those are full, the client is
// answered 503 instead, the handler's writes fail with ErrStreamRefused, and
// the context of its request ends. A hijacked connection counts until its
// Close; one that is dropped without Close, until it is collected.
//
// # Trust
//
// Nothing that a client writes is believed, see package identity. A claimed
// class lowers the request freely and raises it up to its caller's ceiling.
// The claim is overwritten with the class that holds, so a handler that passes
// headers on passes on no promise of the client's. A path that hides a slash or
// a dot in an escape means different things to different servers: limits see
// it decoded, but no rule raises it above normal.
//
// # Cost
//
// A refusal reads nothing of the body and allocates only what headers need. An
// admitted request costs one allocation, which holds the state, the copy of
// http.Request that carries the context, and the values of RateLimit fields; when
// a limit on its rate matched, one more for their text. It outlives the handler,
// so that a goroutine which it left behind reads nothing of somebody else's
// request.
//
// All functions may be called concurrently. The zero Config counts by client
// address and takes no claims.
package httpmw
