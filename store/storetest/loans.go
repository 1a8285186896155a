package storetest

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// loanRules are for drivers that lend.
var loanRules = []rule{
	{
		"loans/part",
		"A loan is what is wanted, but no more than one part of what is left, rounded down; and it is charged.",
		func(k *kit) {
			k.lends(func(l *store.Limit) {
				o := k.owner()
				k.lent("as wanted", k.borrow(o, l, 10, 2, 1), 10, 90)
				k.lent("a part", k.borrow(o, l, 100, 4, 1), 22, 68)
				if left := k.left(o, l); left != 68 {
					k.Fatalf("%s: 68 remained by the loan, %d by a claim", l.Name, left)
				}
			})
		},
	},
	{
		"loans/least",
		"When one part of what is left is fewer than the least, nothing is lent and nothing is charged.",
		func(k *kit) {
			k.lends(func(l *store.Limit) {
				o := k.owner()
				k.take(o, l, 83)
				loan := k.borrow(o, l, 100, 2, 9)
				if k.lent("too little", loan, 0, 17); loan.Grant.OK {
					k.Fatalf("%s: nothing was lent, and it is granted", l.Name)
				}
				k.lent("just enough", k.borrow(o, l, 100, 2, 8), 8, 9)
			})
		},
	},
	{
		"loans/return",
		"What is not needed of a loan comes back under its handle, in parts too, but only as far as it has not refilled.",
		func(k *kit) {
			k.lends(func(l *store.Limit) {
				o := k.owner()
				loan := k.borrow(o, l, 50, 2, 1)
				for want := int64(60); want <= 70; want += 10 {
					k.giveBack(store.Return{Owner: o, Limit: l, Handle: loan.Grant.Handle, At: loan.Now, Now: k.now, Tokens: 10})
					if left := k.left(o, l); left != want {
						k.Fatalf("%s: %d left, want %d", l.Name, left, want)
					}
				}
				k.pass(100 * time.Second) // all has refilled
				k.take(o, l, 40)
				k.giveBack(store.Return{Owner: o, Limit: l, Handle: loan.Grant.Handle, At: loan.Now, Now: k.now, Tokens: 30})
				if left := k.left(o, l); left != 60 {
					k.Fatalf("%s: %d left after a return of what has refilled, want 60", l.Name, left)
				}
			})
		},
	},
	{
		"loans/changed",
		"A loan under a changed limit is one of the new limit; what was spent stays spent.",
		func(k *kit) {
			if _, ok := k.driver.(store.Lender); !ok {
				return
			}
			o := k.owner()
			k.take(o, k.bucket(100, 100*time.Second), 60)
			k.lent("of a lower limit", k.borrow(o, k.bucket(80, 80*time.Second), 100, 2, 1), 10, 10)
		},
	},
	{
		"loans/each",
		"Loans of one call are decided each on its own, in their order.",
		func(k *kit) {
			k.lends(func(l *store.Limit) {
				o := k.owner()
				loans := []store.Loan{k.loan(o, l, 100, 2, 1), k.loan(o, l, 100, 2, 100), k.loan(k.owner(), l, 7, 2, 1)}
				k.lend(loans)
				k.lent("the first", loans[0], 50, 50)
				k.lent("one that is too little", loans[1], 0, 50)
				k.lent("of another owner", loans[2], 7, 93)
			})
		},
	},
}

// lends runs a check with limits of 100 tokens in 100 seconds, if the driver
// lends.
func (k *kit) lends(check func(*store.Limit)) {
	if _, ok := k.driver.(store.Lender); !ok {
		return
	}
	k.each(100, 100*time.Second, func(l *store.Limit) {
		if l.Lendable() {
			k.pass(100*time.Second - time.Duration(k.now%int64(100*time.Second))) // where a window begins
			check(l)
		}
	})
}

func (k *kit) loan(o store.Key, l *store.Limit, want, parts, least int64) store.Loan {
	return store.Loan{Owner: o, Limit: l, Now: k.now, Want: want, Parts: parts, Least: least}
}

func (k *kit) lend(loans []store.Loan) {
	k.Helper()
	if err := k.driver.(store.Lender).Lend(context.Background(), loans); err != nil {
		k.Fatalf("lend: %v", err)
	}
	for i := range loans {
		if loans[i].Err != nil {
			k.Fatalf("lend: %v", loans[i].Err)
		}
	}
}

// borrow asks for one loan.
func (k *kit) borrow(o store.Key, l *store.Limit, want, parts, least int64) store.Loan {
	k.Helper()
	loans := []store.Loan{k.loan(o, l, want, parts, least)}
	k.lend(loans)
	return loans[0]
}

func (k *kit) lent(when string, l store.Loan, lent, left int64) {
	k.Helper()
	if l.Lent != lent || l.Grant.Remaining != left || l.Grant.OK != (lent > 0) {
		k.Fatalf("%s: %s: lent %d, left %d, granted %t; want %d and %d", l.Limit.Name, when, l.Lent, l.Grant.Remaining, l.Grant.OK, lent, left)
	}
}
