// Package fleet is experiment E6: eight worker processes that share a real
// Redis, more load than they can bear, and what goes wrong with fleets: workers
// are killed and frozen, Redis is paused, flushed, restarted empty and slow.
//
// Each worker serves HTTP behind Plimsoll's middleware, with five slots of
// 20 ms, and a balancer that drops dead workers from its list spreads the load.
// The workers wait and do not compute, so eight of them fit on two cores.
package fleet
