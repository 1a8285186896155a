package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// counter is an algorithm with its state, as the tests of all of them see it.
type counter interface {
	take(now, cost int64) Result
	clone() counter
}

type slidingCounter struct {
	SlidingWindow
	w Sliding
}

func (c *slidingCounter) take(now, cost int64) (r Result) {
	c.w, r = c.SlidingWindow.Take(c.w, now, cost)
	return r
}
func (c *slidingCounter) clone() counter { d := *c; return &d }

type fixedCounter struct {
	FixedWindow
	w Window
}

func (c *fixedCounter) take(now, cost int64) (r Result) {
	c.w, r = c.FixedWindow.Take(c.w, now, cost)
	return r
}
func (c *fixedCounter) clone() counter { d := *c; return &d }

type strictCounter struct {
	StrictWindow
	w Strict
}

func (c *strictCounter) take(now, cost int64) Result {
	c.Advance(&c.w, now)
	r := c.Ask(&c.w, now, 0, cost)
	if r.OK {
		c.Spend(&c.w, cost)
	}
	return r
}

func (c *strictCounter) clone() counter {
	d := *c
	d.w.Used = append([]int64(nil), c.w.Used...)
	return &d
}

type logCounter struct {
	SlidingLog
	log []int64
}

func (c *logCounter) take(now, cost int64) Result {
	c.log = c.Advance(c.log, now)
	r := c.Ask(c.log, now, 0, cost)
	if r.OK {
		c.log = c.Spend(c.log, now, cost)
	}
	return r
}

func (c *logCounter) clone() counter {
	d := *c
	d.log = append([]int64(nil), c.log...)
	return &d
}

type leakyCounter struct {
	LeakyBucket
	b Leaky
}

func (c *leakyCounter) take(now, cost int64) (r Result) {
	c.b, r = c.LeakyBucket.Take(c.b, now, cost)
	return r
}
func (c *leakyCounter) clone() counter { d := *c; return &d }

type bucketCounter struct{ flow }

func (c *bucketCounter) take(now, cost int64) Result {
	c.now = now
	return c.flow.take(cost)
}
func (c *bucketCounter) clone() counter { d := *c; return &d }

// contest is an algorithm under test: most is what passes at once when unused,
// full the time after which all of it is there again.
type contest struct {
	name string
	most int64
	full time.Duration
	make func() counter
}

func contests(t interface{ Fatal(...any) }) []contest {
	rate := Per(6, 600*time.Millisecond)
	gcra, err := NewGCRA(rate, 6)
	if err != nil {
		t.Fatal(err)
	}
	strict, err := NewStrictWindow(rate, 7)
	if err != nil {
		t.Fatal(err)
	}
	log, err := NewSlidingLog(rate)
	if err != nil {
		t.Fatal(err)
	}
	leaky, err := NewLeakyBucket(Per(10, time.Second), 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	return []contest{
		{"token-bucket", 6, rate.Period, func() counter { return &bucketCounter{flow{g: gcra}} }},
		{"fixed-window", 6, rate.Period, func() counter { return &fixedCounter{FixedWindow: FixedWindow{Limit: 6, Window: rate.Period}} }},
		{"sliding-window", 6, 2 * rate.Period, func() counter { return &slidingCounter{SlidingWindow: SlidingWindow{6, rate.Period}} }},
		{"strict-window", 6, rate.Period * 8 / 7, func() counter { return &strictCounter{strict, Strict{Used: make([]int64, strict.Size())}} }},
		{"sliding-log", 6, rate.Period, func() counter { return &logCounter{SlidingLog: log} }},
		{"leaky-bucket", 6, rate.Period, func() counter { return &leakyCounter{LeakyBucket: leaky} }},
	}
}

func eachContest(t *testing.T, check func(*rapid.T, contest)) {
	for _, c := range contests(t) {
		t.Run(c.name, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { check(t, c) }) })
	}
}

// stroll asks at random moments, and calls look between.
func stroll(t *rapid.T, c contest, look func(c counter, now int64, last Result)) {
	a, last := c.make(), Result{}
	now := int64(time.Hour) + rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "begin")
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		now += rapid.OneOf(
			rapid.SampledFrom([]int64{0, 1, max(0, int64(last.RetryAfter)), int64(last.ResetAfter), int64(time.Millisecond)}),
			rapid.Int64Range(0, int64(c.full)*2)).Draw(t, "pause")
		last = a.take(now, rapid.Int64Range(0, c.most).Draw(t, "cost"))
		look(a, now, last)
	}
}

