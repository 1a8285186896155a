package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// flow is a bucket with a clock.
type flow struct {
	g   GCRA
	b   Bucket
	now int64
}

type fataler interface {
	Helper()
	Fatal(...any)
}

func newFlow(t fataler, r Rate, burst int64) *flow {
	t.Helper()
	g, err := NewGCRA(r, burst)
	if err != nil {
		t.Fatal(err)
	}
	return &flow{g: g}
}

func (f *flow) take(cost int64) Result {
	d, r := f.g.Take(f.g.Owed(f.b, f.now), cost)
	if d <= f.g.Capacity() {
		f.b = Bucket{d, f.now}
	}
	return r
}

// admitted asks n times for one token.
func (f *flow) admitted(n int) (ok int) {
	for range n {
		if f.take(1).OK {
			ok++
		}
	}
	return ok
}

func TestGCRATraces(t *testing.T) {
	day := 24 * time.Hour
	ms := int64(time.Millisecond)
	type step struct {
		at   int64
		cost int64
		want Result
	}
	for _, c := range []struct {
		name  string
		rate  Rate
		burst int64
		steps []step
	}{
		{"a cost whose time exceeds all time is never admitted and erases nothing", Per(1, day), 1, []step{
			{0, 1, Result{OK: true, Remaining: 0, ResetAfter: day}},
			{0, 106752, Result{Remaining: 0, RetryAfter: Never, ResetAfter: day}},
			{0, math.MaxInt64, Result{Remaining: 0, RetryAfter: Never, ResetAfter: day}},
			{0, 1, Result{Remaining: 0, RetryAfter: day, ResetAfter: day}},
		}},
		{"a cost above the burst is never, not soon", Per(10, time.Second), 10, []step{
			{0, 11, Result{Remaining: 10, RetryAfter: Never}},
			{0, 10, Result{OK: true, Remaining: 0, ResetAfter: time.Second}},
		}},
		{"one each 10s, polled each 200ms: the first is 10s later", Per(1, 10*time.Second), 1, []step{
			{0, 1, Result{OK: true, ResetAfter: 10 * time.Second}},
			{5000 * ms, 1, Result{RetryAfter: 5 * time.Second, ResetAfter: 5 * time.Second}},
			{5200 * ms, 1, Result{RetryAfter: 4800 * time.Millisecond, ResetAfter: 4800 * time.Millisecond}},
			{9999 * ms, 1, Result{RetryAfter: time.Millisecond, ResetAfter: time.Millisecond}},
			{10000 * ms, 1, Result{OK: true, ResetAfter: 10 * time.Second}},
		}},
		{"tokens back to back count down, though one returns each 60ms", Per(1000, time.Minute), 1000, []step{
			{0, 1, Result{OK: true, Remaining: 999, ResetAfter: 60 * time.Millisecond}},
			{0, 1, Result{OK: true, Remaining: 998, ResetAfter: 120 * time.Millisecond}},
			{0, 1, Result{OK: true, Remaining: 997, ResetAfter: 180 * time.Millisecond}},
		}},
		{"negative costs fill nothing", Per(1, time.Second), 5, []step{
			{0, 5, Result{OK: true, ResetAfter: 5 * time.Second}},
			{0, -100, Result{RetryAfter: Never, ResetAfter: 5 * time.Second}},
			{0, math.MinInt64, Result{RetryAfter: Never, ResetAfter: 5 * time.Second}},
			{0, 1, Result{RetryAfter: time.Second, ResetAfter: 5 * time.Second}},
		}},
		{"a cost of nothing looks", Per(1, time.Second), 2, []step{
			{0, 0, Result{OK: true, Remaining: 2}},
			{0, 2, Result{OK: true, ResetAfter: 2 * time.Second}},
			{0, 0, Result{OK: true, ResetAfter: 2 * time.Second}},
		}},
		{"an interval that is no whole number of nanoseconds rounds up in answers only", Per(3, time.Second), 1, []step{
			{0, 1, Result{OK: true, ResetAfter: 333333334}},
			{333333333, 1, Result{RetryAfter: 1, ResetAfter: 1}},
			{333333334, 1, Result{OK: true, ResetAfter: 333333334}},
			{666666667, 1, Result{RetryAfter: 1, ResetAfter: 1}},
			{666666668, 1, Result{OK: true, ResetAfter: 333333334}},
		}},
		{"years of idleness fill one bucket", Per(7, time.Second), 3, []step{
			{0, 3, Result{OK: true, ResetAfter: 428571429}},
			{200 * 365 * int64(day), 0, Result{OK: true, Remaining: 3}},
			{200 * 365 * int64(day), 3, Result{OK: true, ResetAfter: 428571429}},
			{200 * 365 * int64(day), 1, Result{RetryAfter: 142857143, ResetAfter: 428571429}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow(t, c.rate, c.burst)
			for i, s := range c.steps {
				f.now = s.at
				if got := f.take(s.cost); got != s.want {
					t.Fatalf("step %d: at %d take %d = %+v, want %+v", i, s.at, s.cost, got, s.want)
				}
			}
		})
	}
}

// Asked once a nanosecond, a bucket admits its rate, to the token.
func TestGCRARateIsExact(t *testing.T) {
	for _, c := range []struct {
		rate   Rate
		passed int64
		want   int
	}{
		{Per(700_000_000, time.Second), 1000, 700},
		{Per(999_999_937, time.Second), 1_000_000, 999_999},
		{Per(3, 7), 7_000, 3_000},
	} {
		f := newFlow(t, c.rate, 2)
		f.admitted(2)
		ok := 0
		for f.now < c.passed {
			f.now++
			ok += f.admitted(1)
		}
		if ok != c.want {
			t.Errorf("%s: %d of %d requests, one a nanosecond, were admitted, want %d", c.rate, ok, c.passed, c.want)
		}
	}
}

func TestGCRAChangedLimit(t *testing.T) {
	// 16 spent at 10 per 20s; at 1000 per 20s one token takes 20ms.
	f := newFlow(t, Per(10, 20*time.Second), 16)
	if ok := f.admitted(17); ok != 16 {
		t.Fatalf("admitted %d of 17, want 16", ok)
	}
	faster := newFlow(t, Per(1000, 20*time.Second), 16).g
	d, _ := faster.Convert(&f.g, f.g.Owed(f.b, f.now))
	_, r := faster.Take(d, 1)
	if r.OK || r.RetryAfter != 20*time.Millisecond {
		t.Errorf("after the change of the rate: %+v, want refused for 20ms", r)
	}
	wider := newFlow(t, Per(10, 20*time.Second), 20).g
	d, _ = wider.Convert(&f.g, f.g.Owed(f.b, f.now))
	_, r = wider.Take(d, 1)
	if !r.OK || r.Remaining != 3 {
		t.Errorf("after the burst went from 16 to 20: %+v, want 3 left", r)
	}
}

// A burst of 5 at 1/s, four taken; a request stamped 5s earlier, decided
// later, mints nothing.
func TestGCRAStaleStampMintsNothing(t *testing.T) {
	f := newFlow(t, Per(1, time.Second), 5)
	f.now = int64(10 * time.Second)
	ok := f.admitted(4)
	f.now = int64(5 * time.Second)
	ok += f.admitted(1)
	f.now = int64(10 * time.Second)
	if ok += f.admitted(5); ok != 5 {
		t.Errorf("admitted %d at one moment, want the burst of 5", ok)
	}
}

func TestGCRAClockSetBack(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, 365 * 24 * time.Hour, math.MaxInt64} {
		f := newFlow(t, Per(1, time.Second), 5)
		f.now = math.MaxInt64
		f.admitted(5)
		f.now -= int64(step)
		r := f.take(1)
		if r.OK || r.RetryAfter != time.Second {
			t.Fatalf("set back by %s: %+v, want refused for 1s", step, r)
		}
		f.now += int64(5 * time.Second)
		if ok := f.admitted(6); ok != 5 {
			t.Errorf("set back by %s: %d admitted a full refill later, want 5", step, ok)
		}
	}
}

