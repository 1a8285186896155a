// Package concurrency is the concurrent requests limiter: may this caller have
// one more request in flight?
//
// A slot is held while a request runs, and given back on every way out; the
// slots of a worker that died come back when their lease ends. The state is in
// the pipeline's store, shared by the fleet when the store is. Long-lived
// requests (streams, WebSockets) change their slot for one of a limit of their
// own as soon as they are known to be such.
package concurrency
