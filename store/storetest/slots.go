package storetest

import (
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

var slotRules = []rule{
	{
		"slots/max",
		"No more slots than the maximum are held at once; a refusal promises no time.",
		func(k *kit) {
			l, o := k.slots(3, time.Minute), k.owner()
			for left := int64(2); left >= 0; left-- {
				k.want("granted", k.take(o, l, 1), store.Grant{OK: true, Remaining: left})
			}
			for range 5 {
				k.want("refused", k.take(o, l, 1), store.Grant{})
			}
		},
	},
	{
		"slots/return",
		"A slot that is given back is free at once; given back again, nothing happens.",
		func(k *kit) {
			l, o := k.slots(2, time.Minute), k.owner()
			first := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
			k.admits(o, l, 2, 1)
			for range 3 {
				k.giveBack(k.returned(first, 0, 0))
			}
			k.admits(o, l, 3, 1)
			k.giveBack(k.returned(first, 0, 0))
			k.admits(o, l, 3, 0)
		},
	},
	{
		"slots/another's",
		"Only the request that holds a slot gives it back: not another request, not under another limit, not for another owner.",
		func(k *kit) {
			l, o, other := k.slots(1, time.Minute), k.owner(), k.owner()
			held := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
			k.take(other, l, 1)
			for _, change := range []func(*store.Return){
				func(r *store.Return) { r.ID = k.id() },
				func(r *store.Return) { r.Owner = other },
				func(r *store.Return) { r.Owner = k.owner() },
				func(r *store.Return) {
					r.Limit, _ = store.NewSlots("elsewhere", 1, time.Minute)
				},
			} {
				r := k.returned(held, 0, 0)
				change(&r)
				k.giveBack(r)
				k.admits(o, l, 1, 0)
				k.admits(other, l, 1, 0)
			}
		},
	},
	{
		"slots/lease",
		"A holder that stays silent for its lease loses its slot, not a moment earlier.",
		func(k *kit) {
			l, o := k.slots(2, 10*time.Second), k.owner()
			k.admits(o, l, 1, 1)
			k.pass(4 * time.Second)
			k.admits(o, l, 2, 1)
			k.pass(6*time.Second - k.tick())
			k.admits(o, l, 1, 0)
			k.pass(k.tick())
			k.want("the first lease has ended", k.take(o, l, 1), store.Grant{OK: true})
			k.admits(o, l, 1, 0)
			k.pass(4 * time.Second)
			k.admits(o, l, 2, 1)
		},
	},
	{
		"slots/late-return",
		"A slot given back after its lease has ended takes nobody else's.",
		func(k *kit) {
			l, o := k.slots(1, 10*time.Second), k.owner()
			lost := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
			k.pass(10 * time.Second)
			k.admits(o, l, 1, 1)
			k.giveBack(k.returned(lost, 0, 0))
			k.admits(o, l, 1, 0)
		},
	},
	{
		"slots/renew",
		"A renewed slot is held for another lease from then on, again and again.",
		func(k *kit) {
			l, o := k.slots(1, 10*time.Second), k.owner()
			held := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
			for range 5 {
				k.pass(10*time.Second - k.tick())
				k.renew(k.returned(held, 0, 0))
				k.admits(o, l, 1, 0)
			}
			k.pass(10*time.Second - k.tick())
			k.admits(o, l, 1, 0)
			k.pass(k.tick())
			k.admits(o, l, 1, 1)
		},
	},
	{
		"slots/renew-lost",
		"To renew a slot that was given back, or whose lease has ended, brings it back for nobody.",
		func(k *kit) {
			l, o := k.slots(1, 10*time.Second), k.owner()
			given := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
			k.giveBack(k.returned(given, 0, 0))
			k.renew(k.returned(given, 0, 0))
			lost := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
			k.pass(10 * time.Second)
			k.renew(k.returned(lost, 0, 0))
			k.admits(o, l, 2, 1)
			k.renew(k.returned(given, 0, 0), k.returned(lost, 0, 0))
			k.pass(10 * time.Second)
			k.admits(o, l, 2, 1)
		},
	},
	{
		"slots/many",
		"Slots are given back in any order, and each frees one.",
		func(k *kit) {
			l, o := k.slots(100, time.Minute), k.owner()
			var held []*store.Batch
			for range 100 {
				held = append(held, k.claim(store.Claim{Owner: o, Limit: l, Cost: 1}))
			}
			for i := range held {
				k.giveBack(k.returned(held[i*37%100], 0, 0))
				if left := k.takeAndGive(o, l); left != int64(i) {
					k.Fatalf("%d given back, %d free beside the one just taken", i+1, left)
				}
			}
		},
	},
	{
		"slots/many-leases",
		"Each lease ends at its own time.",
		func(k *kit) {
			l, o := k.slots(50, 60*time.Second), k.owner()
			for range 50 {
				k.take(o, l, 1)
				k.pass(time.Second)
			}
			k.pass(9 * time.Second)
			for i := range 50 {
				k.pass(time.Second)
				if left := k.takeAndGive(o, l); left != int64(i) {
					k.Fatalf("%d leases have ended, %d free beside the one just taken", i+1, left)
				}
			}
		},
	},
}

// takeAndGive is what remains beside a slot that is taken and given back.
func (k *kit) takeAndGive(o store.Key, l *store.Limit) int64 {
	k.Helper()
	b := k.claim(store.Claim{Owner: o, Limit: l, Cost: 1})
	if !b.Grants[0].OK {
		return -1
	}
	k.giveBack(k.returned(b, 0, 0))
	return b.Grants[0].Remaining
}
