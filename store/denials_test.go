package store

import (
	"fmt"
	"math"
	"math/big"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/limit"
)

// bucket is a token bucket in exact fractions: the theoretical arrival time in
// nanoseconds. It is the driver that denials are held against.
type bucket struct {
	tat          big.Rat
	interval     big.Rat
	burst        int64
	window, used int64 // when it is a fixed window instead
	period       int64
}

func bucketOf(l *Limit) *bucket {
	b := &bucket{burst: l.Burst, period: int64(l.Rate.Period)}
	b.interval.SetFrac64(int64(l.Rate.Period), l.Rate.Count)
	return b
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// wait is how long a cost has to wait, rounded up, and whether it ever passes.
func (b *bucket) wait(l *Limit, now, cost int64) (wait int64, ever bool) {
	if cost < 0 || cost > b.burst {
		return 0, false
	}
	if l.Algorithm == FixedWindow {
		start := now - now%b.period
		if start > b.window {
			b.window, b.used = start, 0
		}
		if b.used+cost <= b.burst {
			return 0, true
		}
		return start + b.period - now, true
	}
	at := new(big.Rat).Mul(&b.interval, rat(cost-b.burst))
	at.Add(at, b.owed(now))
	at.Sub(at, rat(now))
	if at.Sign() <= 0 {
		return 0, true
	}
	q, m := new(big.Int).DivMod(at.Num(), at.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64(), true
}

func (b *bucket) owed(now int64) *big.Rat {
	if b.tat.Cmp(rat(now)) < 0 {
		b.tat.SetInt64(now)
	}
	return &b.tat
}

// spend adds tokens to what is owed, or takes them off: from nothing to all.
func (b *bucket) spend(l *Limit, now, tokens int64) {
	if l.Algorithm == FixedWindow {
		b.used = min(max(b.used+tokens, 0), b.burst)
		return
	}
	owed := b.owed(now)
	owed.Add(owed, new(big.Rat).Mul(&b.interval, rat(tokens)))
	most := new(big.Rat).Add(rat(now), new(big.Rat).Mul(&b.interval, rat(b.burst)))
	if owed.Cmp(most) > 0 {
		owed.Set(most)
	}
	b.owed(now)
}

func (b *bucket) grant(l *Limit, now, cost int64) Grant {
	wait, ever := b.wait(l, now, cost)
	switch {
	case !ever:
		return Grant{RetryAfter: Never}
	case wait > 0:
		return Grant{RetryAfter: time.Duration(wait)}
	}
	b.spend(l, now, cost)
	return Grant{OK: true}
}

func drawLimit(t *rapid.T, name string) *Limit {
	a := rapid.SampledFrom([]Algorithm{TokenBucket, FixedWindow}).Draw(t, "algorithm")
	r := limit.Per(rapid.Int64Range(1, 8).Draw(t, "count"), time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "period")))
	l, err := NewTokens(name, a, r, rapid.Int64Range(1, 8).Draw(t, "burst"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestADenialIsWhatTheDriverWouldSay plays claims, refunds, charges, resets and
// changes of the limit against exact buckets.
func TestADenialIsWhatTheDriverWouldSay(t *testing.T) {
	remembered := 0
	rapid.Check(t, func(t *rapid.T) {
		d, owner, l := newDenials(), KeyOf("a"), drawLimit(t, "l")
		b, now := bucketOf(l), int64(time.Hour)
		b.spend(l, now, l.Burst)
		seen := map[uint64]bool{l.Fingerprint: true}
		for range rapid.IntRange(20, 100).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(l.Rate.Period)/l.Rate.Count/2).Draw(t, "pass")
			tokens := rapid.Int64Range(1, l.Burst).Draw(t, "tokens")
			what := rapid.SampledFrom([]string{"refund", "charge", "reset", "other limit", "odd", "claim", "claim", "claim", "claim", "claim"}).Draw(t, "what")
			switch what {
			case "refund":
				b.spend(l, now, -tokens)
				d.move(&Return{Owner: owner, Limit: l, Tokens: tokens})
			case "charge":
				b.spend(l, now, tokens)
				d.move(&Return{Owner: owner, Limit: l, Tokens: -tokens})
			case "reset":
				b = bucketOf(l)
				d.move(&Return{Owner: owner, Limit: l, Reset: true})
			case "other limit":
				if other := drawLimit(t, "l"); !seen[other.Fingerprint] {
					seen[other.Fingerprint] = true
					l, b = other, bucketOf(other)
				}
			case "odd":
				tokens = rapid.SampledFrom([]int64{-1, 0, l.Burst + 1}).Draw(t, "odd")
				fallthrough
			case "claim":
				if claimOf(t, d, b, Claim{Owner: owner, Limit: l, Cost: tokens}, now) {
					remembered++
				}
			}
		}
	})
	if remembered < 100 { // of about 400
		t.Errorf("only %d answers came from memory", remembered)
	}
}

// claimOf asks the memory, and then the bucket; it reports whether the memory
// knew.
func claimOf(t *rapid.T, d *denials, b *bucket, c Claim, now int64) bool {
	g, denied := d.find(c.Owner, c.Limit, c.Cost, now)
	if !denied {
		if g = b.grant(c.Limit, now, c.Cost); !g.OK {
			d.remember(&c, &g, now)
		}
		return false
	}
	wait, ever := b.wait(c.Limit, now, c.Cost)
	switch {
	case ever && wait == 0:
		t.Fatalf("%s denies %d tokens, and the driver would not", c.Limit.Algorithm, c.Cost)
	case !ever && g.RetryAfter != Never:
		t.Fatalf("wait %v for what never passes", g.RetryAfter)
	case ever && int64(g.RetryAfter) < wait && c.Limit.Algorithm != TokenBucket:
		t.Fatalf("told to wait %v of %v", g.RetryAfter, time.Duration(wait))
	}
	return true
}

// TestTheWaitOfADenialIsTrue: without charges, waiting it out and asking alone
// admits, and not much earlier.
func TestTheWaitOfADenialIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, l, owner := newDenials(), drawLimit(t, "l"), KeyOf("a")
		b, now := bucketOf(l), int64(time.Hour)
		b.spend(l, now, rapid.Int64Range(1, l.Burst).Draw(t, "spent"))
		first := rapid.Int64Range(1, l.Burst).Draw(t, "first")
		g := b.grant(l, now, first)
		if g.OK {
			return
		}
		d.remember(&Claim{Owner: owner, Limit: l, Cost: first}, &g, now)
		now += rapid.Int64Range(0, int64(g.RetryAfter)).Draw(t, "pass")
		cost := rapid.Int64Range(1, l.Burst).Draw(t, "cost")
		told, denied := d.find(owner, l, cost, now)
		if !denied {
			return
		}
		want, _ := b.wait(l, now, cost)
		if got := int64(told.RetryAfter); got < want || got > want+50 {
			t.Fatalf("told to wait %d, the driver says %d", got, want)
		}
	})
}

