package store

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// Never is the RetryAfter of a claim that no waiting helps.
const Never = limit.Never

// ID names one request across the fleet. It is the member of a slot's set, so
// a slot can be given back, renewed and swept by it.
type ID struct{ Hi, Lo uint64 }

// Group says what a refusal of a claim does. The zero value is Enforced.
type Group uint8

// The groups.
const (
	Enforced Group = iota // granted all or none; a refusal refuses the request
	Shadow                // granted if the enforced ones and all shadow ones pass; never refuses anyone
)

// Claim asks for tokens or a slot of one limit for one owner.
type Claim struct {
	Owner Key
	Limit *Limit
	Cost  int64 // tokens, or 1 for a slot
	Group Group
	Tag   uint8 // the asker's own mark; a driver leaves it alone
}

// AppendClaim appends a claim, made where it will lie: one that is made first
// and then copied costs a request several nanoseconds more.
func AppendClaim(claims []Claim, owner Key, l *Limit, cost int64) []Claim {
	n := len(claims)
	if n == cap(claims) {
		claims = append(claims, Claim{})
	}
	claims = claims[:n+1]
	c := &claims[n]
	c.Owner, c.Limit, c.Cost, c.Group, c.Tag = owner, l, cost, Enforced, 0
	return claims
}

// Grant is a driver's answer to one claim.
type Grant struct {
	OK         bool
	Remaining  int64         // tokens or slots that are left
	RetryAfter time.Duration // until this claim could pass if nobody else asks; Never; 0 when granted or not known
	ResetAfter time.Duration // until the limit is as if never used
	Delay      time.Duration // how long the request should be held before it goes on; only leaky buckets say so
	Handle     uint64        // the driver's own word, handed back with a Return
}

// Batch is one call: all claims of one request.
type Batch struct {
	ID     ID
	Now    int64         // the asker's clock in nanoseconds since the epoch; in-process drivers decide by it, others by their store's clock
	Budget time.Duration // how long the asker waits; in-process drivers never wait
	Peek   bool          // answers as if the claims were made, and changes nothing
	Waits  bool          // who calls the driver waits for it beyond the budget too, and gives back what comes too late
	Claims []Claim
	Grants []Grant // as long as Claims; written by the driver before it returns nil
}

// Return gives back, charges or renews what one claim was granted.
type Return struct {
	ID     ID
	Owner  Key
	Limit  *Limit
	Handle uint64
	At     int64 // when it was granted, by the clock of Batch.Now
	Now    int64 // by the same clock
	Tokens int64 // tokens: given back when above 0, charged when below; slots: ignored
	// AnyGrant marks tokens that are given back without their grant being
	// known; Handle means nothing, and at most all that is owed comes back.
	AnyGrant bool
	Reset    bool // tokens: the owner's state of this limit is forgotten, as if never used; Tokens is ignored
}

// Driver keeps the state of one store. All methods are called concurrently.
//
// What a driver keeps beyond a call it copies: batches live in pooled requests.
type Driver interface {
	// Claim decides the claims of a batch. Of the enforced claims it grants all
	// or none, and changes nothing that a decision can see when it refuses; it
	// judges all of them, so that the longest wait is known. The shadow claims
	// it grants, all or none, if the enforced ones passed. It returns within
	// b.Budget, unless b.Waits. A grant that comes about after the asker left is the driver's
	// to give back. An error means "not decided", never "refused".
	Claim(ctx context.Context, b *Batch) error

	// Return gives back slots, and gives back or charges tokens. A slot that
	// is not held any more, and tokens that have refilled since, are no error.
	Return(ctx context.Context, returns []Return) error

	// Renew prolongs the leases of slots that are still held.
	Renew(ctx context.Context, held []Return) error

	// Sync publishes what a worker does and brings back what the fleet does.
	Sync(ctx context.Context, r Report) (View, error)
}

// InProcess is implemented by drivers whose calls are a few memory accesses:
// they need no deadline, no breaker and no queue.
type InProcess interface{ InProcess() }

// ErrKey marks errors that are about one key, such as data of another type
// under it, or a key whose place is just moving: a driver wraps it. The call
// failed, and the store is there.
var ErrKey = errors.New("store: the key cannot be used")

// ErrUnable marks errors by which a server says that it can decide nothing now:
// it is a replica, loads its data, has no memory. A few in a row are believed,
// where of other errors many have to fail.
var ErrUnable = errors.New("store: the server cannot decide")

// ErrUnavailable says that the store was not asked, or did not answer in time.
var ErrUnavailable = errors.New("store: unavailable")
