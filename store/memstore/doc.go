// Package memstore keeps the state of limits in this process's memory.
//
// Use it for one process, for tests, and as what a worker falls back to while
// a shared store is away. Limits that a fleet shares need a shared store.
//
// A Store is made by New. Its methods may be called concurrently; it starts no
// goroutine and needs no closing. Time is what the batches and returns say it
// is, so that a test or a simulation owns the clock.
//
// State lies in flat tables that the garbage collector does not scan: 24 bytes
// an entry, 32 to 40 with the room between entries; beside them 24 for a holder
// of a slot that is not its only one, 128 for a strict window that is in use, and 8 a token, doubling
// from 64, for a sliding log. A decision takes a lock bit in each entry that it is
// about and nothing wider: one hot limit costs its askers some ten nanoseconds,
// and decisions about different owners do not meet. What one owner's requests
// ask for lies together. When a lease ends that was not prolonged, the holders
// of the owner's shard are looked through. Claim, Return and Renew do not allocate,
// except where a table grows.
//
// The number of keys, each a limit of an owner, is bounded. A key that owes
// nothing is forgotten when its place is needed; one that owes tokens, or of
// which a slot is held, never is. When nothing can be forgotten, new keys of a
// limit share one state until there is room; Stats counts how often.
package memstore
