package limit

import (
	"math"
	"time"
)

// SlidingWindow counts tokens in two aligned windows, and takes what was used
// in the last one as spread evenly over it: the share of it that still lies
// within one window's length from now counts beside the current one.
//
// It is cheap and smooth, and an estimate: after a burst at the end of one
// window it admits up to twice its limit in one window's length, as a token
// bucket does, and after one at the beginning it refuses what an exact log
// would admit. Prefer the token bucket, or StrictWindow; this one is for
// compatibility.
type SlidingWindow struct {
	Limit  int64
	Window time.Duration // above 0
}

// Sliding is the state of a sliding window: the start of the current window in
// nanoseconds since the epoch, and what was taken in it and in the one before.
// The zero value is unused.
type Sliding struct {
	Start    int64
	Current  int64
	Previous int64
}

// At is the state as it stands at a moment, in nanoseconds since the epoch. A
// moment before the current window counts as its start when it is behind by up
// to a second; when it is behind by more, the clock was set back, and what
// counts now counts in the window of that moment.
func (s *SlidingWindow) At(w Sliding, now int64) Sliding {
	now = max(now, 0)
	start := now - now%int64(s.Window)
	switch {
	case start == w.Start:
		return w
	case w.Current == 0 && w.Previous == 0:
		return Sliding{Start: start}
	case start > w.Start:
		if start-w.Start == int64(s.Window) {
			return Sliding{Start: start, Previous: w.Current}
		}
		return Sliding{Start: start}
	case w.Start-now > int64(behind):
		return Sliding{Start: start, Current: min(s.used(w, w.Start), s.Limit)}
	}
	return w
}

// Take asks for cost tokens at a moment.
func (s *SlidingWindow) Take(w Sliding, now, cost int64) (Sliding, Result) {
	w = s.At(w, now)
	left := max(0, s.Limit-s.used(w, now))
	var r Result
	switch {
	case cost < 0 || cost > s.Limit:
		r.RetryAfter = Never
	case cost > left:
		r.RetryAfter = s.wait(w, now, cost)
	default:
		w.Current += cost
		left -= cost
		r.OK = true
	}
	r.Remaining, r.ResetAfter = left, s.reset(w, now)
	return w, r
}

// Give returns tokens that were taken at a moment, to the window that they
// were taken from if it still counts.
func (s *SlidingWindow) Give(w Sliding, taken, tokens int64) Sliding {
	switch into := taken - w.Start; {
	case into >= 0 && into < int64(s.Window):
		w.Current -= min(w.Current, max(tokens, 0))
	case into < 0 && into >= -int64(s.Window):
		w.Previous -= min(w.Previous, max(tokens, 0))
	}
	return w
}

// Charge takes tokens whether they are there or not, up to ten limits more than
// the whole one, or 2³¹−1 if that is less. Nothing passes until what is owed has
// moved out of sight so far, at the end of the next window at the latest; then
// it is forgotten.
func (s *SlidingWindow) Charge(w Sliding, now, tokens int64) Sliding {
	w = s.At(w, now)
	most := max(s.Limit, min(deep(s.Limit), math.MaxInt32))
	w.Current += min(max(0, most-s.used(w, now)), max(tokens, 0))
	return w
}

// Spent is what counts at a moment, rounded up to a token.
func (s *SlidingWindow) Spent(w Sliding, now int64) int64 { return s.used(s.At(w, now), now) }

func (s *SlidingWindow) used(w Sliding, now int64) int64 {
	rest := uint64(s.Window) - uint64(max(now-w.Start, 0))
	share := int64(ceilMulDiv(uint64(w.Previous), rest, uint64(s.Window)))
	return w.Current + min(share, math.MaxInt64-w.Current)
}

// wait is the time until a cost passes: so much of the last window has to move
// out of sight, or of the current one when that alone is too much.
func (s *SlidingWindow) wait(w Sliding, now, cost int64) time.Duration {
	room, past := s.Limit-cost-w.Current, w.Previous
	begins := w.Start
	if room < 0 {
		room, past = s.Limit-cost, w.Current
		begins += min(int64(s.Window), math.MaxInt64-begins)
	}
	seen, _ := mulDiv(uint64(room), uint64(s.Window), uint64(max(past, 1)))
	passes := int64(s.Window) - int64(min(seen, uint64(s.Window)))
	return span(begins, passes, now)
}

// reset is the time until nothing counts any more.
func (s *SlidingWindow) reset(w Sliding, now int64) time.Duration {
	switch {
	case w.Current > 0:
		return span(w.Start+min(int64(s.Window), math.MaxInt64-w.Start), int64(s.Window), now)
	case w.Previous > 0:
		return span(w.Start, int64(s.Window), now)
	}
	return 0
}

// span is the time from now until a while after a moment, saturating.
func span(moment, while, now int64) time.Duration {
	left := uint64(moment) - uint64(max(now, 0)) + uint64(while)
	if left > math.MaxInt64 {
		if moment < now && now-moment > while {
			return 0
		}
		return math.MaxInt64
	}
	return time.Duration(left)
}
