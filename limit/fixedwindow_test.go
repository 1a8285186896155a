package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFixedWindowTraces(t *testing.T) {
	minute := int64(time.Minute)
	type step struct {
		at   int64
		cost int64
		want Result
	}
	for _, c := range []struct {
		name   string
		window FixedWindow
		steps  []step
	}{
		{"windows start at whole multiples, and each is its own", FixedWindow{Limit: 2, Window: time.Minute}, []step{
			{minute - 1, 2, Result{OK: true, ResetAfter: 1}},
			{minute - 1, 1, Result{RetryAfter: 1, ResetAfter: 1}},
			{minute, 2, Result{OK: true, ResetAfter: time.Minute}},
			{minute, 1, Result{RetryAfter: time.Minute, ResetAfter: time.Minute}},
		}},
		{"a refused cost costs nothing", FixedWindow{Limit: 10, Window: time.Minute}, []step{
			{0, 11, Result{Remaining: 10, RetryAfter: Never}},
			{0, 4, Result{OK: true, Remaining: 6, ResetAfter: time.Minute}},
			{0, 7, Result{Remaining: 6, RetryAfter: time.Minute, ResetAfter: time.Minute}},
			{0, 6, Result{OK: true, ResetAfter: time.Minute}},
		}},
		{"odd costs are never admitted and change nothing", FixedWindow{Limit: 1, Window: time.Minute}, []step{
			{0, -1, Result{Remaining: 1, RetryAfter: Never}},
			{0, math.MinInt64, Result{Remaining: 1, RetryAfter: Never}},
			{0, math.MaxInt64, Result{Remaining: 1, RetryAfter: Never}},
			{0, 0, Result{OK: true, Remaining: 1}},
			{0, 1, Result{OK: true, ResetAfter: time.Minute}},
			{0, 0, Result{OK: true, ResetAfter: time.Minute}},
		}},
		{"a limit of nothing admits nothing", FixedWindow{Limit: 0, Window: time.Minute}, []step{
			{0, 1, Result{RetryAfter: Never}},
		}},
		{"an idle year is one window", FixedWindow{Limit: 1, Window: time.Minute}, []step{
			{0, 1, Result{OK: true, ResetAfter: time.Minute}},
			{365 * 1440 * minute, 1, Result{OK: true, ResetAfter: time.Minute}},
			{365*1440*minute + 1, 1, Result{RetryAfter: time.Minute - 1, ResetAfter: time.Minute - 1}},
		}},
		{"a stamp of up to a second ago counts in the newer window", FixedWindow{Limit: 3, Window: time.Minute}, []step{
			{minute - 1, 3, Result{OK: true, ResetAfter: 1}},
			{minute, 2, Result{OK: true, Remaining: 1, ResetAfter: time.Minute}},
			{minute - 5, 1, Result{OK: true, ResetAfter: time.Minute + 5}},
			{minute - 5, 1, Result{RetryAfter: time.Minute + 5, ResetAfter: time.Minute + 5}},
			{minute, 1, Result{RetryAfter: time.Minute, ResetAfter: time.Minute}},
		}},
		{"a clock set back keeps what was used, for one window", FixedWindow{Limit: 2, Window: time.Minute}, []step{
			{100 * minute, 2, Result{OK: true, ResetAfter: time.Minute}},
			{40 * minute, 1, Result{RetryAfter: time.Minute, ResetAfter: time.Minute}},
			{41 * minute, 2, Result{OK: true, ResetAfter: time.Minute}},
		}},
		{"moments before the epoch count as it", FixedWindow{Limit: 1, Window: time.Minute}, []step{
			{-7, 1, Result{OK: true, ResetAfter: time.Minute}},
			{math.MinInt64, 1, Result{RetryAfter: time.Minute, ResetAfter: time.Minute}},
		}},
		{"the last window of all time has an end", FixedWindow{Limit: 1, Window: math.MaxInt64}, []step{
			{math.MaxInt64, 1, Result{OK: true, ResetAfter: math.MaxInt64}},
			{math.MaxInt64 - 1, 1, Result{RetryAfter: math.MaxInt64, ResetAfter: math.MaxInt64}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Window
			for i, s := range c.steps {
				var got Result
				if w, got = c.window.Take(w, s.at, s.cost); got != s.want {
					t.Fatalf("step %d: at %d take %d = %+v, want %+v", i, s.at, s.cost, got, s.want)
				}
			}
		})
	}
}

func TestFixedWindowGiveAndCharge(t *testing.T) {
	f := FixedWindow{Limit: 10, Window: time.Minute}
	minute := int64(time.Minute)
	w, _ := f.Take(Window{}, 5, 6)
	next, _ := f.Take(w, minute, 3)
	for _, c := range []struct {
		name   string
		change func(Window) Window
		want   int64 // used
	}{
		{"what was taken comes back", func(w Window) Window { return f.Give(w, 5, 2) }, 4},
		{"never above full", func(w Window) Window { return f.Give(w, 5, math.MaxInt64) }, 0},
		{"a negative refund charges nothing", func(w Window) Window { return f.Give(w, 5, -2) }, 6},
		{"not to another window", func(w Window) Window { return f.Give(next, 5, 2) }, 3},
		{"not from another window", func(w Window) Window { return f.Give(w, minute, 2) }, 6},
		{"a charge adds", func(w Window) Window { return f.Charge(w, 9, 3) }, 9},
		{"up to the whole window", func(w Window) Window { return f.Charge(w, 9, math.MaxInt64) }, 10},
		{"in the window of its own moment", func(w Window) Window { return f.Charge(w, minute, 3) }, 3},
		{"a negative charge gives nothing", func(w Window) Window { return f.Charge(w, 9, -3) }, 6},
		{"above a lowered limit it gives nothing", func(w Window) Window { return (&FixedWindow{Limit: 4, Window: time.Minute}).Charge(w, 9, 1) }, 6},
	} {
		if got := c.change(w).Used; got != c.want {
			t.Errorf("%s: %d used, want %d", c.name, got, c.want)
		}
	}
}

func TestFixedWindowLoweredAndRaised(t *testing.T) {
	w, _ := (&FixedWindow{Limit: 10, Window: time.Minute}).Take(Window{}, 0, 8)
	for _, c := range []struct{ limit, want int64 }{{4, 0}, {8, 0}, {9, 1}, {20, 12}} {
		if _, r := (&FixedWindow{Limit: c.limit, Window: time.Minute}).Take(w, 0, 0); r.Remaining != c.want {
			t.Errorf("8 used, limit now %d: %d remain, want %d", c.limit, r.Remaining, c.want)
		}
	}
}

// The windows of a random history: none admits more than its limit, a refusal
// changes nothing, and the answers are exact.
func TestFixedWindowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := FixedWindow{
			Limit:  rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "limit"),
			Window: time.Duration(rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "window")),
		}
		used := map[int64]int64{} // by window
		var w Window
		var last Result
		now := rapid.Int64Range(0, 1<<40).Draw(t, "begin")
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += min(drawPause(t, last), math.MaxInt64-now)
			cost := drawCost(t, f.Limit)
			index := now / int64(f.Window)
			fits := cost >= 0 && cost <= f.Limit-used[index]
			before := f.At(w, now)
			after, r := f.Take(w, now, cost)
			if r.OK != fits {
				t.Fatalf("at %d take %d with %d of %d used = %+v", now, cost, used[index], f.Limit, r)
			}
			if r.OK {
				used[index] += cost
			} else if after != before {
				t.Fatalf("a refusal changed %+v to %+v", before, after)
			}
			if r.Remaining != f.Limit-used[index] {
				t.Fatalf("%d of %d used, %d remain", used[index], f.Limit, r.Remaining)
			}
			checkWait(t, &f, after, now, cost, r)
			w, last = after, r
		}
	})
}

