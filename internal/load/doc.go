// Package load offers a service more than it can take, and counts honestly
// what comes back.
//
// Arrivals are open-loop: a Poisson process drawn from a seed decides when each
// one is due, whatever became of those before, and every latency counts from
// the planned moment. A stall of the generator or a queue in front of the
// service is seen as latency, never hidden by offering less. Arrivals that could
// not be sent are counted as offered and not good, and the generator reports how
// late it was itself.
//
// Use it for demonstrations and tests. It is no benchmark of small differences:
// it shares the machine with what it measures unless it is run elsewhere. One
// arrival costs a goroutine, a timer and about a microsecond of its own beside
// what its Do costs.
package load
