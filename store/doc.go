// Package store is what stages ask of state that outlives a request, and may
// be shared by a fleet: claims on tokens and slots, and the contract of the
// drivers that keep them.
//
// A driver is wrapped in a Guard, which bounds what it may cost: the time of a
// call, the number of calls to a store that is down, and the calls that a
// remembered refusal makes needless. Of keys that are asked for very often it
// spends tokens that the store has lent, without a call. Everything that is
// true of any store lives here, above the drivers; a driver only keeps state.
package store
