package storetest

import (
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

var changeRules = []rule{
	{
		"change/raise",
		"Raising a limit takes effect at once and never lowers what remains.",
		func(k *kit) {
			k.each(4, 4*time.Second, func(l *store.Limit) {
				o := k.owner()
				k.take(o, l, 3)
				k.wantLeft(o, k.limitOf(l.Algorithm, l.Name, 10, 4*time.Second), 7)
			})
		},
	},
	{
		"change/lower",
		"Lowering a limit mints nothing, and blocks for no longer than the old limit takes to refill.",
		func(k *kit) {
			k.each(100, 100*time.Second, func(l *store.Limit) {
				o, lower := k.owner(), k.limitOf(l.Algorithm, l.Name, 2, 2*time.Second)
				k.take(o, l, 60)
				k.wantLeft(o, lower, 0)
				k.pass(100 * time.Second)
				k.wantLeft(o, lower, 2)
			})
		},
	},
	{
		"change/lower-and-raise",
		"A limit that is lowered below what is spent, and raised again, forgets nothing of it, whoever asks in between.",
		func(k *kit) {
			k.each(10, 10*time.Minute, func(l *store.Limit) {
				o, lower := k.owner(), k.limitOf(l.Algorithm, l.Name, 5, 5*time.Minute)
				k.pass(10*time.Minute - time.Duration(k.now%int64(10*time.Minute))) // windows of both begin
				k.take(o, l, 7)
				k.admits(o, lower, 3, 0)
				k.wantLeft(o, l, 3)
			})
		},
	},
	{
		"change/held",
		"A limit lowered below what is spent refuses until that has refilled, at the old rate, to what is allowed; a refusal keeps the caller from nothing.",
		func(k *kit) {
			a, o := k.tokens("rate", store.TokenBucket, limit.Per(100, 100*time.Second), 100), k.owner()
			b := k.tokens("rate", store.TokenBucket, limit.Per(10, 100*time.Second), 10)
			k.admits(o, a, 60, 60)
			k.want("60 spent of 10", k.take(o, b, 1), store.Grant{RetryAfter: 51 * time.Second, ResetAfter: time.Minute})
			k.want("more than there ever is", k.take(o, b, 11), store.Grant{RetryAfter: store.Never, ResetAfter: time.Minute})
			k.pass(51*time.Second - k.tick())
			k.want("a moment too early", k.take(o, a, 0), store.Grant{OK: true, Remaining: 90, ResetAfter: 9*time.Second + k.tick()})
			k.pass(k.tick())
			if g := k.take(o, b, 1); !g.OK || g.Remaining != 0 {
				k.Fatalf("at the moment that was told: %+v", g)
			}
		},
	},
	{
		"change/held-beside",
		"A state that waits for a lowered limit stays as it is when what is beside it is written.",
		func(k *kit) {
			o, other := k.owner(), k.tokens("other", store.TokenBucket, limit.Per(5, time.Hour), 5)
			a := k.tokens("rate", store.TokenBucket, limit.Per(100, time.Hour), 100)
			b := k.tokens("rate", store.TokenBucket, limit.Per(10, time.Hour), 10)
			k.admits(o, a, 60, 60)
			k.claim(store.Claim{Owner: o, Limit: other, Cost: 1}, store.Claim{Owner: o, Limit: b, Cost: 1, Group: store.Shadow})
			k.wantLeft(o, other, 4)
			k.wantLeft(o, a, 40)
		},
	},
	{
		"change/disagree",
		"Two workers that count a caller under different versions of a bucket admit no more than the larger one would.",
		func(k *kit) {
			large := k.tokens("rate", store.TokenBucket, limit.Per(100, time.Hour), 100)
			small := k.tokens("rate", store.TokenBucket, limit.Per(10, time.Hour), 10)
			brief := k.tokens("rate", store.TokenBucket, limit.Per(99, time.Hour), 3)
			o, ok := k.owner(), 0
			for range 200 {
				for _, l := range []*store.Limit{large, small, brief} {
					if k.take(o, l, 1).OK {
						ok++
					}
				}
			}
			if ok != 100 {
				k.Fatalf("%d admitted, want 100", ok)
			}
		},
	},
	{
		"change/rate",
		"What was spent is counted in tokens, not in time: drained at 10 in 20s and changed to 1000 in 20s, a token is there in 20ms.",
		func(k *kit) {
			slow := k.tokens("rate", store.TokenBucket, limit.Per(10, 20*time.Second), 16)
			fast := k.tokens("rate", store.TokenBucket, limit.Per(1000, 20*time.Second), 16)
			o := k.owner()
			k.admits(o, slow, 20, 16)
			k.want("after the change", k.take(o, fast, 1), store.Grant{RetryAfter: 20 * time.Millisecond, ResetAfter: 320 * time.Millisecond})
			k.pass(20 * time.Millisecond)
			if g := k.take(o, fast, 1); !g.OK {
				k.Fatalf("20ms later: %+v", g)
			}
		},
	},
	{
		"change/algorithm",
		"Another algorithm finds spent what was spent, whichever it is.",
		func(k *kit) {
			k.pass(time.Hour - time.Duration(k.now%int64(time.Hour))) // an hour begins
			for _, from := range k.harness.Algorithms {
				for _, to := range k.harness.Algorithms {
					a, b, o := k.limitOf(from, "rate", 10, 2*time.Hour), k.limitOf(to, "rate", 10, 2*time.Hour), k.owner()
					k.take(o, a, 7)
					k.wantLeft(o, b, 3)
					k.take(o, b, 1)
					k.wantLeft(o, a, 2)
				}
			}
		},
	},
	{
		"change/back",
		"A limit that is changed and changed back mints nothing.",
		func(k *kit) {
			a := k.tokens("rate", store.TokenBucket, limit.Per(10, 10*time.Second), 10)
			b := k.tokens("rate", store.TokenBucket, limit.Per(30, 10*time.Second), 30)
			o := k.owner()
			k.take(o, a, 6)
			for range 20 {
				k.wantLeft(o, b, 24)
				k.wantLeft(o, a, 4)
			}
		},
	},
	{
		"change/return",
		"Tokens taken under one limit and given back under another come back as tokens.",
		func(k *kit) {
			a := k.tokens("rate", store.TokenBucket, limit.Per(10, 10*time.Second), 10)
			b := k.tokens("rate", store.TokenBucket, limit.Per(20, 10*time.Second), 20)
			o := k.owner()
			taken := k.claim(store.Claim{Owner: o, Limit: a, Cost: 6})
			k.wantLeft(o, b, 14)
			k.giveBack(k.returned(taken, 0, 4))
			k.wantLeft(o, b, 18)
		},
	},
	{
		"change/late-return",
		"Tokens that have refilled are not given back to another limit either.",
		func(k *kit) {
			k.each(10, 10*time.Second, func(l *store.Limit) {
				other, o := k.limitOf(l.Algorithm, l.Name, 20, 10*time.Second), k.owner()
				taken := k.claim(store.Claim{Owner: o, Limit: l, Cost: 6})
				k.pass(10 * time.Second)
				k.take(o, other, 15)
				k.giveBack(k.returned(taken, 0, 6))
				k.wantLeft(o, other, 5)
			})
		},
	},
	{
		"change/slots",
		"Changing a limit on slots loses no holder and forgets none.",
		func(k *kit) {
			o := k.owner()
			five, two, nine := k.slots(5, time.Minute), k.slots(2, time.Minute), k.slots(9, time.Hour)
			held := k.claim(store.Claim{Owner: o, Limit: five, Cost: 1})
			k.admits(o, five, 9, 4)
			k.admits(o, two, 3, 0)
			k.admits(o, nine, 9, 4)
			k.giveBack(k.returned(held, 0, 0))
			k.admits(o, two, 1, 0)
			k.admits(o, nine, 3, 1)
		},
	},
}

var clockRules = []rule{
	{
		"clock/still",
		"While time stands still nothing refills.",
		func(k *kit) {
			k.each(3, time.Second, func(l *store.Limit) { k.admits(k.owner(), l, 1000, 3) })
		},
	},
	{
		"clock/stale",
		"A batch stamped earlier than the last one, by up to a second or a burst's time, mints nothing.",
		func(k *kit) {
			if !k.virtual() {
				return
			}
			k.each(5, 5*time.Second, func(l *store.Limit) {
				o := k.owner()
				k.pass(5*time.Second - time.Duration(k.now%int64(5*time.Second))) // a window begins
				k.admits(o, l, 4, 4)
				for range 100 {
					k.now -= int64(time.Second)
					k.take(o, l, 5)
					k.now += int64(time.Second)
				}
				k.admits(o, l, 5, 1)
			})
		},
	},
	{
		"clock/stale-short",
		"Stale stamps do not refill a bucket that is shorter than they are late.",
		func(k *kit) {
			if !k.virtual() {
				return
			}
			l, o, ok := k.tokens("short", store.TokenBucket, limit.Per(1000, time.Second), 1), k.owner(), 0
			for i := range 10_000 {
				k.now += int64(10 * time.Microsecond)
				late := int64(i%2) * int64(7*time.Millisecond)
				k.now -= late
				if k.take(o, l, 1).OK {
					ok++
				}
				k.now += late
			}
			if ok > 101 {
				k.Fatalf("%d admitted in 100ms at 1000/s, at most 101", ok)
			}
		},
	},
	{
		"clock/stale-overrun",
		"A charge stamped earlier than the last grant, by up to a second, makes everybody wait as long as one at that grant's moment.",
		func(k *kit) {
			if !k.virtual() {
				return
			}
			for _, late := range []time.Duration{1, time.Millisecond, time.Second} {
				k.each(5, 5*time.Second, func(l *store.Limit) {
					o, other := k.owner(), k.owner()
					b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1}, store.Claim{Owner: other, Limit: l, Cost: 1})
					k.giveBack(k.returned(b, 0, -20))
					k.now -= int64(late)
					k.giveBack(k.returned(b, 1, -20))
					k.now += int64(late)
					want := k.take(o, l, 1)
					want.Handle = 0
					k.want(fmt.Sprintf("%s charged by a stamp %s late", l.Name, late), k.take(other, l, 1), want)
				})
			}
		},
	},
	{
		"clock/back",
		"A clock that is set back mints nothing at once, and blocks for no longer than a refill.",
		func(k *kit) {
			if !k.virtual() {
				return
			}
			for _, back := range []time.Duration{time.Hour, 30 * day} {
				k.each(5, 5*time.Second, func(l *store.Limit) {
					if l.Algorithm == store.LeakyBucket {
						return // NGINX waits until its clock has caught up, or admits something
					}
					o := k.owner()
					k.admits(o, l, 6, 5)
					k.now -= int64(back)
					k.admits(o, l, 6, 0)
					k.pass(5 * time.Second)
					k.admits(o, l, 6, 5)
				})
			}
		},
	},
}
