package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// raceRules run with -race, or they check half of what they can.
var raceRules = []rule{
	{
		"race/last-token",
		"Of 100 askers one gets the last token.",
		func(k *kit) {
			k.each(10, time.Hour, func(l *store.Limit) {
				for range 10 {
					o := k.owner()
					k.admits(o, l, 9, 9)
					k.wantRace(1, k.race(100, store.Claim{Owner: o, Limit: l, Cost: 1}))
				}
			})
		},
	},
	{
		"race/new-owner",
		"100 askers who meet an owner that was never seen get one burst.",
		func(k *kit) {
			k.each(10, time.Hour, func(l *store.Limit) {
				for range 10 {
					k.wantRace(10, k.race(100, store.Claim{Owner: k.owner(), Limit: l, Cost: 1}))
				}
			})
		},
	},
	{
		"race/last-slot",
		"Of 100 askers one gets the last slot.",
		func(k *kit) {
			l := k.slots(10, time.Hour)
			for range 10 {
				o := k.owner()
				k.admits(o, l, 9, 9)
				k.wantRace(1, k.race(100, store.Claim{Owner: o, Limit: l, Cost: 1}))
			}
		},
	},
	{
		"race/two-owners",
		"Of 100 askers one gets the last token of two owners, and neither is charged for the others.",
		func(k *kit) {
			l := k.bucket(10, time.Hour)
			for range 10 {
				o, p := k.owner(), k.owner()
				k.take(p, l, 9)
				k.wantRace(1, k.race(100, store.Claim{Owner: o, Limit: l, Cost: 1}, store.Claim{Owner: p, Limit: l, Cost: 1}))
				k.wantLeft(o, l, 9)
				k.wantLeft(p, l, 0)
			}
		},
	},
	{
		"race/unseen",
		"Nobody is refused for the sake of a batch that is refused itself: its charges are never seen.",
		func(k *kit) {
			const askers = 200
			l, s := k.bucket(askers, time.Hour), k.slots(askers, time.Hour)
			o, drained := k.owner(), k.owner()
			k.take(drained, l, askers)
			stop := k.hammer(2,
				store.Claim{Owner: o, Limit: l, Cost: askers / 2}, store.Claim{Owner: o, Limit: s, Cost: 1},
				store.Claim{Owner: drained, Limit: l, Cost: 1})
			granted := k.race(askers, store.Claim{Owner: o, Limit: l, Cost: 1}, store.Claim{Owner: o, Limit: s, Cost: 1})
			stop()
			k.wantRace(askers, granted)
			k.wantLeft(o, l, 0)
		},
	},
	{
		"race/orders",
		"Batches that name the same owners in different orders get on with each other.",
		func(k *kit) {
			const askers = 300
			l, s := k.bucket(2*askers, time.Hour), k.slots(2*askers, time.Hour)
			a, b, c := k.owner(), k.owner(), k.owner()
			claims := func(owners ...store.Key) (list []store.Claim) {
				for _, o := range owners {
					list = append(list, store.Claim{Owner: o, Limit: l, Cost: 1}, store.Claim{Owner: o, Limit: s, Cost: 1})
				}
				return list
			}
			var wg sync.WaitGroup
			var granted atomic.Int64
			for _, order := range [][]store.Claim{claims(a, b, c), claims(c, b, a), claims(b, a, c)} {
				wg.Go(func() { granted.Add(k.race(askers/3, order...)) })
			}
			wg.Wait()
			k.wantRace(askers, granted.Load())
			for _, o := range []store.Key{a, b, c} {
				k.wantLeft(o, l, askers)
			}
		},
	},
	{
		"race/slots-held",
		"Whatever is taken, returned and returned twice, never more than the maximum is held.",
		func(k *kit) {
			const most = 5
			l, o := k.slots(most, time.Hour), k.owner()
			var held, worst atomic.Int64
			k.parallel(50, func() {
				for range 40 {
					b := k.batch(store.Claim{Owner: o, Limit: l, Cost: 1})
					if k.driver.Claim(context.Background(), b) != nil || !b.Grants[0].OK {
						continue
					}
					if now := held.Add(1); now > worst.Load() {
						worst.Store(now)
					}
					held.Add(-1)
					back := []store.Return{k.returned(b, 0, 0)}
					_ = k.driver.Return(context.Background(), back)
					_ = k.driver.Return(context.Background(), back)
				}
			})
			if worst.Load() > most {
				k.Fatalf("%d of %d were held at once", worst.Load(), most)
			}
			k.admits(o, l, 9, most)
		},
	},
	{
		"race/refunds",
		"Tokens that are taken and given back by many at once are all there at the end.",
		func(k *kit) {
			k.each(50, time.Hour, func(l *store.Limit) {
				o := k.owner()
				k.parallel(50, func() {
					for range 40 {
						b := k.batch(store.Claim{Owner: o, Limit: l, Cost: 1})
						if k.driver.Claim(context.Background(), b) == nil && b.Grants[0].OK {
							_ = k.driver.Return(context.Background(), []store.Return{k.returned(b, 0, 1)})
						}
					}
				})
				k.admits(o, l, 60, 50)
			})
		},
	},
}

func (k *kit) batch(claims ...store.Claim) *store.Batch {
	return &store.Batch{ID: k.id(), Now: k.now, Budget: time.Minute, Claims: claims, Grants: make([]store.Grant, len(claims))}
}

// parallel runs n of a function at once.
func (k *kit) parallel(n int, run func()) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range n {
		wg.Go(func() {
			<-start
			run()
		})
	}
	close(start)
	wg.Wait()
}

// race lets n askers claim the same at once, and counts who gets all of it.
func (k *kit) race(n int, claims ...store.Claim) int64 {
	var granted atomic.Int64
	k.parallel(n, func() {
		b := k.batch(append([]store.Claim(nil), claims...)...)
		if err := k.driver.Claim(context.Background(), b); err != nil {
			k.Errorf("claim: %v", err)
		} else if all(b, store.Enforced) {
			granted.Add(1)
		}
	})
	return granted.Load()
}

func (k *kit) wantRace(want, got int64) {
	k.Helper()
	if got != want {
		k.Fatalf("%d were granted, want %d", got, want)
	}
}

// hammer lets n askers claim the same again and again until it is stopped.
func (k *kit) hammer(n int, claims ...store.Claim) (stop func()) {
	var wg sync.WaitGroup
	var done atomic.Bool
	for range n {
		wg.Go(func() {
			for !done.Load() {
				b := k.batch(append([]store.Claim(nil), claims...)...)
				if k.driver.Claim(context.Background(), b) == nil && all(b, store.Enforced) {
					k.Errorf("a batch with a claim that nothing is left for was granted")
					return
				}
			}
		})
	}
	return func() {
		done.Store(true)
		wg.Wait()
	}
}
