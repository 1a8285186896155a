package limit

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSlidingWindowTraces(t *testing.T) {
	second := int64(time.Second)
	type step struct {
		at   int64
		cost int64
		want Result
	}
	for _, c := range []struct {
		name   string
		window SlidingWindow
		steps  []step
	}{
		{"one in 10s is one in 10s", SlidingWindow{1, 10 * time.Second}, []step{
			{0, 1, Result{OK: true, ResetAfter: 20 * time.Second}},
			{9 * second, 1, Result{RetryAfter: 11 * time.Second, ResetAfter: 11 * time.Second}},
			{20 * second, 1, Result{OK: true, ResetAfter: 20 * time.Second}},
		}},
		{"the last window counts by the share that is still near", SlidingWindow{10, 10 * time.Second}, []step{
			{5 * second, 10, Result{OK: true, ResetAfter: 15 * time.Second}},
			{10 * second, 1, Result{RetryAfter: time.Second, ResetAfter: 10 * time.Second}},
			{11 * second, 1, Result{OK: true, ResetAfter: 19 * time.Second}},
			{15 * second, 5, Result{Remaining: 4, RetryAfter: time.Second, ResetAfter: 15 * time.Second}},
			{19 * second, 8, Result{OK: true, ResetAfter: 11 * time.Second}},
		}},
		{"two windows later nothing is left", SlidingWindow{4, time.Second}, []step{
			{0, 4, Result{OK: true, ResetAfter: 2 * time.Second}},
			{2 * second, 4, Result{OK: true, ResetAfter: 2 * time.Second}},
			{3*second - 1, 1, Result{RetryAfter: 1 + time.Second/4, ResetAfter: 1 + time.Second}},
		}},
		{"a clock set back keeps what counts", SlidingWindow{4, time.Minute}, []step{
			{3600 * second, 3, Result{OK: true, Remaining: 1, ResetAfter: 2 * time.Minute}},
			{600 * second, 2, Result{Remaining: 1, RetryAfter: time.Minute + 20*time.Second, ResetAfter: 2 * time.Minute}},
			{600 * second, 1, Result{OK: true, ResetAfter: 2 * time.Minute}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Sliding
			for i, s := range c.steps {
				var got Result
				if w, got = c.window.Take(w, s.at, s.cost); got != s.want {
					t.Fatalf("step %d: at %d take %d = %+v, want %+v", i, s.at, s.cost, got, s.want)
				}
			}
		})
	}
}

// The estimate is that of the definition, rounded up.
func TestSlidingWindowEqualsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1<<50)).Draw(t, "window")
		s := SlidingWindow{rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "limit"), time.Duration(window)}
		taken, now := map[int64]int64{}, int64(0)
		var w Sliding
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Int64Range(0, window), rapid.Int64Range(0, 3*window)).Draw(t, "pause")
			cost := rapid.Int64Range(0, s.Limit).Draw(t, "cost")
			index := now / window
			share := new(big.Rat).Mul(rat(taken[index-1]), big.NewRat(window-now%window, window))
			used := new(big.Rat).Add(rat(taken[index]), share)
			left := floor(new(big.Rat).Sub(rat(s.Limit), used))
			var r Result
			w, r = s.Take(w, now, cost)
			if r.OK != (cost <= left) {
				t.Fatalf("at %d take %d with %s of %d used = %+v", now, cost, used.FloatString(3), s.Limit, r)
			}
			if r.OK {
				taken[index] += cost
				left -= cost
			}
			if r.Remaining != max(0, left) {
				t.Fatalf("at %d: %d remain, want %d", now, r.Remaining, left)
			}
		}
	})
}

func TestSlidingWindowGiveAndCharge(t *testing.T) {
	s := SlidingWindow{10, 10 * time.Second}
	second := int64(time.Second)
	w, _ := s.Take(Sliding{}, 5*second, 6)
	next, _ := s.Take(w, 12*second, 2)
	for _, c := range []struct {
		name              string
		got               Sliding
		current, previous int64
	}{
		{"what was taken comes back", s.Give(w, 5*second, 4), 2, 0},
		{"never above full", s.Give(w, 5*second, math.MaxInt64), 0, 0},
		{"to the window before, too", s.Give(next, 5*second, 4), 2, 2},
		{"not to a later one", s.Give(w, 15*second, 4), 6, 0},
		{"not to an earlier one", s.Give(next, -5*second, 4), 2, 6},
		{"a negative refund charges nothing", s.Give(w, 5*second, -4), 6, 0},
		{"a charge adds", s.Charge(w, 6*second, 3), 9, 0},
		{"up to ten limits beyond the whole one", s.Charge(next, 12*second, math.MaxInt64), 105, 6},
		{"a negative charge gives nothing", s.Charge(w, 6*second, -3), 6, 0},
	} {
		if c.got.Current != c.current || c.got.Previous != c.previous {
			t.Errorf("%s: %+v, want %d and %d", c.name, c.got, c.current, c.previous)
		}
	}
	if got := s.Spent(next, 12*second); got != 7 {
		t.Errorf("2 now and four fifths of 6: spent %d, want 7", got)
	}
}

func FuzzSlidingWindow(f *testing.F) {
	f.Add(int64(10), int64(time.Second), int64(time.Hour), int64(1), int64(3), int64(4), int64(time.Hour))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(1))
	f.Fuzz(func(t *testing.T, limit, window, now, cost, current, previous, start int64) {
		if window < 1 || current < 0 || previous < 0 || start < 0 || start%window != 0 {
			return
		}
		s := SlidingWindow{max(limit, 0), time.Duration(window)}
		w, r := s.Take(Sliding{start, current, previous}, now, cost)
		if r.OK && (cost < 0 || cost > 0 && w.Current > s.Limit) {
			t.Fatalf("admitted %d: %+v of %d", cost, w, s.Limit)
		}
		if w.Current < 0 || w.Previous < 0 || r.Remaining < 0 || r.Remaining > s.Limit || r.ResetAfter < 0 || r.RetryAfter < Never {
			t.Fatalf("take %d: %+v, %+v", cost, w, r)
		}
		if c := s.Charge(w, now, cost); c.Current < w.Current || c.Current > max(w.Current, s.Limit, min(deep(s.Limit), math.MaxInt32)) {
			t.Fatalf("charge of %d: %+v becomes %+v", cost, w, c)
		}
	})
}