func TestASmallerCostIsKnownOfATokenBucket(t *testing.T) {
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		t.Fatal(err)
	}
	d := newDenials()
	owner, now := KeyOf("a"), int64(time.Hour)
	d.remember(&Claim{Owner: owner, Limit: l, Cost: 5}, &Grant{RetryAfter: 10 * time.Second}, now)
	for cost, want := range map[int64]time.Duration{1: 6, 4: 9, 5: 10, 8: 13} {
		g, denied := d.find(owner, l, cost, now)
		if got := g.RetryAfter.Round(time.Millisecond); !denied || got != want*time.Second {
			t.Errorf("%d tokens wait %v (denied %v), want %vs", cost, got, denied, int(want))
		}
	}
	if g, denied := d.find(owner, l, 11, now); !denied || g.RetryAfter != Never {
		t.Errorf("more than the burst: %+v, %v", g, denied)
	}
}

func TestADenialIsAskedAgainAfterASecond(t *testing.T) {
	l, err := NewTokens("l", FixedWindow, limit.Per(5000, 24*time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	d := newDenials()
	now := int64(time.Hour)
	c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
	d.remember(&c, &Grant{RetryAfter: 20 * time.Hour}, now)
	g, denied := d.find(c.Owner, l, 1, now+int64(askAgain)-1)
	if !denied || g.RetryAfter < 19*time.Hour {
		t.Errorf("within the second: %+v, %v", g, denied)
	}
	if _, denied := d.find(c.Owner, l, 1, now+int64(askAgain)); denied {
		t.Error("denied from memory after the second")
	}
}

// A refusal of a moment that for the asker is far ahead holds for as long as it
// would for the one who got it, or one odd stamp would deny an owner for hours.
func TestADenialOfAClockAheadIsNotHeeded(t *testing.T) {
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		t.Fatal(err)
	}
	for ahead, want := range map[time.Duration]bool{0: true, time.Millisecond: true, 2 * time.Second: false, time.Hour: false, math.MaxInt64 - 5*time.Hour: false} {
		d := newDenials()
		now := int64(time.Hour)
		c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
		d.remember(&c, &Grant{RetryAfter: 3 * time.Second}, now+int64(ahead))
		if g, denied := d.find(c.Owner, l, 1, now); denied != want {
			t.Errorf("refused %v ahead: denied %v, want %v; %+v", ahead, denied, want, g)
		}
	}
}

// Of several refusals the one that no waiting helps is the answer.
func TestDeniedAnySaysNeverBeforeAnyWait(t *testing.T) {
	small, err := NewTokens("small", TokenBucket, limit.Per(1, time.Second), 3)
	if err != nil {
		t.Fatal(err)
	}
	large, err := NewTokens("large", TokenBucket, limit.Per(1, time.Second), 9)
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(nothing{}, GuardConfig{})
	owner, now := KeyOf("a"), int64(time.Hour)
	for _, l := range []*Limit{small, large} {
		g.denials.remember(&Claim{Owner: owner, Limit: l, Cost: 1}, &Grant{RetryAfter: time.Second}, now)
	}
	for _, order := range [][]*Limit{{small, large}, {large, small}} {
		var grant Grant
		i, denied := g.DeniedAny([]Claim{{Owner: owner, Limit: order[0], Cost: 4}, {Owner: owner, Limit: order[1], Cost: 4}}, now, &grant)
		if !denied || order[i] != small || grant.RetryAfter != Never {
			t.Errorf("the answer is %+v of %s", grant, order[i].Name)
		}
	}
}

func TestFullSlotsAreRememberedForAMoment(t *testing.T) {
	l, err := NewSlots("s", 3, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	d := newDenials()
	c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
	now := int64(time.Hour)
	full := func() { d.remember(&c, &Grant{ResetAfter: time.Second}, now) }
	denied := func(after time.Duration) bool { _, denied := d.find(c.Owner, l, 1, now+int64(after)); return denied }
	full()
	if !denied(0) || !denied(fullFor-1) || denied(fullFor) {
		t.Errorf("remembered: %v, to the last %v, after %v", denied(0), denied(fullFor-1), denied(fullFor))
	}
	if g, _ := d.find(c.Owner, l, 1, now); g.RetryAfter != 0 || g.ResetAfter != time.Second {
		t.Errorf("a full limit on slots promises %+v", g)
	}
	d.move(&Return{Owner: KeyOf("b"), Limit: l})
	if !denied(0) {
		t.Error("another owner's slot came back, and it was forgotten")
	}
	d.move(&Return{Owner: c.Owner, Limit: l})
	if denied(0) {
		t.Error("a slot came back, and it is still denied")
	}
	full()
	if !denied(0) {
		t.Error("full again, and not remembered")
	}
}

func TestWhatIsNotRemembered(t *testing.T) {
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{0, Never, -5} {
		d := newDenials()
		c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
		d.remember(&c, &Grant{RetryAfter: wait}, 1)
		if _, denied := d.find(c.Owner, l, 1, 1); denied {
			t.Errorf("a refusal with a wait of %d is remembered", wait)
		}
	}
}

func TestACostTooLargeErasesNothing(t *testing.T) {
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		t.Fatal(err)
	}
	d := newDenials()
	c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
	d.remember(&c, &Grant{RetryAfter: time.Second}, 1)
	c.Cost = 100
	d.remember(&c, &Grant{RetryAfter: Never}, 1)
	if _, denied := d.find(c.Owner, l, 1, 1); !denied {
		t.Error("the refusal before it is forgotten")
	}
}

func TestWhatIsBeingWrittenIsNotRead(t *testing.T) {
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		t.Fatal(err)
	}
	d := newDenials()
	c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
	d.remember(&c, &Grant{RetryAfter: time.Second}, 1)
	e, _ := d.at(c.Owner, l)
	e.version.Add(1)
	if g, denied := d.find(c.Owner, l, 1, 1); denied {
		t.Errorf("read %+v", g)
	}
}

