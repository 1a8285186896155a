package faults

import "context"

// Effect is what a fault does to the state of the guard.
type Effect uint8

// The effects.
const (
	Opens  Effect = iota // all calls fail, or are too late: the store is down until it is healed
	Spares               // nobody but the callers that are spoiled notices
	Fails                // some calls fail, and the store is never down for it
	Hurts                // some calls fail: the state may be anything
)

// Row is one fault of the table.
type Row struct {
	// Name tells the row from others, and is the name of its test.
	Name string
	// Section is where it stands in the table.
	Section string
	// Fault says what is broken, Sees what the caller sees beyond the policies,
	// Loss what is lost and how much too many may be admitted, and Heals what
	// brings it back. They are cells of the table.
	Fault, Sees, Loss, Heals string
	// Build starts the servers.
	Build func(context.Context) (*World, error)
	// Break breaks, and Heal heals. Heal returns when the store could answer.
	Break, Heal func(context.Context, *World) error
	// Effect is what the guard must make of it.
	Effect Effect
	// Silent says that calls get no answer, rather than one that is an error.
	Silent bool
	// FromBreak says that the time to normal counts from the break, because
	// nobody heals.
	FromBreak bool
	// Leases says that slots which were held when the server lost state come back
	// when their leases end, and not before.
	Leases bool
	// Losses is how often the server loses its state.
	Losses int
	// Spoils says that Break spoils the keys of some callers.
	Spoils bool
	// Check looks at what else must be so, once all is over. Nil is nothing.
	Check func(context.Context, *World, *Result) error
}

// The sections of the table.
const (
	Gone    = "The server is gone, or silent"
	Answers = "The server answers, and cannot decide"
	Forgets = "The server forgets"
	Network = "The network"
	Fleets  = "Several servers"
)