func TestGCRAStaleStampsAtAShortBurst(t *testing.T) {
	f := newFlow(t, Per(1000, time.Second), 1)
	base, ok := int64(time.Hour), 0
	for i := range int64(100_000) { // one microsecond apart, every other stamped 10ms late
		f.now = base + i*1000
		if i%2 == 1 {
			f.now -= int64(10 * time.Millisecond)
		}
		ok += f.admitted(1)
	}
	if ok > 101 {
		t.Errorf("admitted %d in 100ms at 1000/s, want at most 101", ok)
	}
}

func TestGCRAGive(t *testing.T) {
	f := newFlow(t, Per(1, time.Second), 5)
	second := int64(time.Second)
	charge := func(cost int64) Debt { f.take(cost); return f.b.Debt }
	give := func(cost int64, left Debt) int64 {
		f.b = Bucket{f.g.Give(f.g.Owed(f.b, f.now), cost, left), f.now}
		return f.take(0).Remaining
	}
	first := charge(3)
	for _, c := range []struct {
		name string
		cost int64
		left Debt
		want int64
	}{
		{"what was taken comes back", 2, first, 4},
		{"too much fills the bucket, not more", math.MaxInt64, first, 5},
		{"a full bucket takes nothing", 3, first, 5},
		{"a negative refund charges nothing", -3, first, 5},
	} {
		if got := give(c.cost, c.left); got != c.want {
			t.Fatalf("%s: remaining %d, want %d", c.name, got, c.want)
		}
	}
	late := charge(2)
	f.now += 10 * second
	charge(4)
	if got := give(2, f.g.After(late, uint64(10*second))); got != 1 {
		t.Errorf("a refund of tokens that have refilled: remaining %d, want 1", got)
	}
}