// TestDenialsDoNotOverflow takes every figure from its whole range.
func TestDenialsDoNotOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDenials()
		l := &Limit{
			Algorithm: rapid.SampledFrom([]Algorithm{TokenBucket, FixedWindow}).Draw(t, "algorithm"),
			Rate:      limit.Per(1, time.Duration(rapid.Int64Range(1, math.MaxInt64/4).Draw(t, "period"))),
			Burst:     rapid.Int64Range(1, math.MaxInt64).Draw(t, "burst"),
		}
		l.GCRA, _ = limit.NewGCRA(l.Rate, 1)
		now := rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "now")
		c := Claim{Owner: KeyOf("a"), Limit: l, Cost: rapid.Int64Range(1, math.MaxInt64).Draw(t, "cost")}
		d.remember(&c, &Grant{RetryAfter: time.Duration(rapid.Int64().Draw(t, "wait")), ResetAfter: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "reset"))}, now)
		for range 3 {
			cost := rapid.Int64().Draw(t, "asked")
			g, denied := d.find(c.Owner, l, cost, now)
			if denied && g.RetryAfter != Never && (g.RetryAfter < 0 || g.ResetAfter < 0) {
				t.Fatalf("%d after %d: %+v", cost, c.Cost, g)
			}
			before := d.horizon.Load()
			d.move(&Return{Owner: c.Owner, Limit: l, Tokens: rapid.Int64().Draw(t, "given")})
			if e, _ := d.at(c.Owner, l); e.holds.Load() > before {
				t.Fatalf("a refund made a refusal last to %d, from %d at most", e.holds.Load(), before)
			}
		}
	})
}

