package limit

import (
	"fmt"
	"math"
	"time"
)

// StrictWindow admits at most Limit tokens in every window of the length, not
// only in aligned ones. It counts in parts of the window, and the oldest part
// in full until it has left the window: it may therefore refuse what was used
// in one part, 1/Parts of the limit for even traffic, for up to one part's
// time too long, and never admits too much.
type StrictWindow struct {
	Limit  int64
	parts  int64
	length int64 // of a part, in nanoseconds; parts·length is at least the window
}

// Strict is the state of a strict window: what was used in the newest part and
// the Parts before it. Used has Parts+1 entries, part n in Used[n mod len(Used)].
// It belongs to the caller, who starts with zeros.
type Strict struct {
	Newest int64 // the number of the newest part since the epoch
	Used   []int64
}

// NewStrictWindow prepares a strict window. More parts, 1 … 1000, make it less
// conservative and its state larger.
func NewStrictWindow(r Rate, parts int) (StrictWindow, error) {
	if err := r.Validate(); err != nil {
		return StrictWindow{}, err
	}
	if r.Count == 0 || parts < 1 || parts > 1000 {
		return StrictWindow{}, fmt.Errorf("limit: a strict window needs a rate above 0 and 1 to 1000 parts, got %s and %d", r, parts)
	}
	p := int64(parts)
	return StrictWindow{Limit: r.Count, parts: p, length: (int64(r.Period)-1)/p + 1}, nil
}

// Size is the length of a state's Used.
func (s *StrictWindow) Size() int { return int(s.parts) + 1 }

// Part is the number of the part that a moment is in, since the epoch.
func (s *StrictWindow) Part(now int64) int64 { return max(now, 0) / s.length }

// Taken is when tokens count as taken that a state was asked for at a moment:
// then, or in the newest part if that is later.
func (s *StrictWindow) Taken(w *Strict, now int64) int64 { return max(now, w.Newest*s.length) }

// Span is how long a token may count, a part more than the window.
func (s *StrictWindow) Span() time.Duration {
	return time.Duration(product(uint64(s.length), uint64(s.parts+1)))
}

// Advance brings a state to a moment, in nanoseconds since the epoch: parts
// that have left the window are cleared. Moments behind it by up to a second
// change nothing; when it is behind by more, the clock was set back, and what
// counts now counts in the part of that moment.
func (s *StrictWindow) Advance(w *Strict, now int64) {
	part := s.Part(now)
	switch {
	case part == w.Newest:
	case part > w.Newest:
		for n := max(w.Newest+1, part-s.parts); n <= part; n++ {
			w.Used[n%int64(len(w.Used))] = 0
		}
		w.Newest = part
	case w.Newest*s.length-max(now, 0) > int64(behind):
		used := min(s.Spent(w), s.Limit)
		clear(w.Used)
		w.Newest = part
		w.Used[part%int64(len(w.Used))] = used
	}
}

// Ask is the answer to a cost, of a state that was brought to the moment, when
// pending tokens are taken beside it. It changes nothing.
func (s *StrictWindow) Ask(w *Strict, now, pending, cost int64) Result {
	used := s.Spent(w)
	used += min(pending, math.MaxInt64-used)
	left := max(0, s.Limit-used)
	r := Result{Remaining: left, ResetAfter: s.reset(w, now, pending)}
	switch {
	case cost < 0 || cost > s.Limit:
		r.RetryAfter = Never
	case cost > left:
		r.RetryAfter = s.wait(w, now, pending, used-s.Limit+cost)
	default:
		r.OK = true
		r.Remaining -= cost
		r.ResetAfter = s.reset(w, now, pending+cost)
	}
	return r
}

// Spend takes tokens in the newest part.
func (s *StrictWindow) Spend(w *Strict, tokens int64) {
	at := &w.Used[w.Newest%int64(len(w.Used))]
	*at += min(max(tokens, 0), math.MaxInt64-*at)
}

// Give returns tokens that were taken at a moment, if its part still counts.
func (s *StrictWindow) Give(w *Strict, taken, tokens int64) {
	part := s.Part(taken)
	if part <= w.Newest && part >= w.Newest-s.parts {
		at := &w.Used[part%int64(len(w.Used))]
		*at -= min(*at, max(tokens, 0))
	}
}

// Charge takes tokens whether they are there or not, up to Most. What is more
// than the limit locks out until the newest part has left the window, and is
// forgotten with it.
func (s *StrictWindow) Charge(w *Strict, tokens int64) {
	s.Spend(w, min(max(0, s.Most()-s.Spent(w)), max(tokens, 0)))
}

// Most is how many tokens may be owed: ten limits more than the whole one.
func (s *StrictWindow) Most() int64 { return deep(s.Limit) }

// Spent is what counts, of a state that was brought to its moment.
func (s *StrictWindow) Spent(w *Strict) (used int64) {
	for _, n := range w.Used {
		used += min(n, math.MaxInt64-used)
	}
	return used
}

// wait is the time until so many tokens have left the window, the oldest first.
func (s *StrictWindow) wait(w *Strict, now, pending, tokens int64) time.Duration {
	for part := max(0, w.Newest-s.parts); part <= w.Newest; part++ {
		n := w.Used[part%int64(len(w.Used))]
		if part == w.Newest {
			n += min(pending, math.MaxInt64-n)
		}
		if tokens -= n; tokens <= 0 {
			return s.leaves(part, now)
		}
	}
	return s.leaves(w.Newest, now)
}

// reset is the time until the newest part that was used has left the window.
func (s *StrictWindow) reset(w *Strict, now, pending int64) time.Duration {
	for part := w.Newest; part >= max(0, w.Newest-s.parts); part-- {
		if w.Used[part%int64(len(w.Used))] > 0 || pending > 0 {
			return s.leaves(part, now)
		}
	}
	return 0
}

// leaves is the time until a part has left the window.
func (s *StrictWindow) leaves(part, now int64) time.Duration {
	return span(part*s.length, int64(s.Span()), now)
}
