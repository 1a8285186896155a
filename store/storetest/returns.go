package storetest

import (
	"math"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

var returnRules = []rule{
	{
		"return/restores",
		"Tokens given back on the spot are there again, all of them.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				k.take(o, l, 2)
				before := k.take(o, l, 0)
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 5})
				k.giveBack(k.returned(b, 0, 5))
				before.Handle = 0
				k.want(l.Name, k.take(o, l, 0), before)
			})
		},
	},
	{
		"return/part",
		"A part of what was taken may come back.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 6})
				k.giveBack(k.returned(b, 0, 4))
				k.wantLeft(o, l, 6)
			})
		},
	},
	{
		"return/never-above-full",
		"However much and however often is given back, a limit is never fuller than full.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 3})
				for _, tokens := range []int64{3, 3, 1 << 53, math.MaxInt64} {
					k.giveBack(k.returned(b, 0, tokens))
					k.wantLeft(o, l, 8)
				}
				k.admits(o, l, 12, 8)
			})
		},
	},
	{
		"return/late",
		"Tokens that have refilled since are not given back once more.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 4})
				k.pass(8 * time.Second)
				k.take(o, l, 7)
				k.giveBack(k.returned(b, 0, 4))
				k.wantLeft(o, l, 1)
			})
		},
	},
	{
		"return/partly-late",
		"Of tokens that have partly refilled, the rest comes back.",
		func(k *kit) {
			l, o := k.bucket(8, 8*time.Second), k.owner()
			b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 4})
			k.pass(3 * time.Second)
			k.take(o, l, 5) // 7 were there: 6 are owed
			k.giveBack(k.returned(b, 0, 4))
			k.wantLeft(o, l, 3)
		},
	},
	{
		"return/any-grant",
		"Tokens may come back without their grant being known: at most all that is owed.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				k.take(o, l, 4)
				k.take(o, l, 3)
				r := store.Return{ID: k.id(), Owner: o, Limit: l, Handle: math.MaxUint64, At: k.now, Now: k.now, AnyGrant: true, Tokens: 5}
				k.giveBack(r)
				k.wantLeft(o, l, 6)
				k.giveBack(r)
				k.wantLeft(o, l, 8)
			})
		},
	},
	{
		"return/unknown",
		"To give back what was never taken is no error and changes nothing.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				b := k.claim(store.Claim{Owner: k.owner(), Limit: l, Cost: 1})
				o := k.owner()
				r := k.returned(b, 0, 5)
				r.Owner = o
				k.giveBack(r)
				k.admits(o, l, 9, 8)
			})
		},
	},
	{
		"return/charge",
		"Negative tokens are charged whether they are there or not: of a bucket up to eleven whole ones, which refill; a window forgets what is more than it holds when it ends.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
				k.giveBack(k.returned(b, 0, -4))
				k.wantLeft(o, l, 3)
				for _, tokens := range []int64{-100, -1 << 53, -math.MaxInt64, math.MinInt64} {
					k.giveBack(k.returned(b, 0, tokens))
					k.wantLeft(o, l, 0)
				}
				if k.pass(8 * time.Second); l.Algorithm == store.TokenBucket || l.Algorithm == store.LeakyBucket {
					k.wantLeft(o, l, 0)
					k.pass(80 * time.Second)
				}
				k.wantLeft(o, l, 8)
			})
		},
	},
	{
		"return/overrun",
		"A bucket whose requests turn out to cost more than was asked for lets no more pass than its rate allows, and the last one's overrun.",
		func(k *kit) {
			l, o, worth := k.tokens("rate", store.TokenBucket, limit.Per(10, time.Second), 10), k.owner(), 0
			for range 300 {
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
				if b.Grants[0].OK {
					worth += 100
					k.giveBack(k.returned(b, 0, -99))
				}
				k.pass(100 * time.Millisecond)
			}
			if worth > 10+300+100 {
				k.Fatalf("%d tokens' worth passed in 30s, at most 410", worth)
			}
		},
	},
	{
		"return/overrun-of-a-window",
		"In whatever time, no more requests pass that turn out to cost a whole limit beside their claim than there are windows of it, and one.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o, passed := k.owner(), 0
				for range 7 { // whose tokens come free one by one
					k.take(o, l, 1)
					k.pass(time.Second)
				}
				for range 160 {
					b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
					if b.Grants[0].OK {
						passed++
						k.giveBack(k.returned(b, 0, -80))
					}
					k.pass(500 * time.Millisecond)
				}
				if most := 1 + int(80*time.Second/l.Rate.Period); passed > most || passed < 2 {
					k.Fatalf("%s: %d passed in 80s, want 2 to %d", l.Name, passed, most)
				}
			})
		},
	},
	{
		"return/told-when-overrun",
		"Of a limit that owes more than it holds nothing is left, and the time that a refusal tells is the time to wait, to the nanosecond.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
				k.giveBack(k.returned(b, 0, -40))
				g := k.take(o, l, 1)
				if g.OK || g.Remaining != 0 || g.RetryAfter <= 0 {
					k.Fatalf("%s: %+v", l.Name, g)
				}
				k.waitOut(o, l, 1)
			})
		},
	},
	{
		"return/charge-later",
		"A charge that comes when all has refilled is charged still.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o := k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
				k.pass(time.Hour)
				k.giveBack(k.returned(b, 0, -5))
				k.wantLeft(o, l, 3)
			})
		},
	},
	{
		"return/reset",
		"A reset forgets what an owner owes of one limit, and nothing else.",
		func(k *kit) {
			k.each(8, 8*time.Second, func(l *store.Limit) {
				o, other := k.owner(), k.owner()
				b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 8}, store.Claim{Owner: other, Limit: l, Cost: 8})
				k.giveBack(store.Return{ID: k.id(), Owner: o, Limit: l, At: k.now, Now: k.now, Reset: true, Tokens: -3})
				k.wantLeft(o, l, 8)
				k.wantLeft(other, l, 0)
				k.giveBack(store.Return{ID: b.ID, Owner: k.owner(), Limit: l, At: k.now, Now: k.now, Reset: true})
			})
		},
	},
}

func (k *kit) wantLeft(o store.Key, l *store.Limit, want int64) {
	k.Helper()
	if got := k.left(o, l); got != want {
		k.Fatalf("%s: %d left, want %d", l.Name, got, want)
	}
}
