package storetest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// Harness is a driver and its clock. Time stands still unless the kit moves it.
type Harness struct {
	// Driver is what is judged.
	Driver store.Driver
	// Advance moves the driver's clock on, and Now reads it, in nanoseconds
	// since the epoch. Both are nil for a driver that decides by the Now of
	// batches and returns; the kit then keeps a clock of its own.
	Advance func(time.Duration)
	Now     func() int64
	// Resolution is what the driver's clock tells apart; the kit moves time by
	// multiples of it, and uses only limits whose tokens take multiples of it.
	// Default 1ns.
	Resolution time.Duration
	// Algorithms are those that the driver has. Default token bucket and fixed
	// window, which every driver has.
	Algorithms []store.Algorithm
}

// rule is one case of the kit.
type rule struct {
	name  string
	says  string
	check func(*kit)
}

// Run judges the drivers that open makes, one for each rule.
func Run(t *testing.T, open func(*testing.T) Harness) {
	for _, rules := range [][]rule{tokenRules, returnRules, changeRules, clockRules, slotRules, batchRules, raceRules, historyRules, loanRules} {
		for _, r := range rules {
			t.Run(r.name, func(t *testing.T) {
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("the rule: %s", r.says)
					}
				})
				k := newKit(t, open(t))
				k.open = open
				r.check(k)
			})
		}
	}
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
	Logf(string, ...any)
}

// kit is a driver under judgement, with the words that rules are written in.
type kit struct {
	tester
	test    *testing.T
	driver  store.Driver
	harness Harness
	open    func(*testing.T) Harness
	now     int64
}

func newKit(t *testing.T, h Harness) *kit {
	if h.Resolution == 0 {
		h.Resolution = 1
	}
	if h.Algorithms == nil {
		h.Algorithms = []store.Algorithm{store.TokenBucket, store.FixedWindow}
	}
	k := &kit{tester: t, test: t, driver: h.Driver, harness: h, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixNano()}
	if h.Now != nil {
		k.now = h.Now()
	}
	return k
}

// virtual reports whether the kit owns the clock, and may turn it back.
func (k *kit) virtual() bool { return k.harness.Now == nil }

// exact reports whether the driver tells nanoseconds apart.
func (k *kit) exact() bool { return k.harness.Resolution == 1 }

// tick is the smallest step of time.
func (k *kit) tick() time.Duration { return k.harness.Resolution }

// pass lets time go by, rounded up to the resolution.
func (k *kit) pass(d time.Duration) {
	if over := d % k.tick(); over > 0 {
		d += k.tick() - over
	}
	k.now += int64(d)
	if !k.virtual() {
		k.harness.Advance(d)
		k.now = k.harness.Now()
	}
}

// owner is nobody that was seen before.
func (k *kit) owner() store.Key { return store.Key{Hi: rand.Uint64(), Lo: rand.Uint64()} }

func (k *kit) id() store.ID { return store.ID{Hi: rand.Uint64(), Lo: rand.Uint64()} }

// bucket is a token bucket of count tokens each period, and as many at once.
func (k *kit) bucket(count int64, period time.Duration) *store.Limit {
	return k.tokens("rate", store.TokenBucket, limit.Per(count, period), count)
}

func (k *kit) window(count int64, period time.Duration) *store.Limit {
	return k.tokens("window", store.FixedWindow, limit.Per(count, period), 0)
}

func (k *kit) tokens(name string, a store.Algorithm, r limit.Rate, burst int64) *store.Limit {
	k.Helper()
	l, err := store.NewTokens(name, a, r, burst)
	if err != nil {
		k.Fatalf("%v", err)
	}
	return l
}

func (k *kit) slots(maxHeld int64, lease time.Duration) *store.Limit {
	k.Helper()
	l, err := store.NewSlots("slots", maxHeld, lease)
	if err != nil {
		k.Fatalf("%v", err)
	}
	return l
}

// each runs a check with a limit of each algorithm that passes so many tokens
// at once, and has them all again, at the latest, after full.
func (k *kit) each(tokens int64, full time.Duration, check func(*store.Limit)) {
	for _, a := range k.harness.Algorithms {
		check(k.limitOf(a, a.String(), tokens, full))
	}
}

// limitOf makes a limit of each's kind.
func (k *kit) limitOf(a store.Algorithm, name string, tokens int64, full time.Duration) *store.Limit {
	k.Helper()
	switch a {
	case store.SlidingWindow: // what was taken counts, ever less, for two windows
		return k.tokens(name, a, limit.Per(tokens, full/2), 0)
	case store.StrictWindow: // and a part more than the window here
		return k.tokens(name, a, limit.Per(tokens, full*strictParts/(strictParts+1)), 0)
	case store.LeakyBucket: // whose rate is rounded down, and which lets one pass beside the burst
		return k.tokens(name, a, limit.Per(2*tokens, full), tokens-1)
	default: // of the others there is nothing to do here
	}
	return k.tokens(name, a, limit.Per(tokens, full), 0)
}

// claim asks for some claims in one batch.
func (k *kit) claim(claims ...store.Claim) *store.Batch {
	k.Helper()
	b := &store.Batch{ID: k.id(), Now: k.now, Budget: time.Minute, Claims: claims, Grants: make([]store.Grant, len(claims))}
	k.ask(b)
	return b
}

func (k *kit) ask(b *store.Batch) {
	k.Helper()
	if err := k.driver.Claim(context.Background(), b); err != nil {
		k.Fatalf("claim: %v", err)
	}
}

// take asks for tokens, or a slot, of one limit.
func (k *kit) take(owner store.Key, l *store.Limit, cost int64) store.Grant {
	k.Helper()
	return k.claim(store.Claim{Owner: owner, Limit: l, Cost: cost}).Grants[0]
}

// left is what remains.
func (k *kit) left(owner store.Key, l *store.Limit) int64 {
	k.Helper()
	return k.take(owner, l, 0).Remaining
}

// returned is what gives one claim of a batch back; tokens as in store.Return.
func (k *kit) returned(b *store.Batch, i int, tokens int64) store.Return {
	c := &b.Claims[i]
	return store.Return{ID: b.ID, Owner: c.Owner, Limit: c.Limit, Handle: b.Grants[i].Handle, At: b.Now, Now: k.now, Tokens: tokens}
}

func (k *kit) giveBack(returns ...store.Return) {
	k.Helper()
	if err := k.driver.Return(context.Background(), returns); err != nil {
		k.Fatalf("return: %v", err)
	}
}

func (k *kit) renew(held ...store.Return) {
	k.Helper()
	if err := k.driver.Renew(context.Background(), held); err != nil {
		k.Fatalf("renew: %v", err)
	}
}

// want compares what matters of a grant.
func (k *kit) want(what string, got store.Grant, want store.Grant) {
	k.Helper()
	got.Handle = 0
	if got != want {
		k.Fatalf("%s: got %+v, want %+v", what, got, want)
	}
}

// admits asks n times for one and wants so many grants.
func (k *kit) admits(owner store.Key, l *store.Limit, n, want int) {
	k.Helper()
	ok := 0
	for range n {
		if k.take(owner, l, 1).OK {
			ok++
		}
	}
	if ok != want {
		k.Fatalf("%s: %d of %d were granted, want %d", l.Name, ok, n, want)
	}
}