// TestDenialsInARace reads while two owners' refusals and refunds are written:
// what is found is never mixed from two of them.
func TestDenialsInARace(t *testing.T) {
	d := newDenials()
	short, err := NewTokens("l", FixedWindow, limit.Per(10, time.Second), 0)
	if err != nil {
		t.Fatal(err)
	}
	now, owner := int64(time.Hour), KeyOf("a")
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 20_000 {
				wait := int64(n%100) * 1000 // cost, until and reset say the same
				if i == 0 {
					d.move(&Return{Owner: owner, Limit: short, Tokens: 1})
					continue
				}
				d.remember(&Claim{Owner: owner, Limit: short, Cost: 1}, &Grant{RetryAfter: time.Duration(wait), ResetAfter: time.Duration(wait)}, now)
				if g, denied := d.find(owner, short, 1, now); denied && g.RetryAfter != g.ResetAfter {
					t.Errorf("mixed: %+v", g)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestDenialsAllocateNothing(t *testing.T) {
	d := newDenials()
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		t.Fatal(err)
	}
	c := Claim{Owner: KeyOf("a"), Limit: l, Cost: 1}
	if n := testing.AllocsPerRun(100, func() {
		d.remember(&c, &Grant{RetryAfter: time.Second}, 1)
		d.find(c.Owner, l, 1, 1)
		d.move(&Return{Owner: c.Owner, Limit: l, Tokens: 1})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDenied(b *testing.B) {
	l, err := NewTokens("l", TokenBucket, limit.Per(1, time.Second), 10)
	if err != nil {
		b.Fatal(err)
	}
	owners := make([]Key, 1024)
	for i := range owners {
		owners[i] = KeyOf(fmt.Sprint(i))
	}
	run := func(b *testing.B, d *denials) {
		i := 0
		for b.Loop() {
			i++
			d.find(owners[i%len(owners)], l, 1, 1)
		}
	}
	b.Run("nothing denied", func(b *testing.B) { run(b, newDenials()) })
	b.Run("another denied", func(b *testing.B) {
		d := newDenials()
		d.remember(&Claim{Owner: KeyOf("x"), Limit: l, Cost: 1}, &Grant{RetryAfter: time.Second}, 1)
		run(b, d)
	})
	b.Run("all denied", func(b *testing.B) {
		d := newDenials()
		for _, o := range owners {
			d.remember(&Claim{Owner: o, Limit: l, Cost: 1}, &Grant{RetryAfter: time.Second}, 1)
		}
		run(b, d)
	})
}
