package limit

import (
	"fmt"
	"math"
	"time"
)

// LeakyBucket is NGINX's limit_req, to the digit: excess is counted in
// thousandths of a request, time in whole milliseconds, and what leaks is
// truncated. It lets burst requests more than one through at an instant. Its
// rounding makes slow rates slower, 1/min by 4 %, and can keep a bucket from
// leaking while it is asked often; prefer the token bucket, and this one only
// to behave as NGINX did.
type LeakyBucket struct {
	rate  int64 // thousandths of a request a second
	burst int64 // thousandths of a request
	delay int64 // thousandths of a request
}

// Leaky is the state of a leaky bucket: a request more than NGINX's excess, in
// thousandths, and the millisecond since the epoch that it was counted at. The
// zero value was never seen.
type Leaky struct {
	Level int64
	Last  int64
}

// request is one request in thousandths.
const request = 1000

// NewLeakyBucket prepares a bucket. Requests beyond delay, 0 … burst, should
// be delayed; with delay = burst none is, as with nodelay.
func NewLeakyBucket(r Rate, burst, delay int64) (LeakyBucket, error) {
	if err := r.Validate(); err != nil {
		return LeakyBucket{}, err
	}
	if burst < 0 || burst > math.MaxInt32 || delay < 0 || delay > burst {
		return LeakyBucket{}, fmt.Errorf("limit: a leaky bucket needs 0 ≤ delay ≤ burst ≤ %d, got %d and %d", math.MaxInt32, delay, burst)
	}
	var rate uint64
	if r.Count > 0 {
		rate, _ = mulDiv(uint64(r.Count), request*uint64(time.Second), uint64(r.Period))
	}
	if rate < 1 || rate > math.MaxInt32*request {
		return LeakyBucket{}, fmt.Errorf("limit: a leaky bucket needs a rate of 1 in 1000s to %d/s, got %s", math.MaxInt32, r)
	}
	return LeakyBucket{int64(rate), burst * request, delay * request}, nil
}

// At is the state as it stands at a moment in nanoseconds since the epoch,
// before a request is added. A clock that is behind leaks nothing, or a
// millisecond's worth when it is behind by more than a minute.
func (l *LeakyBucket) At(b Leaky, now int64) Leaky {
	ms := milliseconds(now)
	passed := ms - b.Last
	if passed < -60_000 {
		passed = 1
	}
	if passed <= 0 || b.Level == 0 {
		return b
	}
	leaked, _ := mulDiv(uint64(l.rate), uint64(passed), 1000)
	return Leaky{b.Level - min(b.Level, int64(leaked)), ms}
}

// Take asks for cost requests at a moment. A refusal changes nothing.
func (l *LeakyBucket) Take(b Leaky, now, cost int64) (Leaky, Result) {
	level := l.At(b, now)
	left := l.left(level.Level)
	switch {
	case cost < 0 || cost > l.burst/request+1:
		return b, Result{Remaining: left, RetryAfter: Never, ResetAfter: l.emptyIn(b, now, b.Level)}
	case cost > left:
		return b, Result{Remaining: left, RetryAfter: l.emptyIn(b, now, b.Level-l.burst+request*(cost-1)), ResetAfter: l.emptyIn(b, now, b.Level)}
	case cost == 0:
		return b, Result{OK: true, Remaining: left, ResetAfter: l.emptyIn(b, now, b.Level)}
	}
	if level.Level == 0 {
		level.Last = milliseconds(now)
	}
	level.Level += cost * request
	return level, Result{OK: true, Remaining: left - cost, ResetAfter: l.emptyIn(level, now, level.Level), Delay: l.Delay(level)}
}

// Delay is how long the request should be held that led to a state.
func (l *LeakyBucket) Delay(b Leaky) time.Duration {
	excess := b.Level - request
	if excess <= l.delay {
		return 0
	}
	return time.Duration((excess-l.delay)*1000/l.rate) * time.Millisecond
}

// LongestDelay is how long the last request of a whole burst should be held.
func (l *LeakyBucket) LongestDelay() time.Duration { return l.Delay(Leaky{Level: l.burst + request}) }

// Give returns tokens to a bucket. left is what remained by now of the level
// that the charge led to.
func (l *LeakyBucket) Give(b Leaky, tokens, left int64) Leaky {
	b.Level -= min(b.Level, max(left, 0), min(max(tokens, 0), math.MaxInt32+1)*request)
	return b
}

// Charge takes tokens whether they are there or not, up to ten buckets more than
// a full one; nothing passes until they have leaked.
func (l *LeakyBucket) Charge(b Leaky, now, tokens int64) Leaky {
	level := l.At(b, now)
	if level.Level == 0 {
		level.Last = milliseconds(now)
	}
	most := max(level.Level, deep(l.burst+request))
	level.Level = min(most, level.Level+min(max(tokens, 0), math.MaxInt32+1)*request)
	return level
}

// Owing is the state of a bucket of which so many tokens are spent at a moment.
func (l *LeakyBucket) Owing(spent, now int64) Leaky {
	return Leaky{min(max(spent, 0), l.burst/request+1) * request, milliseconds(now)}
}

// Holding is l with another burst: so many requests may be let through or held
// beside the first, and one.
func (l LeakyBucket) Holding(burst int64) LeakyBucket {
	l.burst = (burst - 1) * request
	return l
}

// Left is what remains of a level after some nanoseconds.
func (l *LeakyBucket) Left(level int64, elapsed uint64) int64 {
	leaked, _ := mulDiv(uint64(l.rate), elapsed/uint64(time.Millisecond), 1000)
	return level - min(level, int64(leaked))
}

// Spent is what counts of a state that was brought to its moment, rounded up.
func (l *LeakyBucket) Spent(b Leaky) int64 { return (b.Level + request - 1) / request }

// left is how many requests pass one after the other at a level.
func (l *LeakyBucket) left(level int64) int64 { return max(0, l.burst+request-level) / request }

// emptyIn is the time until so much of a state has leaked.
func (l *LeakyBucket) emptyIn(b Leaky, now, leak int64) time.Duration {
	if leak <= 0 {
		return 0
	}
	passed := (leak*1000 + l.rate - 1) / l.rate
	return span(b.Last*int64(time.Millisecond), passed*int64(time.Millisecond), now)
}

func milliseconds(now int64) int64 { return max(now, 0) / int64(time.Millisecond) }
