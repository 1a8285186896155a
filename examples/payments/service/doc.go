// Package service is a sample payments API of known capacity: so many database
// connections, so long a query, and hence so many requests a second.
//
// It behaves under overload as many services do that have no protection. A
// request waits for a connection as long as it takes, in an unbounded queue,
// first come first served; a client that has left is not noticed, and its
// query runs all the same. So once more is offered than the service can do, the
// wait grows past every client's patience, and nearly all that it does is for
// clients that have gone.
//
// It is not a model of how to write a service. All methods may be called
// concurrently; what a request costs beside its query is a few microseconds.
package service
