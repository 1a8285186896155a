package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/line"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// Limiter is rate limiting by itself, without a request: several limits on one
// key, charged all or none. All methods may be called concurrently. What it
// shares is the store's: two limiters over one store with limits of the same
// name count together.
type Limiter struct {
	guard   *store.Guard
	limits  atomic.Pointer[[]*store.Limit]
	onFault pipeline.FaultPolicy
	lines   line.Lines[store.Key]
	now     func() int64
}

// LimiterConfig sets a Limiter.
type LimiterConfig struct {
	// Limits on each key, 1 or more. Match, Classes, Key, Cost, Overrides,
	// Unlimited and Charge are about requests and must be empty.
	Limits []Limit
	// OnFault is what is answered when the store cannot be asked. Default:
	// the embedded store of the guard, at this worker's share.
	OnFault pipeline.FaultPolicy
	// MaxWaiters bounds how many calls of Wait may stand in line for one key.
	// 1 or more. Default 1,000.
	MaxWaiters int
}

// Answer is what a Limiter says of a key.
type Answer struct {
	Allowed    bool
	Limit      string        // the limit that refused, or that has the least left
	Remaining  int64         // tokens that are left under it
	RetryAfter time.Duration // until the same call could pass if nobody else asks; store.Never when waiting does not help; 0 when allowed
	ResetAfter time.Duration // until the limit is as if never used
	Delay      time.Duration // how long what was allowed should wait before it goes on; only a leaky bucket says so
	Degraded   bool          // the store could not be asked, and the fault policy answered
}

// ErrWaiters says that too many calls stand in line for a key already.
var ErrWaiters = errors.New("ratelimit: too many calls wait for this key")

// ErrTooLong says that a wait would outlast its context, or never end.
var ErrTooLong = errors.New("ratelimit: the wait would be too long")

// NewLimiter makes a limiter over a store.
func NewLimiter(c LimiterConfig, g *store.Guard) (*Limiter, error) {
	if g == nil {
		return nil, errors.New("ratelimit: a limiter needs a store")
	}
	if c.MaxWaiters == 0 {
		c.MaxWaiters = 1000
	}
	if c.MaxWaiters < 0 {
		return nil, fmt.Errorf("ratelimit: MaxWaiters must be 1 or more, got %d", c.MaxWaiters)
	}
	started := time.Now()
	l := &Limiter{guard: g, onFault: c.OnFault, lines: line.Lines[store.Key]{Max: c.MaxWaiters}}
	l.now = func() int64 { return started.UnixNano() + int64(time.Since(started)) }
	return l, l.SetLimits(c.Limits...)
}

// SetLimits changes the limits while they are in use. State carries over: what
// was spent under a limit of the same name stays spent.
func (l *Limiter) SetLimits(limits ...Limit) error {
	if len(limits) == 0 {
		return errors.New("ratelimit: a limiter needs one limit or more")
	}
	var errs []error
	prepared := make([]*store.Limit, 0, len(limits))
	names := map[string]bool{}
	for i := range limits {
		p, err := limits[i].prepare(limits[i].Rate, limits[i].Burst)
		switch {
		case err != nil:
		case limits[i].aboutRequests():
			err = errors.New("ratelimit: a limiter has no requests: Match, Classes, Key, Cost, Overrides, Unlimited and Charge must be empty")
		case store.ValidName(limits[i].Name) != nil:
			err = store.ValidName(limits[i].Name)
		case names[limits[i].Name]:
			err = fmt.Errorf("ratelimit: the name %q is taken", limits[i].Name)
		case p == nil:
			err = errors.New("ratelimit: a limiter needs rates above 0")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("limits[%d]: %w", i, err))
		}
		names[limits[i].Name] = true
		prepared = append(prepared, p)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	l.limits.Store(&prepared)
	return nil
}

// Take asks for cost tokens of a key, under all limits or none. It waits at
// most for the store's budget: a delay that the answer asks for is the caller's
// to wait, or Wait's. The error is the store's, when the fault policy
// is closed; a refusal is not an error.
func (l *Limiter) Take(ctx context.Context, key string, cost int64) (Answer, error) {
	return l.claim(ctx, keyOf(key), cost, taking)
}

// Peek answers what Take would, and takes nothing.
func (l *Limiter) Peek(ctx context.Context, key string, cost int64) (Answer, error) {
	return l.claim(ctx, keyOf(key), cost, peeking)
}

// Want is one of many.
type Want struct {
	Key  string
	Cost int64
}

