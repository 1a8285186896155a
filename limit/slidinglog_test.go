package limit

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is asked, what was admitted in the last window is counted exactly.
func TestSlidingLogIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 30).Draw(t, "limit")
		window := rapid.Int64Range(1, 1000).Draw(t, "window")
		c := &logCounter{SlidingLog: SlidingLog{limit, time.Duration(window)}}
		var taken []int64
		now := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, window).Draw(t, "pause")
			cost := rapid.Int64Range(0, limit).Draw(t, "cost")
			used := int64(0)
			for _, at := range taken {
				if at > now-window {
					used++
				}
			}
			if r := c.take(now, cost); r.OK != (used+cost <= limit) {
				t.Fatalf("at %d a cost of %d with %d of %d used: %+v", now, cost, used, limit, r)
			} else if r.OK {
				taken = append(taken, slices.Repeat([]int64{now}, int(cost))...)
			}
			if int64(len(c.log)) > limit || !slices.IsSorted(c.log) {
				t.Fatalf("the log of %d: %v", limit, c.log)
			}
		}
	})
}

func TestSlidingLogKeepsItsMemory(t *testing.T) {
	c := &logCounter{SlidingLog: SlidingLog{8, time.Second}, log: make([]int64, 0, 8)}
	now := int64(0)
	if allocs := testing.AllocsPerRun(1000, func() {
		now += int64(70 * time.Millisecond)
		c.take(now, 1)
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestSlidingLogGiveAndCharge(t *testing.T) {
	s := SlidingLog{5, time.Minute}
	log := []int64{10, 20, 20, 30}
	for _, c := range []struct {
		name string
		got  []int64
		want []int64
	}{
		{"what was taken comes back", s.Give(slices.Clone(log), 20, 2), []int64{10, 30}},
		{"no more than was taken then", s.Give(slices.Clone(log), 20, math.MaxInt64), []int64{10, 30}},
		{"a part of it", s.Give(slices.Clone(log), 20, 1), []int64{10, 20, 30}},
		{"not what was never taken", s.Give(slices.Clone(log), 25, 1), log},
		{"a negative refund charges nothing", s.Give(slices.Clone(log), 20, -1), log},
		{"a charge adds", s.Charge(slices.Clone(log), 40, 1), []int64{10, 20, 20, 30, 40}},
		{"beyond the limit the oldest count as new", s.Charge(slices.Clone(log), 40, 3), []int64{20, 30, 40, 40, 40}},
		{"up to the whole limit", s.Charge(slices.Clone(log), 40, math.MaxInt64), []int64{40, 40, 40, 40, 40}},
		{"a late charge is taken at the newest moment", s.Charge(slices.Clone(log), 5, 3), []int64{20, 30, 30, 30, 30}},
		{"a negative charge gives nothing", s.Charge(slices.Clone(log), 40, math.MinInt64), log},
		{"a late stamp is taken at the newest moment", s.Spend(slices.Clone(log), 5, 1), []int64{10, 20, 20, 30, 30}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestNewSlidingLog(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		ok   bool
	}{{Per(1, time.Second), true}, {Per(1000, time.Hour), true}, {Per(1001, time.Hour), false}, {Per(0, time.Hour), false}, {Per(5, 0), false}} {
		if _, err := NewSlidingLog(c.rate); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.rate, err)
		}
	}
}

func FuzzSlidingLog(f *testing.F) {
	f.Add(int64(10), int64(time.Second), int64(time.Hour), int64(1), int64(time.Hour))
	f.Add(int64(1000), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, count, period, now, cost, then int64) {
		s, err := NewSlidingLog(Per(count, time.Duration(period)))
		if err != nil {
			return
		}
		c := &logCounter{SlidingLog: s}
		for _, at := range []int64{now, then, now} {
			if r := c.take(at, cost); r.OK && cost < 0 || r.Remaining < 0 || r.Remaining > count || r.RetryAfter < Never || r.ResetAfter < 0 {
				t.Fatalf("at %d take %d: %+v with %v", at, cost, r, c.log)
			}
			c.log = c.Charge(c.log, at, cost)
			if int64(len(c.log)) > count || !slices.IsSorted(c.log) {
				t.Fatalf("the log of %d: %v", count, c.log)
			}
			c.log = c.Give(c.log, then, cost)
		}
	})
}