// (c), (d), (b) for every algorithm.
func TestAnswersAreExact(t *testing.T) {
	eachContest(t, func(t *rapid.T, c contest) {
		stroll(t, c, func(a counter, now int64, last Result) {
			cost := rapid.Int64Range(1, c.most).Draw(t, "another")
			looked := a.clone().take(now, 0)
			refused := a.clone()
			if r := refused.take(now, cost); !r.OK {
				if again := refused.take(now, 0); again != looked {
					t.Fatalf("a refusal changed %+v to %+v", looked, again)
				}
				if r.RetryAfter <= 0 || r.Remaining != looked.Remaining || r.ResetAfter != looked.ResetAfter {
					t.Fatalf("refused: %+v, looked: %+v", r, looked)
				}
				if early := a.clone().take(now+int64(r.RetryAfter)-1, cost); early.OK {
					t.Fatalf("a cost of %d passes before RetryAfter %d", cost, r.RetryAfter)
				}
				if then := a.clone().take(now+int64(r.RetryAfter), cost); !then.OK {
					t.Fatalf("a cost of %d does not pass after RetryAfter %d: %+v", cost, r.RetryAfter, then)
				}
			}
			if looked.Remaining != last.Remaining {
				t.Fatalf("%d remain after %+v", looked.Remaining, last)
			}
			if left := looked.Remaining; left > 0 && !a.clone().take(now, left).OK || left < c.most && a.clone().take(now, left+1).OK {
				t.Fatalf("%d remain, and that is not what passes", left)
			}
			if r := looked.ResetAfter; r > 0 {
				if then := a.clone().take(now+int64(r), 0); then.Remaining != c.most || then.ResetAfter != 0 {
					t.Fatalf("after ResetAfter %d: %+v", r, then)
				}
				if early := a.clone().take(now+int64(r)-1, 0); early.ResetAfter != 1 {
					t.Fatalf("a nanosecond before ResetAfter %d: %+v", r, early)
				}
			}
		})
	})
}

func TestOddCosts(t *testing.T) {
	for _, c := range contests(t) {
		a := c.make()
		for _, taken := range []int64{0, 2, 3} {
			left := a.take(int64(time.Hour), taken).Remaining
			for _, cost := range []int64{-1, math.MinInt64, c.most + 1, math.MaxInt64} {
				if r := a.take(int64(time.Hour), cost); r.OK || r.RetryAfter != Never || r.Remaining != left {
					t.Errorf("%s: a cost of %d with %d left: %+v", c.name, cost, left, r)
				}
			}
			if r := a.take(int64(time.Hour), 0); !r.OK || r.Remaining != left {
				t.Errorf("%s: a look with %d left: %+v", c.name, left, r)
			}
		}
	}
}

// (a): what is admitted within any length of time.
func TestEnvelopes(t *testing.T) {
	most := map[string]func(span, window time.Duration, limit int64) int64{
		"token-bucket":   func(s, w time.Duration, l int64) int64 { return l + int64(s)*l/int64(w) },
		"leaky-bucket":   func(s, w time.Duration, l int64) int64 { return l + int64(s+time.Millisecond)*l/int64(w) },
		"fixed-window":   func(s, w time.Duration, l int64) int64 { return l * (2 + int64(s/w)) },
		"sliding-window": func(s, w time.Duration, l int64) int64 { return l + (int64(s)*l-1)/int64(w) + 1 },
		"sliding-log":    func(s, w time.Duration, l int64) int64 { return l * (1 + int64(s/w)) },
		"strict-window":  func(s, w time.Duration, l int64) int64 { return l * (1 + int64(s/w)) },
	}
	eachContest(t, func(t *rapid.T, c contest) {
		a, now := c.make(), int64(time.Hour)+rapid.Int64Range(0, int64(time.Second)).Draw(t, "begin")
		var times []int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(200*time.Millisecond))).Draw(t, "pause")
			for range rapid.Int64Range(1, c.most).Draw(t, "asks") {
				if a.take(now, 1).OK {
					times = append(times, now)
				}
			}
		}
		for last := range times {
			for first := range last + 1 {
				span := time.Duration(times[last] - times[first])
				if n := int64(last - first + 1); n > most[c.name](span, 600*time.Millisecond, c.most) {
					t.Fatalf("%d admitted within %s", n, span)
				}
			}
		}
	})
}

// (j): a stamp that is up to a second late mints nothing; a clock set back
// admits no more than the limit at once, and blocks for a bounded time.
func TestCountersUnderClockSteps(t *testing.T) {
	eachContest(t, func(t *rapid.T, c contest) {
		a, now := c.make(), int64(1000*time.Hour)
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			now += rapid.OneOf(
				rapid.Int64Range(-int64(time.Second), int64(time.Second)),
				rapid.Int64Range(-int64(time.Hour), int64(time.Hour))).Draw(t, "step")
			ok, r := int64(0), Result{}
			for range c.most + 3 {
				if r = a.take(now, 1); r.OK {
					ok++
				}
			}
			if ok > c.most || r.RetryAfter > 2*c.full+time.Second && c.name != "leaky-bucket" {
				t.Fatalf("%d of %d admitted at once, then blocked for %s", ok, c.most, r.RetryAfter)
			}
		}
	})
}

func TestLateStampsMintNothing(t *testing.T) {
	for _, c := range contests(t) {
		a, now := c.make(), int64(time.Hour) // a whole number of windows
		for range c.most - 1 {
			a.take(now, 1)
		}
		ok := 0
		for range 50 {
			for _, late := range []time.Duration{time.Second, 300 * time.Millisecond, 1} {
				if a.take(now-int64(late), c.most).OK {
					ok++
				}
			}
		}
		if r := a.take(now, 1); ok > 0 || !r.OK || r.Remaining != 0 {
			t.Errorf("%s: %d late stamps were granted the limit; the last token: %+v", c.name, ok, r)
		}
	}
}
