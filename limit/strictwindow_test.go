package limit

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newStrict(t fataler, r Rate, parts int) *strictCounter {
	t.Helper()
	s, err := NewStrictWindow(r, parts)
	if err != nil {
		t.Fatal(err)
	}
	return &strictCounter{s, Strict{Used: make([]int64, s.Size())}}
}

// Bursts on both sides of a boundary: a fixed window lets both through, a
// sliding one nearly.
func TestStrictWindowHasNoBoundary(t *testing.T) {
	c, begin := newStrict(t, Per(100, time.Minute), 10), int64(time.Hour)
	if r := c.take(begin-int64(time.Second), 100); !r.OK {
		t.Fatal(r)
	}
	r := c.take(begin+int64(time.Second), 1)
	if r.OK || r.RetryAfter != 59*time.Second { // the part that the burst was in ends at the hour, and counts until a minute later
		t.Fatalf("just behind the boundary: %+v", r)
	}
	if r = c.take(begin+int64(time.Minute), 100); !r.OK {
		t.Errorf("a minute behind the boundary: %+v", r)
	}
}

// It is conservative by the oldest part at most: what an exact log over one
// part more than the window would admit, it admits.
func TestStrictWindowIsConservativeByAPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.IntRange(1, 20).Draw(t, "parts")
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		window := time.Duration(rapid.Int64Range(1, 1000).Draw(t, "window"))
		c := newStrict(t, Per(limit, window), parts)
		log := &logCounter{SlidingLog: SlidingLog{limit, time.Duration(int64(parts+1) * c.length)}}
		now := int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(window)).Draw(t, "pause")
			cost := rapid.Int64Range(1, limit).Draw(t, "cost")
			log.log = log.Advance(log.log, now)
			would := log.Ask(log.log, now, 0, cost).OK
			if got := c.take(now, cost).OK; would && !got {
				t.Fatalf("at %d a cost of %d was refused", now, cost)
			} else if got {
				log.log = log.Spend(log.log, now, cost)
			}
		}
	})
}

func TestStrictWindowGiveAndCharge(t *testing.T) {
	second := int64(time.Second)
	for _, c := range []struct {
		name   string
		change func(*strictCounter)
		want   int64
	}{
		{"what was taken comes back", func(c *strictCounter) { c.Give(&c.w, 5*second, 4) }, 2},
		{"never above full", func(c *strictCounter) { c.Give(&c.w, 5*second, math.MaxInt64) }, 0},
		{"from an older part, too", func(c *strictCounter) { c.Advance(&c.w, 11*second); c.Give(&c.w, 5*second, 4) }, 2},
		{"not when the part has left", func(c *strictCounter) { c.take(18*second, 3); c.Give(&c.w, 7*second, 2) }, 3},
		{"not to a later part", func(c *strictCounter) { c.Give(&c.w, 7*second, 4) }, 6},
		{"a negative refund charges nothing", func(c *strictCounter) { c.Give(&c.w, 5*second, -4) }, 6},
		{"a charge adds", func(c *strictCounter) { c.Charge(&c.w, 3) }, 9},
		{"up to ten limits beyond the whole one", func(c *strictCounter) { c.Charge(&c.w, math.MaxInt64) }, 110},
		{"a negative charge gives nothing", func(c *strictCounter) { c.Charge(&c.w, -3) }, 6},
	} {
		s := newStrict(t, Per(10, 10*time.Second), 10)
		s.take(5*second, 6)
		if c.change(s); s.Spent(&s.w) != c.want {
			t.Errorf("%s: %d spent, want %d", c.name, s.Spent(&s.w), c.want)
		}
	}
}

func TestStrictWindowPending(t *testing.T) {
	c := newStrict(t, Per(10, 10*time.Second), 10)
	now := int64(time.Minute)
	c.take(now, 3)
	before := slices.Clone(c.w.Used)
	if r := c.Ask(&c.w, now, 5, 2); !r.OK || r.Remaining != 0 {
		t.Errorf("3 taken, 5 pending, 2 asked of 10: %+v", r)
	}
	if r := c.Ask(&c.w, now, 5, 3); r.OK || r.Remaining != 2 || r.RetryAfter != 11*time.Second {
		t.Errorf("3 taken, 5 pending, 3 asked of 10: %+v", r)
	}
	if !slices.Equal(before, c.w.Used) {
		t.Error("to ask changed the state")
	}
}

func TestNewStrictWindow(t *testing.T) {
	for _, c := range []struct {
		rate  Rate
		parts int
		ok    bool
	}{
		{Per(1, 1), 1, true}, {Per(1, 1), 1000, true}, {Per(math.MaxInt64, math.MaxInt64), 3, true},
		{Per(1, time.Second), 0, false}, {Per(1, time.Second), 1001, false}, {Per(0, time.Second), 5, false}, {Per(1, 0), 5, false},
	} {
		s, err := NewStrictWindow(c.rate, c.parts)
		if (err == nil) != c.ok {
			t.Errorf("%s in %d parts: %v", c.rate, c.parts, err)
		}
		if err == nil && (product(uint64(s.length), uint64(s.parts)) < uint64(c.rate.Period) || s.Size() != c.parts+1) {
			t.Errorf("%s in %d parts: %d of %d ns do not cover the window", c.rate, c.parts, s.parts, s.length)
		}
	}
}

func FuzzStrictWindow(f *testing.F) {
	f.Add(int64(10), int64(time.Second), 10, int64(time.Hour), int64(1), int64(time.Hour))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), 3, int64(math.MaxInt64), int64(math.MaxInt64), int64(1))
	f.Fuzz(func(t *testing.T, count, period int64, parts int, now, cost, then int64) {
		s, err := NewStrictWindow(Per(count, time.Duration(period)), parts)
		if err != nil {
			return
		}
		c := &strictCounter{s, Strict{Used: make([]int64, s.Size())}}
		for _, at := range []int64{now, then, now} {
			r := c.take(at, cost)
			if r.OK && (cost < 0 || cost > 0 && c.Spent(&c.w) > count) || r.Remaining < 0 || r.Remaining > count || r.RetryAfter < Never || r.ResetAfter < 0 {
				t.Fatalf("at %d take %d: %+v with %v", at, cost, r, c.w)
			}
			c.Charge(&c.w, cost)
			c.Give(&c.w, then, cost)
			if n := c.Spent(&c.w); n < 0 || n > deep(count) {
				t.Fatalf("%d spent of %d", n, count)
			}
		}
	})
}
