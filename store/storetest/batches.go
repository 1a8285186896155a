package storetest

import (
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

var batchRules = []rule{
	{
		"batch/none",
		"A batch without claims is granted.",
		func(k *kit) { k.claim() },
	},
	{
		"batch/all-or-none",
		"If one enforced claim is refused, none of them is charged, whatever they count and whoever owns them.",
		func(k *kit) {
			a, b, c := k.owner(), k.owner(), k.owner()
			rate, window, slots := k.bucket(5, time.Hour), k.window(3, time.Hour), k.slots(2, time.Hour)
			claims := []store.Claim{
				{Owner: a, Limit: rate, Cost: 1}, {Owner: b, Limit: window, Cost: 1},
				{Owner: b, Limit: slots, Cost: 1}, {Owner: c, Limit: rate, Cost: 2},
			}
			granted := 0
			for range 10 {
				if all(k.claim(claims...), store.Enforced) {
					granted++
				}
			}
			if granted != 2 { // of slots and of c's rate
				k.Fatalf("%d batches were granted, want 2", granted)
			}
			k.wantLeft(a, rate, 3)
			k.wantLeft(b, window, 1)
			k.wantLeft(c, rate, 1)
		},
	},
	{
		"batch/first-refused",
		"The order of the claims makes no difference to what is charged.",
		func(k *kit) {
			empty, full := k.owner(), k.owner()
			l := k.bucket(1, time.Hour)
			k.take(empty, l, 1)
			for _, owners := range [][]store.Key{{empty, full}, {full, empty}, {empty, full, empty}} {
				var claims []store.Claim
				for _, o := range owners {
					claims = append(claims, store.Claim{Owner: o, Limit: l, Cost: 1})
				}
				k.claim(claims...)
				k.wantLeft(full, l, 1)
			}
		},
	},
	{
		"batch/all-judged",
		"Every claim of a refused batch has its own answer: those that would pass say so, the others when they could.",
		func(k *kit) {
			l, hour := k.bucket(4, 4*time.Second), k.tokens("hour", store.TokenBucket, k.bucket(1, time.Hour).Rate, 1)
			s, o := k.slots(1, time.Minute), k.owner()
			k.take(o, l, 3)
			k.take(o, hour, 1)
			k.take(o, s, 1)
			b := k.claim(
				store.Claim{Owner: o, Limit: l, Cost: 1}, store.Claim{Owner: o, Limit: hour, Cost: 1},
				store.Claim{Owner: k.owner(), Limit: l, Cost: 3}, store.Claim{Owner: o, Limit: s, Cost: 1},
				store.Claim{Owner: k.owner(), Limit: l, Cost: 5},
			)
			k.want("would pass", b.Grants[0], store.Grant{OK: true, Remaining: 1, ResetAfter: 3 * time.Second})
			k.want("in an hour", b.Grants[1], store.Grant{RetryAfter: time.Hour, ResetAfter: time.Hour})
			k.want("would pass too", b.Grants[2], store.Grant{OK: true, Remaining: 4})
			k.want("who knows", b.Grants[3], store.Grant{})
			k.want("never", b.Grants[4], store.Grant{Remaining: 4, RetryAfter: store.Never})
		},
	},
	{
		"batch/longest-wait",
		"Waiting out the longest RetryAfter admits a batch of tokens.",
		func(k *kit) {
			o, p := k.owner(), k.owner()
			quick, slow := k.bucket(4, 4*time.Second), k.window(2, time.Minute)
			k.take(o, quick, 4)
			k.take(p, slow, 2)
			claims := []store.Claim{{Owner: o, Limit: quick, Cost: 3}, {Owner: p, Limit: slow, Cost: 1}}
			b := k.claim(claims...)
			k.pass(max(b.Grants[0].RetryAfter, b.Grants[1].RetryAfter) - k.tick())
			if all(k.claim(claims...), store.Enforced) {
				k.Fatalf("granted %s early", k.tick())
			}
			k.pass(k.tick())
			if b = k.claim(claims...); !all(b, store.Enforced) {
				k.Fatalf("still refused: %+v", b.Grants)
			}
		},
	},
	{
		"batch/return",
		"What a batch was granted comes back claim by claim.",
		func(k *kit) {
			o, p := k.owner(), k.owner()
			l, s := k.bucket(5, time.Hour), k.slots(1, time.Hour)
			b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 2}, store.Claim{Owner: p, Limit: l, Cost: 3}, store.Claim{Owner: o, Limit: s, Cost: 1})
			k.giveBack(k.returned(b, 0, 2), k.returned(b, 1, 3), k.returned(b, 2, 0))
			k.wantLeft(o, l, 5)
			k.wantLeft(p, l, 5)
			k.admits(o, s, 2, 1)
		},
	},
	{
		"batch/shadow-refuses-nobody",
		"A shadow claim that does not pass refuses nobody, and the enforced ones are charged.",
		func(k *kit) {
			l, o, p := k.bucket(3, time.Hour), k.owner(), k.owner()
			k.take(p, l, 3)
			b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1}, store.Claim{Owner: p, Limit: l, Cost: 1, Group: store.Shadow})
			k.want("enforced", b.Grants[0], store.Grant{OK: true, Remaining: 2, ResetAfter: 20 * time.Minute})
			k.want("shadow", b.Grants[1], store.Grant{RetryAfter: 20 * time.Minute, ResetAfter: time.Hour})
			k.wantLeft(o, l, 2)
		},
	},
	{
		"batch/shadow-all-or-none",
		"Of the shadow claims all are charged, if all pass, or none.",
		func(k *kit) {
			l, s := k.bucket(3, time.Hour), k.slots(1, time.Hour)
			o, p, q := k.owner(), k.owner(), k.owner()
			claims := []store.Claim{
				{Owner: o, Limit: l, Cost: 1, Group: store.Shadow}, {Owner: p, Limit: l, Cost: 1},
				{Owner: q, Limit: s, Cost: 1, Group: store.Shadow},
			}
			if b := k.claim(claims...); !all(b, store.Shadow) || !all(b, store.Enforced) {
				k.Fatalf("the first batch: %+v", b.Grants)
			}
			b := k.claim(claims...)
			if all(b, store.Shadow) || !all(b, store.Enforced) || !b.Grants[0].OK {
				k.Fatalf("the second batch, with no slot left: %+v", b.Grants)
			}
			k.wantLeft(o, l, 2)
			k.wantLeft(p, l, 1)
		},
	},
	{
		"batch/shadow-after-enforced",
		"If the enforced claims are refused, the shadow ones are judged and not charged.",
		func(k *kit) {
			l, s := k.bucket(3, time.Hour), k.slots(1, time.Hour)
			o, p := k.owner(), k.owner()
			k.take(o, l, 3)
			for range 3 {
				b := k.claim(store.Claim{Owner: p, Limit: l, Cost: 1, Group: store.Shadow}, store.Claim{Owner: o, Limit: l, Cost: 1},
					store.Claim{Owner: p, Limit: s, Cost: 1, Group: store.Shadow})
				k.want("shadow tokens", b.Grants[0], store.Grant{OK: true, Remaining: 3})
				k.want("shadow slot", b.Grants[2], store.Grant{OK: true, Remaining: 1})
			}
			k.wantLeft(p, l, 3)
			k.admits(p, s, 2, 1)
		},
	},
	{
		"batch/same-key",
		"Claims of one batch on the same limit of the same owner count together.",
		func(k *kit) {
			k.each(5, time.Hour, func(l *store.Limit) {
				o := k.owner()
				three := store.Claim{Owner: o, Limit: l, Cost: 3}
				two := store.Claim{Owner: o, Limit: l, Cost: 2, Group: store.Shadow}
				if b := k.claim(three, three); all(b, store.Enforced) {
					k.Fatalf("%s: twice 3 of 5 were granted", l.Name)
				}
				k.wantLeft(o, l, 5)
				if b := k.claim(three, two); !all(b, store.Enforced) || !all(b, store.Shadow) || b.Grants[0].Remaining != 0 {
					k.Fatalf("%s: 3 and 2 of 5: %+v", l.Name, b.Grants)
				}
				k.wantLeft(o, l, 0)
			})
		},
	},
	{
		"batch/kept",
		"What a driver keeps it copies: the asker may write over its batch when the call has returned.",
		func(k *kit) {
			l, s, o := k.bucket(2, time.Hour), k.slots(2, time.Hour), k.owner()
			b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 2, Tag: 7}, store.Claim{Owner: o, Limit: s, Cost: 1, Tag: 9})
			if b.Claims[0].Tag != 7 || b.Claims[1].Tag != 9 || b.Claims[0].Owner != o || b.Claims[0].Cost != 2 {
				k.Fatalf("the driver changed the claims: %+v", b.Claims)
			}
			returns := []store.Return{k.returned(b, 0, 2), k.returned(b, 1, 0)}
			clear(b.Claims)
			clear(b.Grants)
			b.ID = store.ID{}
			kept := slices.Clone(returns)
			k.giveBack(returns...)
			clear(returns)
			k.giveBack(kept[1])
			k.wantLeft(o, l, 2)
			k.admits(o, s, 3, 2)
		},
	},
	{
		"batch/peek",
		"A peek is answered as the claims would be, and changes nothing.",
		func(k *kit) {
			rate, slots := k.bucket(5, 5*time.Second), k.slots(3, time.Minute)
			o := k.owner()
			claims := []store.Claim{
				{Owner: o, Limit: rate, Cost: 2}, {Owner: o, Limit: slots, Cost: 1},
				{Owner: o, Limit: rate, Cost: 1, Group: store.Shadow},
			}
			for _, want := range [][]bool{{true, true, true}, {true, true, false}, {false, true, false}} {
				var seen [3]*store.Batch
				for i := range seen {
					b := k.batch(append([]store.Claim(nil), claims...)...)
					b.Peek = i < 2
					k.ask(b)
					seen[i] = b
				}
				for i, ok := range want {
					if seen[2].Grants[i].OK != ok {
						k.Fatalf("claim %d: %+v, want granted %v", i, seen[2].Grants[i], ok)
					}
					k.want("peeked, then claimed", seen[0].Grants[i], without(seen[2].Grants[i]))
					k.want("peeked again", seen[1].Grants[i], without(seen[2].Grants[i]))
				}
			}
			k.wantLeft(o, rate, 0)
			k.admits(o, slots, 2, 1)
		},
	},
	{
		"batch/large",
		"A batch may hold many claims.",
		func(k *kit) {
			l, o := k.bucket(100, time.Hour), k.owner()
			var claims []store.Claim
			for range 40 {
				claims = append(claims, store.Claim{Owner: k.owner(), Limit: l, Cost: 1}, store.Claim{Owner: o, Limit: l, Cost: 1})
			}
			if !all(k.claim(claims...), store.Enforced) {
				k.Fatalf("80 claims that pass were refused")
			}
			k.wantLeft(o, l, 60)
			if all(k.claim(append(claims, claims...)...), store.Enforced) {
				k.Fatalf("80 more of 60 were granted")
			}
			k.wantLeft(o, l, 60)
		},
	},
}

// without is a grant without what is the driver's own.
func without(g store.Grant) store.Grant {
	g.Handle = 0
	return g
}

// all reports whether all claims of a group say that they pass.
func all(b *store.Batch, g store.Group) bool {
	for i := range b.Claims {
		if b.Claims[i].Group == g && !b.Grants[i].OK {
			return false
		}
	}
	return true
}