func TestGCRACharge(t *testing.T) {
	f := newFlow(t, Per(1, time.Second), 5)
	for _, c := range []struct{ cost, want int64 }{{2, 3}, {0, 3}, {-1, 3}, {9, 0}, {math.MaxInt64, 0}} {
		f.b.Debt = f.g.Charge(f.b.Debt, c.cost)
		if got := f.take(0).Remaining; got != c.want {
			t.Errorf("after a charge of %d: remaining %d, want %d", c.cost, got, c.want)
		}
	}
	if r := f.take(1); r.RetryAfter != 51*time.Second {
		t.Errorf("overcharged: %+v, want a debt of eleven bursts and no more", r)
	}
}

func TestNewGCRA(t *testing.T) {
	for _, c := range []struct {
		rate  Rate
		burst int64
		ok    bool
	}{
		{Rate{}, 1, false}, {Per(0, time.Second), 1, false}, {Per(-1, time.Second), 1, false},
		{Per(1, 0), 1, false}, {Per(1, -1), 1, false}, {Per(1, time.Second), 0, false}, {Per(1, time.Second), -1, false},
		{Per(1, time.Second), math.MaxInt64, false}, {Per(math.MaxInt64, 1), math.MaxInt64, false},
		{Per(1, math.MaxInt64), 1, false}, {Per(1, math.MaxInt64), 2, false}, {Per(2, 3), 1 << 61, false},
		{Per(1, math.MaxInt64/2), 1, true}, {Per(math.MaxInt64, 1), 1, true}, {Per(math.MaxInt64, 1), 1 << 62, true},
		{Per(1_000_000_007, 24*time.Hour), 1_000_000_007, true},
		{Per(1, time.Nanosecond), 1, true}, {Per(5000, 24*time.Hour), 5000, true},
	} {
		if _, err := NewGCRA(c.rate, c.burst); (err == nil) != c.ok {
			t.Errorf("NewGCRA(%s, %d): %v", c.rate, c.burst, err)
		}
	}
}

// A rate that does not fit is slower by less than a billionth.
func TestGCRAOfOddRatesIsNotFaster(t *testing.T) {
	for _, c := range []struct {
		rate  Rate
		burst int64
	}{
		{Per(1_000_003, 24*time.Hour), 1_000_003},
		{Per(1_000_000_007, 24*time.Hour), 1_000_000_007},
		{Per(123_457, 31*24*time.Hour+1), 123_457},
	} {
		g := newFlow(t, c.rate, c.burst).g
		full := g.toDuration(g.capacity)
		exact, _ := mulDiv(uint64(c.burst), uint64(c.rate.Period), uint64(c.rate.Count))
		if off := int64(full) - int64(exact); off < 0 || off > int64(exact)/1_000_000_000+1 {
			t.Errorf("%s: a bucket of %d fills in %d ns, want %d", c.rate, c.burst, full, exact)
		}
	}
}

func drawRate(t *rapid.T) Rate {
	return Per(
		rapid.OneOf(rapid.Int64Range(1, 1000), rapid.Int64Range(1, 2e9), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "count"),
		time.Duration(rapid.OneOf(
			rapid.SampledFrom([]int64{1, 7, int64(time.Second), int64(time.Minute), int64(24 * time.Hour)}),
			rapid.Int64Range(1, math.MaxInt64)).Draw(t, "period")),
	)
}

// drawExact draws a bucket whose rate fits as it is.
func drawExact(t *rapid.T, name string) (GCRA, Rate, int64) {
	for {
		r := drawRate(t)
		burst := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, math.MaxInt64)).Draw(t, name)
		g, err := NewGCRA(r, burst)
		if err == nil && isExact(&g, r) {
			return g, r, burst
		}
	}
}

func isExact(g *GCRA, r Rate) bool {
	unit, interval := notFaster(uint64(r.Count), uint64(r.Period), math.MaxUint64>>1)
	return unit == g.unit && interval == g.interval
}

