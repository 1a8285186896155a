// Package sim plays a fleet in virtual time: the real stages, pipelines,
// guards, members and embedded store, with simulated machines, clients, network
// and faults around them.
//
// A Scenario is an incident's timeline as text; Parse reads one, Named knows
// those that come along, Random makes one up. Play plays it and returns a
// Report: what happened in each second, which invariants were broken, and
// which expectations of the scenario were missed. The same scenario and seed
// give the same report, event by event.
//
// Time is that of a testing/synctest bubble: it stands still while anything
// can run, and jumps when all wait. So code that was written for a real clock
// is played unchanged, with its goroutines and timers, and an hour of a quiet
// fleet takes a second or two. The command plays scenarios too, so the bubble
// is made outside of a test.
//
// What is simulated is said in docs/simulation.md. Do not link this package
// into a service: it imports testing. Play may be called concurrently.
package sim
