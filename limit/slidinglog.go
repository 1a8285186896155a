package limit

import (
	"fmt"
	"slices"
	"time"
)

// SlidingLog remembers when each token was taken, and admits exactly Limit in
// every window of the length. It is for small limits, login attempts say: its
// state is one moment for each token, and it costs a search in them.
type SlidingLog struct {
	Limit  int64
	Window time.Duration
}

// MostLogged is the largest limit of a SlidingLog.
const MostLogged = 1000

// NewSlidingLog prepares a log.
func NewSlidingLog(r Rate) (SlidingLog, error) {
	if err := r.Validate(); err != nil {
		return SlidingLog{}, err
	}
	if r.Count < 1 || r.Count > MostLogged {
		return SlidingLog{}, fmt.Errorf("limit: a sliding log remembers 1 to %d tokens, got %s; use a strict window", MostLogged, r)
	}
	return SlidingLog{r.Count, r.Period}, nil
}

// Advance brings a log to a moment in nanoseconds: it drops the tokens that
// have left the window. Moments behind the newest token by up to a second drop
// nothing; when it is behind by more, the clock was set back, and the tokens
// count as taken at that moment. The log stays sorted, and keeps its memory.
func (s *SlidingLog) Advance(log []int64, now int64) []int64 {
	if n := len(log); n > 0 && log[n-1] > now && uint64(log[n-1])-uint64(now) > uint64(behind) {
		for i := range log {
			log[i] = min(log[i], now)
		}
	}
	gone, _ := slices.BinarySearchFunc(log, now, func(taken, now int64) int {
		if now > taken && uint64(now)-uint64(taken) >= uint64(s.Window) {
			return -1
		}
		return 1
	})
	return log[:copy(log, log[gone:])]
}

// Ask is the answer to a cost, of a log that was brought to the moment, when
// pending tokens are taken beside it. It changes nothing.
func (s *SlidingLog) Ask(log []int64, now, pending, cost int64) Result {
	left := max(0, s.Limit-int64(len(log))-pending)
	r := Result{Remaining: left, ResetAfter: s.reset(log, now, pending)}
	switch {
	case cost < 0 || cost > s.Limit:
		r.RetryAfter = Never
	case cost > left:
		r.RetryAfter = s.leaves(log, now, int64(len(log))+pending-s.Limit+cost)
	default:
		r.OK = true
		r.Remaining -= cost
		r.ResetAfter = s.reset(log, now, pending+cost)
	}
	return r
}

// Spend adds tokens to a log, as taken at a moment or at the newest one.
func (s *SlidingLog) Spend(log []int64, now, tokens int64) []int64 {
	if n := len(log); n > 0 {
		now = max(now, log[n-1])
	}
	for range min(max(tokens, 0), s.Limit) {
		log = append(log, now)
	}
	return log
}

// Give removes tokens that were taken at a moment.
func (s *SlidingLog) Give(log []int64, taken, tokens int64) []int64 {
	first, _ := slices.BinarySearch(log, taken)
	last := first
	for last < len(log) && log[last] == taken && tokens > 0 {
		last++
		tokens--
	}
	return slices.Delete(log, first, last)
}

// Charge takes tokens whether they are there or not. Those that are not there
// are the oldest that are remembered, as if taken now: so the log stays as
// small, and is full for a window's length after a whole limit was charged.
// More than that is forgotten.
func (s *SlidingLog) Charge(log []int64, now, tokens int64) []int64 {
	there := max(0, min(s.Limit-int64(len(log)), tokens))
	return s.Renew(s.Spend(log, now, there), now, tokens-there)
}

// Renew makes so many of the oldest tokens count as taken at a moment, or at the
// newest one.
func (s *SlidingLog) Renew(log []int64, now, tokens int64) []int64 {
	n := int(min(max(tokens, 0), int64(len(log))))
	if n == 0 {
		return log
	}
	now = max(now, log[len(log)-1])
	kept := copy(log, log[n:])
	for i := range log[kept:] {
		log[kept+i] = now
	}
	return log
}

// leaves is the time until the nth token, counted from the oldest, has left
// the window; tokens beyond the log are taken now.
func (s *SlidingLog) leaves(log []int64, now, n int64) time.Duration {
	taken := now
	if n <= int64(len(log)) {
		taken = log[n-1]
	} else if len(log) > 0 {
		taken = max(now, log[len(log)-1])
	}
	return span(taken, int64(s.Window), now)
}

func (s *SlidingLog) reset(log []int64, now, pending int64) time.Duration {
	if n := int64(len(log)) + max(pending, 0); n > 0 {
		return s.leaves(log, now, n)
	}
	return 0
}
