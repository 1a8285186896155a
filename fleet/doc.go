// Package fleet makes a process a member of its fleet: at each heartbeat it
// tells the store what this worker does, and hears what the fleet does and how
// much of it this worker may do. Nothing of this is on the path of a request:
// a request reads a lease from memory.
//
// A Member keeps its lease while the store is silent, and for no longer than
// the lease says. Then the worker goes by its own capacity, of which it keeps
// the reserve free for critical traffic: if all do so, so does the fleet. From
// a lease to that room it goes in small steps, so that the loss of a store
// does not change what a fleet admits from one moment to the next; a new lease
// holds at once, in both directions, because the sum of the leases is the
// budget.
//
// A worker that is alone needs a Member too: the embedded store is a fleet of
// one. The zero Member is not usable, see New. All methods may be called
// concurrently. A beat costs some allocations and one call of the store, Room
// a few nanoseconds.
package fleet