// TakeMany asks for many keys at once, each by itself, and answers in their
// order. With a store in the network the calls travel together.
func (l *Limiter) TakeMany(ctx context.Context, wants []Want) ([]Answer, error) {
	answers, errs := make([]Answer, len(wants)), make([]error, len(wants))
	if !l.guard.Remote() {
		for i, w := range wants {
			answers[i], errs[i] = l.Take(ctx, w.Key, w.Cost)
		}
		return answers, errors.Join(errs...)
	}
	var group sync.WaitGroup
	for i, w := range wants {
		group.Go(func() { answers[i], errs[i] = l.Take(ctx, w.Key, w.Cost) })
	}
	group.Wait()
	return answers, errors.Join(errs...)
}

// Refund gives tokens back to a key, at most to full. What has refilled since
// cannot be given back twice.
func (l *Limiter) Refund(ctx context.Context, key string, cost int64) {
	if cost > 0 {
		l.giveBack(ctx, keyOf(key), store.Return{Tokens: cost, AnyGrant: true})
	}
}

// Charge takes tokens of a key whether they are there or not: for work whose
// cost was known only afterwards. A bucket may owe ten more bursts then than
// it holds, and lets nothing pass until they have refilled; a window that was
// overrun lets nothing pass until it is over, and forgets the rest.
func (l *Limiter) Charge(ctx context.Context, key string, cost int64) {
	if cost > 0 {
		l.giveBack(ctx, keyOf(key), store.Return{Tokens: -cost})
	}
}

// Reset makes a key as if it had never been used.
func (l *Limiter) Reset(ctx context.Context, key string) {
	l.giveBack(ctx, keyOf(key), store.Return{Reset: true})
}

func (l *Limiter) giveBack(ctx context.Context, key store.Key, what store.Return) {
	limits := *l.limits.Load()
	returns := make([]store.Return, len(limits))
	now := l.now()
	for i, limit := range limits {
		returns[i] = what
		returns[i].Owner, returns[i].Limit, returns[i].At, returns[i].Now = key, limit, now, now
	}
	l.guard.Return(ctx, returns)
}

// intent says whether a claim is meant.
type intent bool

const (
	taking  intent = false
	peeking intent = true
)

var batches = sync.Pool{New: func() any { return new(store.Batch) }}

func (l *Limiter) claim(ctx context.Context, key store.Key, cost int64, why intent) (Answer, error) {
	limits := *l.limits.Load()
	b := batches.Get().(*store.Batch)
	defer batches.Put(b)
	b.Now, b.Peek = l.now(), bool(why)
	b.Claims, b.Grants = b.Claims[:0], b.Grants[:0]
	for _, limit := range limits {
		b.Claims = append(b.Claims, store.Claim{Owner: key, Limit: limit, Cost: cost})
		b.Grants = append(b.Grants, store.Grant{})
	}
	var g store.Grant
	if i, denied := l.guard.DeniedAny(b.Claims, b.Now, &g); denied {
		return answer(limits[i], &g), nil
	}
	if err := l.guard.Claim(ctx, b); err != nil {
		return l.degraded(ctx, b, err)
	}
	return worst(b), nil
}

// degraded answers by the fault policy.
func (l *Limiter) degraded(ctx context.Context, b *store.Batch, cause error) (Answer, error) {
	switch l.onFault {
	case pipeline.Closed:
		return Answer{Degraded: true}, fmt.Errorf("ratelimit: take: %w", cause)
	case pipeline.Local:
		clear(b.Grants)
		if err := l.guard.ClaimLocal(ctx, b); err == nil {
			a := worst(b)
			a.Degraded = true
			return a, nil
		}
	case pipeline.Open:
	}
	return Answer{Allowed: true, Degraded: true}, nil
}

// worst is the refusal with the longest wait, or the grant with the least left
// and the longest delay.
func worst(b *store.Batch) (a Answer) {
	var delay time.Duration
	for i := range b.Grants {
		g := &b.Grants[i]
		next := answer(b.Claims[i].Limit, g)
		delay = max(delay, g.Delay)
		switch {
		case i == 0, a.Allowed && !next.Allowed:
			a = next
		case a.Allowed != next.Allowed:
		case next.Allowed && next.Remaining < a.Remaining:
			a = next
		case !next.Allowed && a.RetryAfter != store.Never && (next.RetryAfter == store.Never || next.RetryAfter > a.RetryAfter):
			a = next
		}
	}
	if a.Allowed {
		a.Delay = delay
	}
	return a
}

func answer(l *store.Limit, g *store.Grant) Answer {
	return Answer{Allowed: g.OK, Limit: l.Name, Remaining: g.Remaining, RetryAfter: g.RetryAfter, ResetAfter: g.ResetAfter}
}

func keyOf(key string) store.Key { return store.KeyOf("key", key) }