func drawCost(t *rapid.T, burst int64) int64 {
	return rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, burst, burst / 2, -1, math.MinInt64, math.MaxInt64}),
		rapid.Int64Range(0, burst)).Draw(t, "cost")
}

// drawPause draws a time that matters to a bucket which gave that answer.
func drawPause(t *rapid.T, last Result) int64 {
	return rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, max(0, int64(last.RetryAfter)), max(0, int64(last.RetryAfter)-1), int64(last.ResetAfter)}),
		rapid.Int64Range(0, 1<<40)).Draw(t, "pause")
}

func TestGCRAEqualsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, rate, burst := drawExact(t, "burst")
		f, m := &flow{g: g}, newBucketModel(rate, burst)
		var last Result
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			f.now += min(drawPause(t, last), math.MaxInt64-f.now)
			m.advance(f.now)
			cost := drawCost(t, burst)
			got, want := f.take(cost), m.take(cost)
			if got != want {
				t.Fatalf("%s burst %d at %d: take %d = %+v, the model says %+v", rate, burst, f.now, cost, got, want)
			}
			last = got
		}
	})
}

// (c), (d): waiting out RetryAfter admits, a nanosecond less does not; and what
// remains is what would be admitted.
func TestGCRAAnswersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _, burst := drawExact(t, "burst")
		f := &flow{g: g, now: rapid.Int64Range(0, 1<<60).Draw(t, "now")}
		for range 8 {
			f.take(rapid.Int64Range(0, burst).Draw(t, "cost"))
		}
		cost := drawCost(t, burst)
		before := f.b
		d, r := g.Take(g.Owed(f.b, f.now), cost)
		switch {
		case r.OK:
			if left := g.remaining(d); r.Remaining != left || !took(&g, d, left) || left < burst && took(&g, d, left+1) {
				t.Fatalf("after taking %d, %d remain; that is not the most that would be admitted", cost, r.Remaining)
			}
		case r.RetryAfter == Never:
			if cost >= 0 && cost <= burst {
				t.Fatalf("a cost of %d is never admitted by a burst of %d", cost, burst)
			}
		default:
			if before != f.b || d != g.Owed(before, f.now) {
				t.Fatal("a refusal changed the state")
			}
			if wait := uint64(r.RetryAfter); !took(&g, g.After(d, wait), cost) || took(&g, g.After(d, wait-1), cost) {
				t.Fatalf("a cost of %d with %d owed: RetryAfter %d is not exact", cost, d, wait)
			}
		}
		if g.After(d, uint64(r.ResetAfter)) != 0 || r.ResetAfter > 0 && g.After(d, uint64(r.ResetAfter)-1) == 0 {
			t.Fatalf("with %d owed, ResetAfter %d is not exact", d, r.ResetAfter)
		}
	})
}

func took(g *GCRA, d Debt, cost int64) bool {
	_, r := g.Take(d, cost)
	return r.OK
}

// (a): in any window that ends at an admission, N ≤ B + R·W.
func TestGCRAKeepsItsPromiseInEveryWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Per(rapid.Int64Range(1, 50).Draw(t, "count"), time.Duration(rapid.Int64Range(1, 60).Draw(t, "period")))
		burst := rapid.Int64Range(1, 8).Draw(t, "burst")
		f := newFlow(t, rate, burst)
		type admission struct{ at, cost int64 }
		var log []admission
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			f.now += rapid.Int64Range(0, 20).Draw(t, "pause")
			if cost := rapid.Int64Range(0, burst).Draw(t, "cost"); f.take(cost).OK {
				log = append(log, admission{f.now, cost})
			}
		}
		for end := range log {
			sum := int64(0)
			for i := end; i >= 0; i-- {
				sum += log[i].cost
				window := log[end].at - log[i].at
				if (sum-burst)*int64(rate.Period) > window*rate.Count {
					t.Fatalf("%s burst %d admitted %d within %d ns", rate, burst, sum, window)
				}
			}
		}
	})
}

// (e): a refund on the spot restores what was there.
func TestGCRAGiveOnTheSpotRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _, burst := drawExact(t, "burst")
		before := Debt(rapid.Uint64Range(0, g.capacity).Draw(t, "owed"))
		cost := rapid.Int64Range(0, burst).Draw(t, "cost")
		d, r := g.Take(before, cost)
		if r.OK && g.Give(d, cost, d) != before {
			t.Fatalf("owed %d, took %d, gave it back, owes %d", before, cost, g.Give(d, cost, d))
		}
	})
}

