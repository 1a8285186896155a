package store

import "context"

// Lender is implemented by drivers that can hand out many tokens of one limit
// in one step, for a worker to spend from memory: see LeaseConfig.
type Lender interface {
	// Lend decides loans, each on its own. Of each it charges as many tokens
	// as are wanted, but no more than one part of what is left; when that is
	// fewer than the least, it charges none. It is called by one goroutine at a
	// time, seldom, and may take as long as the context; nobody waits for it.
	// An error means that none of the loans was decided. One whose answer is
	// lost may have been made: its tokens refill, as those of a worker that
	// died. All handles of a driver that lends are below 2^63.
	Lend(ctx context.Context, loans []Loan) error
}

// Loan asks for tokens of one limit of one owner.
type Loan struct {
	Owner Key
	Limit *Limit // on tokens: a token bucket or a fixed window
	Now   int64  // as Batch.Now
	Want  int64  // tokens, at most; 1 or more
	Parts int64  // of what is left one part is lent, rounded down; 1 or more
	Least int64  // tokens; fewer are not lent

	Lent  int64 // written by the driver: how many it charged, 0 if none
	Grant Grant // written by the driver: what is left since; OK when something was lent
	Err   error // written by the driver: why this loan alone was not decided
}

// Lendable reports whether tokens of a limit can be lent. A limit whose promise
// is about every window, or about the very order of requests, would not keep it.
func (l *Limit) Lendable() bool {
	return l.Kind == Tokens && (l.Algorithm == TokenBucket || l.Algorithm == FixedWindow)
}
