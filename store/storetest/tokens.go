package storetest

import (
	"math"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

const day = 24 * time.Hour

var tokenRules = []rule{
	{
		"tokens/burst",
		"Who was never seen may spend a whole burst at once, and not a token more.",
		func(k *kit) {
			k.each(5, time.Minute, func(l *store.Limit) { k.admits(k.owner(), l, 9, 5) })
		},
	},
	{
		"tokens/figures",
		"Remaining is what could be taken now; RetryAfter is 0 when granted; ResetAfter ends when the limit is as if never used.",
		func(k *kit) {
			l, o := k.bucket(10, time.Second), k.owner()
			k.want("first", k.take(o, l, 3), store.Grant{OK: true, Remaining: 7, ResetAfter: 300 * time.Millisecond})
			k.want("refused", k.take(o, l, 8), store.Grant{Remaining: 7, RetryAfter: 100 * time.Millisecond, ResetAfter: 300 * time.Millisecond})
			k.pass(300*time.Millisecond - k.tick())
			k.want("not yet reset", k.take(o, l, 0), store.Grant{OK: true, Remaining: 9, ResetAfter: k.tick()})
			k.pass(k.tick())
			k.want("reset", k.take(o, l, 0), store.Grant{OK: true, Remaining: 10})
		},
	},
	{
		"tokens/window",
		"A fixed window starts at a whole multiple of its length since the epoch, and ends everybody's count.",
		func(k *kit) {
			l, o := k.window(4, time.Minute), k.owner()
			into := time.Duration(k.now % int64(time.Minute))
			k.pass(time.Minute - into + 15*time.Second)
			k.want("within", k.take(o, l, 3), store.Grant{OK: true, Remaining: 1, ResetAfter: 45 * time.Second})
			k.want("refused", k.take(o, l, 2), store.Grant{Remaining: 1, RetryAfter: 45 * time.Second, ResetAfter: 45 * time.Second})
			k.pass(45 * time.Second)
			k.want("the next window", k.take(o, l, 4), store.Grant{OK: true, ResetAfter: time.Minute})
		},
	},
	{
		"tokens/wait",
		"Waiting out RetryAfter admits, if nobody else asked; the smallest unit of time earlier does not.",
		func(k *kit) {
			k.each(7, 7*time.Second, func(l *store.Limit) {
				o := k.owner()
				for _, cost := range []int64{7, 1, 3, 7, 2, 7} {
					k.waitOut(o, l, cost)
				}
			})
		},
	},
	{
		"tokens/remaining",
		"What remains can be taken at once, and not one more.",
		func(k *kit) {
			k.each(9, 9*time.Second, func(l *store.Limit) {
				o := k.owner()
				for _, cost := range []int64{2, 1, 4} {
					left := k.take(o, l, cost).Remaining
					if more := k.take(o, l, left+1); more.OK {
						k.Fatalf("%s: %d remained, %d were granted", l.Name, left, left+1)
					}
					k.pass(time.Second / 2)
				}
				if left := k.left(o, l); !k.take(o, l, left).OK {
					k.Fatalf("%s: %d remained and were refused", l.Name, left)
				}
			})
		},
	},
	{
		"tokens/never",
		"A cost above the burst, and a negative one, is refused for ever and changes nothing.",
		func(k *kit) {
			k.each(5, 5*time.Second, func(l *store.Limit) {
				o := k.owner()
				for _, take := range []int64{0, 2, 3} {
					left := k.take(o, l, take).Remaining
					for _, cost := range []int64{6, 1 << 31, 1 << 53, math.MaxInt64, -1, -1 << 53, math.MinInt64} {
						before := k.take(o, l, 0)
						before.OK, before.RetryAfter, before.Handle = false, store.Never, 0
						k.want(l.Name, k.take(o, l, cost), before)
					}
					if got := k.left(o, l); got != left {
						k.Fatalf("%s: %d left, want %d", l.Name, got, left)
					}
				}
			})
		},
	},
	{
		"tokens/nothing",
		"A cost of 0 is granted and takes nothing, also when nothing is left.",
		func(k *kit) {
			k.each(2, time.Minute, func(l *store.Limit) {
				o := k.owner()
				for _, left := range []int64{2, 1, 0} {
					for range 3 {
						if g := k.take(o, l, 0); !g.OK || g.Remaining != left {
							k.Fatalf("%s: a look with %d left: %+v", l.Name, left, g)
						}
					}
					k.take(o, l, 1)
				}
			})
		},
	},
	{
		"tokens/refused-costs-nothing",
		"A refusal changes nothing that a decision can see, however often it is asked for.",
		func(k *kit) {
			k.each(10, 10*time.Second, func(l *store.Limit) {
				o := k.owner()
				k.take(o, l, 6)
				for range 50 {
					k.take(o, l, 5)
				}
				k.admits(o, l, 6, 4)
			})
		},
	},
	{
		"tokens/apart",
		"Owners, and the limits of one owner, are counted apart; so are tokens and slots of one name.",
		func(k *kit) {
			o, other := k.owner(), k.owner()
			other.Lo = o.Lo
			l := k.bucket(2, time.Hour)
			k.admits(o, l, 3, 2)
			k.admits(other, l, 3, 2)
			k.admits(store.Key{Hi: o.Lo, Lo: o.Hi}, l, 3, 2)
			k.admits(o, k.tokens("rate2", store.TokenBucket, l.Rate, 2), 3, 2)
			s, err := store.NewSlots("rate", 2, time.Minute)
			if err != nil {
				k.Fatalf("%v", err)
			}
			k.admits(o, s, 3, 2)
		},
	},
	{
		"tokens/idle",
		"An idle owner has one burst, after a minute as after years.",
		func(k *kit) {
			k.each(3, 3*time.Second, func(l *store.Limit) {
				o := k.owner()
				for _, idle := range []time.Duration{0, time.Minute, day, 400 * day, 20 * 365 * day} {
					k.pass(idle)
					k.admits(o, l, 5, 3)
					k.pass(3 * time.Second)
				}
			})
		},
	},
	{
		"tokens/envelope",
		"Within any time no more is admitted than the algorithm promises.",
		checkEnvelope,
	},
	{
		"tokens/odd-rates",
		"Tokens come at the exact rate, also where a token takes no whole number of nanoseconds.",
		func(k *kit) {
			rates := []limit.Rate{limit.Per(1000, time.Second), limit.Per(1, 10*time.Second)}
			if k.exact() {
				rates = append(rates, limit.Per(700_000_000, time.Second), limit.Per(3, time.Second), limit.Per(7, 24*time.Hour), limit.Per(999_999_937, time.Second))
			}
			for _, r := range rates {
				k.checkRate(r)
			}
		},
	},
}

// waitOut takes a cost, after its RetryAfter if it is refused first.
func (k *kit) waitOut(o store.Key, l *store.Limit, cost int64) {
	g := k.take(o, l, cost)
	if g.OK {
		return
	}
	k.pass(g.RetryAfter - k.tick())
	if early := k.take(o, l, cost); early.OK {
		k.Fatalf("%s: %d granted %s before RetryAfter %s", l.Name, cost, k.tick(), g.RetryAfter)
	}
	k.pass(k.tick())
	if g = k.take(o, l, cost); !g.OK {
		k.Fatalf("%s: %d still refused after RetryAfter: %+v", l.Name, cost, g)
	}
}

// checkRate drains a bucket and counts what comes back in the time of 700 tokens.
func (k *kit) checkRate(r limit.Rate) {
	l, o := k.tokens("odd", store.TokenBucket, r, 1000), k.owner()
	if g := k.take(o, l, 1000); !g.OK {
		k.Fatalf("%s: %+v", r, g)
	}
	k.pass(k.take(o, l, 700).RetryAfter - k.tick())
	if left := k.left(o, l); left != 699 {
		k.Fatalf("%s: %d tokens just before the time of 700", r, left)
	}
	k.pass(k.tick())
	if left := k.left(o, l); left != 700 {
		k.Fatalf("%s: %d tokens in the time of 700", r, left)
	}
}

// envelope is the most that a limit may admit within a span.
func envelope(l *store.Limit, span time.Duration) int64 {
	periods := int64(span / l.Rate.Period)
	switch l.Algorithm {
	case store.FixedWindow:
		return l.Rate.Count * (2 + periods)
	case store.SlidingLog, store.StrictWindow:
		return l.Rate.Count * (1 + periods)
	case store.LeakyBucket:
		span += time.Millisecond
	default: // of the others there is nothing to do here
	}
	return l.Burst + int64(span)*l.Rate.Count/int64(l.Rate.Period)
}

// checkEnvelope asks greedily at odd moments and looks at every window.
func checkEnvelope(k *kit) {
	k.each(5, 50*time.Millisecond, func(l *store.Limit) {
		o, begin := k.owner(), k.now
		var times []int64
		for i := range 400 {
			k.pass(time.Duration(i*i%23) * time.Millisecond / 2)
			for range i % 4 {
				if k.take(o, l, 1).OK {
					times = append(times, k.now-begin)
				}
			}
		}
		for last := range times {
			for first := range last + 1 {
				n, span := last-first+1, time.Duration(times[last]-times[first])
				if most := envelope(l, span); int64(n) > most {
					k.Fatalf("%s: %d admitted within %s, at most %d", l.Name, n, span, most)
				}
			}
		}
	})
}