// A refund never leaves less owed than if the charge had never been made.
func TestGCRAGiveMintsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _, burst := drawExact(t, "burst")
		with := Debt(rapid.Uint64Range(0, g.capacity).Draw(t, "owed"))
		without := with
		refund := rapid.Int64Range(0, burst).Draw(t, "refund")
		after, r := g.Take(with, refund)
		if !r.OK {
			return
		}
		with, elapsed := after, uint64(0)
		for range rapid.IntRange(0, 5).Draw(t, "others") {
			pause := uint64(drawPause(t, r))
			elapsed += pause
			with, without = g.After(with, pause), g.After(without, pause)
			var other Result
			cost := rapid.Int64Range(0, burst).Draw(t, "cost")
			if with, other = g.Take(with, cost); other.OK {
				without, _ = g.Take(without, cost)
			}
		}
		if given := g.Give(with, refund, g.After(after, elapsed)); given < without {
			t.Fatalf("after the refund %d is owed, without the charge it would be %d", given, without)
		}
	})
}

// (i): raising a limit never lowers what remains, lowering it mints nothing.
func TestGCRAConvertProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, fromRate, burst := drawExact(t, "burst")
		to, toRate, newBurst := drawExact(t, "new burst")
		d := Debt(rapid.Uint64Range(0, from.capacity).Draw(t, "owed"))
		converted, ok := to.Convert(&from, d)
		if fits := from.Spent(d) <= newBurst; ok != (fits || toRate.rat().Cmp(fromRate.rat()) > 0) {
			t.Fatalf("%s/%d to %s/%d with %d owed: converted %t", fromRate, burst, toRate, newBurst, d, ok)
		}
		was, is := from.remaining(d), to.remaining(converted)
		if newBurst >= burst && is < was {
			t.Fatalf("%s/%d to %s/%d with %d owed: remaining fell from %d to %d", fromRate, burst, toRate, newBurst, d, was, is)
		}
		if newBurst <= burst && is > was {
			t.Fatalf("%s/%d to %s/%d with %d owed: remaining rose from %d to %d", fromRate, burst, toRate, newBurst, d, was, is)
		}
		if spent := from.Spent(d); newBurst >= burst && newBurst-is != spent {
			t.Fatalf("%d were spent, %d are after the change", spent, newBurst-is)
		}
	})
}

// (j): steps of the clock never admit more than a burst at once, nor block for
// longer than a full bucket takes, or a second where that is more.
func TestGCRAUnderClockSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Per(rapid.Int64Range(1, 1000).Draw(t, "count"), time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "period")))
		burst := rapid.Int64Range(1, 20).Draw(t, "burst")
		f := newFlow(t, rate, burst)
		f.now = int64(48 * time.Hour)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			f.now += rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "step")
			if ok := f.admitted(int(burst) + 5); int64(ok) > burst {
				t.Fatalf("%d admitted at once by a burst of %d", ok, burst)
			}
		}
		longest := max(f.g.toDuration(f.g.capacity), time.Second+f.g.Interval())
		if r := f.take(1); !r.OK && r.RetryAfter > longest {
			t.Fatalf("blocked for %s, a full bucket takes %s", r.RetryAfter, longest)
		}
	})
}

func FuzzGCRA(f *testing.F) {
	f.Add(int64(10), int64(time.Second), int64(10), int64(1), int64(0), uint64(0))
	f.Add(int64(700_000_000), int64(time.Second), int64(1), int64(1), int64(1), uint64(3))
	f.Add(int64(math.MaxInt64), int64(1), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64))
	f.Fuzz(func(t *testing.T, count, period, burst, cost, now int64, debt uint64) {
		g, err := NewGCRA(Per(count, time.Duration(period)), burst)
		if err != nil {
			return
		}
		for _, at := range []int64{0, now, -now, math.MinInt64, math.MaxInt64} {
			d := g.Owed(Bucket{min(Debt(debt), g.Capacity()), at}, now)
			after, r := g.Take(d, cost)
			if r.OK && (cost < 0 || cost > burst || uint64(after) > g.capacity) || !r.OK && after != d {
				t.Fatalf("take %d of %d: %+v with %d owed", cost, burst, r, after)
			}
			if r.Remaining < 0 || r.Remaining > burst || r.ResetAfter < 0 || r.RetryAfter < Never {
				t.Fatalf("take %d of %d: %+v", cost, burst, r)
			}
			if c := g.Charge(d, cost); c < d || c > max(d, min(Debt(product(g.capacity, deepest)), maxSpan)) {
				t.Fatalf("charge of %d: %d owed becomes %d", cost, d, c)
			}
			if back := g.Give(d, cost, Debt(debt)); back > d {
				t.Fatalf("refund of %d: %d owed becomes %d", cost, d, back)
			}
		}
	})
}
