// Package pipeline decides requests: it holds the contract of the stages and
// the loop that runs them.
//
// A request is decided in three passes. Look: every entry answers from memory,
// in the order of the list, holding nothing and waiting for nothing. Store:
// one call for the claims of all entries. Take: local permits, the one that
// may wait last. So a refusal is cheapest and unwinds nothing, a request that
// would be shed does not reach the store, and no slot is held while the store
// is asked.
package pipeline