func checkWait(t *rapid.T, f *FixedWindow, w Window, now, cost int64, r Result) {
	if r.RetryAfter > 0 && int64(r.RetryAfter) < math.MaxInt64-now {
		_, early := f.Take(w, now+int64(r.RetryAfter)-1, cost)
		_, then := f.Take(w, now+int64(r.RetryAfter), cost)
		if early.OK || !then.OK {
			t.Fatalf("RetryAfter %d of a cost of %d is not exact", r.RetryAfter, cost)
		}
	}
	if r.ResetAfter > 0 && int64(r.ResetAfter) < math.MaxInt64-now {
		if f.At(w, now+int64(r.ResetAfter)-1).Used == 0 || f.At(w, now+int64(r.ResetAfter)).Used != 0 {
			t.Fatalf("ResetAfter %d is not exact", r.ResetAfter)
		}
	}
}

// Steps of the clock never admit more than the limit at once, nor block for
// longer than a window and the second that a stamp may be late.
func TestFixedWindowUnderClockSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := FixedWindow{Limit: rapid.Int64Range(1, 9).Draw(t, "limit"), Window: time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "window"))}
		now := int64(48 * time.Hour)
		var w Window
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			now += rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "step")
			ok, r := int64(0), Result{}
			for range f.Limit + 3 {
				if w, r = f.Take(w, now, 1); r.OK {
					ok++
				}
			}
			if ok > f.Limit || r.RetryAfter > f.Window+time.Second {
				t.Fatalf("%d of %d admitted at once, then blocked for %s", ok, f.Limit, r.RetryAfter)
			}
		}
	})
}

func FuzzFixedWindow(f *testing.F) {
	f.Add(int64(10), int64(time.Second), int64(0), int64(1), int64(1), int64(0))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(int64(1), int64(1), int64(math.MinInt64), int64(math.MinInt64), int64(0), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, limit, window, now, cost, used, start int64) {
		if window < 1 || used < 0 || start < 0 {
			return
		}
		fw := FixedWindow{Limit: max(limit, 0), Window: time.Duration(window)}
		w, r := fw.Take(Window{start, used}, now, cost)
		if r.OK && (cost < 0 || cost > 0 && w.Used > fw.Limit) {
			t.Fatalf("admitted %d into %+v of %d", cost, w, fw.Limit)
		}
		if r.Remaining < 0 || r.Remaining > fw.Limit || r.ResetAfter < 0 || r.RetryAfter < Never {
			t.Fatalf("take %d: %+v", cost, r)
		}
		if g := fw.Give(w, now, cost); g.Used < 0 || g.Used > w.Used {
			t.Fatalf("refund of %d: %+v becomes %+v", cost, w, g)
		}
		if c := fw.Charge(w, now, cost); c.Used < w.Used || c.Used > max(w.Used, fw.Limit) {
			t.Fatalf("charge of %d: %+v becomes %+v", cost, w, c)
		}
	})
}
