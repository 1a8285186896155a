package limit

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// NGINX's own answers (ngx_http_limit_req_module.c, as of 1.29).
func TestLeakyBucketAnswersAsNGINX(t *testing.T) {
	ms := int64(time.Millisecond)
	type step struct {
		at     int64 // ms
		ok     bool
		excess int64 // of the request, also of one that is refused
		delay  int64 // ms
	}
	for _, c := range []struct {
		name         string
		rate         Rate
		burst, delay int64
		steps        []step
	}{
		{"10r/s", Per(10, time.Second), 0, 0, []step{
			{0, true, 0, 0}, {50, false, 500, 0}, {99, false, 10, 0}, {100, true, 0, 0}, {199, false, 10, 0}, {200, true, 0, 0},
		}},
		{"10r/s burst 5", Per(10, time.Second), 5, 0, []step{
			{0, true, 0, 0}, {0, true, 1000, 100}, {0, true, 2000, 200}, {0, true, 3000, 300}, {0, true, 4000, 400}, {0, true, 5000, 500},
			{0, false, 6000, 0}, {0, false, 6000, 0},
		}},
		{"10r/s burst 5 delay 2", Per(10, time.Second), 5, 2, []step{
			{0, true, 0, 0}, {0, true, 1000, 0}, {0, true, 2000, 0}, {0, true, 3000, 100}, {0, true, 4000, 200}, {0, true, 5000, 300},
			{0, false, 6000, 0}, {0, false, 6000, 0},
		}},
		{"10r/s burst 5 nodelay", Per(10, time.Second), 5, 5, []step{
			{0, true, 0, 0}, {0, true, 1000, 0}, {0, true, 2000, 0}, {0, true, 3000, 0}, {0, true, 4000, 0}, {0, true, 5000, 0}, {0, false, 6000, 0},
		}},
		{"1r/m is 16 thousandths a second", Per(1, time.Minute), 0, 0, []step{
			{0, true, 0, 0}, {60000, false, 40, 0}, {62499, false, 1, 0}, {62500, true, 0, 0},
		}},
		{"asked every 50ms, 1r/m never leaks", Per(1, time.Minute), 3, 3, []step{
			{0, true, 0, 0}, {50, true, 1000, 0}, {100, true, 2000, 0}, {150, true, 3000, 0}, {200, false, 4000, 0}, {62649, false, 3001, 0}, {62650, true, 3000, 0},
		}},
		{"a clock that is behind leaks nothing", Per(10, time.Second), 2, 2, []step{
			{100000, true, 0, 0}, {99000, true, 1000, 0}, {100000, true, 2000, 0}, {99000, false, 3000, 0},
		}},
		{"a clock that is behind by more than a minute leaks a millisecond", Per(10, time.Second), 2, 2, []step{
			{100000, true, 0, 0}, {30000, true, 990, 0}, {30000, true, 1990, 0}, {30099, true, 2000, 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := NewLeakyBucket(c.rate, c.burst, c.delay)
			if err != nil {
				t.Fatal(err)
			}
			var b Leaky
			for i, s := range c.steps {
				tried := l.At(b, s.at*ms).Level // a request more than what leaked
				next, r := l.Take(b, s.at*ms, 1)
				if tried != s.excess || r.OK != s.ok {
					t.Fatalf("step %d at %dms: excess %d, %+v; want %+v", i, s.at, tried, r, s)
				}
				if !r.OK && next != b {
					t.Fatalf("step %d: a refusal changed %+v to %+v", i, b, next)
				}
				if delay := l.Delay(next); r.OK && delay != time.Duration(s.delay)*time.Millisecond || r.Delay != time.Duration(s.delay)*time.Millisecond {
					t.Fatalf("step %d: delay %s and %s, want %dms", i, delay, r.Delay, s.delay)
				}
				b = next
			}
		})
	}
}

func TestNewLeakyBucket(t *testing.T) {
	for _, c := range []struct {
		rate         Rate
		burst, delay int64
		want         int64 // thousandths a second; 0 is an error
	}{
		{Per(10, time.Second), 0, 0, 10_000}, {Per(10, time.Minute), 5, 5, 166}, {Per(1, time.Minute), 0, 0, 16},
		{Per(1, time.Hour), 0, 0, 0}, {Rate{}, 0, 0, 0}, {Per(0, time.Second), 0, 0, 0}, {Per(-1, time.Second), 0, 0, 0},
		{Per(1, time.Second), -1, 0, 0}, {Per(1, time.Second), 1, 2, 0}, {Per(1, time.Second), 1, -1, 0},
		{Per(math.MaxInt64, 1), 0, 0, 0}, {Per(1, time.Second), math.MaxInt64, 0, 0},
	} {
		l, err := NewLeakyBucket(c.rate, c.burst, c.delay)
		if l.rate != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s burst %d delay %d: rate %d, %v, want %d", c.rate, c.burst, c.delay, l.rate, err, c.want)
		}
	}
}

func TestLeakyBucketGiveAndCharge(t *testing.T) {
	l, err := NewLeakyBucket(Per(10, time.Second), 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := l.Take(Leaky{}, int64(time.Hour), 4)
	for _, c := range []struct {
		change string
		b      Leaky
		want   int64
	}{
		{"what was taken comes back", l.Give(b, 3, b.Level), 1000},
		{"never above full", l.Give(b, math.MaxInt64, math.MaxInt64), 0},
		{"what has leaked does not come back", l.Give(b, 3, 500), 3500},
		{"a negative refund charges nothing", l.Give(b, -3, b.Level), 4000},
		{"a charge adds", l.Charge(b, int64(time.Hour), 1), 5000},
		{"up to eleven full buckets", l.Charge(b, int64(time.Hour), math.MaxInt64), 66000},
		{"of what is left then", l.Charge(b, int64(time.Hour+time.Second), 2), 2000},
		{"a negative charge gives nothing", l.Charge(b, int64(time.Hour), math.MinInt64), 4000},
	} {
		if c.b.Level != c.want {
			t.Errorf("%s: level %d, want %d", c.change, c.b.Level, c.want)
		}
	}
	if got := fmt.Sprint(l.Spent(Leaky{}), l.Spent(Leaky{Level: 1}), l.Spent(b)); got != "0 1 4" {
		t.Errorf("spent: %s", got)
	}
}

func FuzzLeakyBucket(f *testing.F) {
	f.Add(int64(10), int64(time.Second), int64(5), int64(1), int64(time.Hour), int64(2000), int64(3600))
	f.Add(int64(math.MaxInt32), int64(1), int64(math.MaxInt32), int64(math.MaxInt64), int64(math.MaxInt64), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, count, period, burst, cost, now, level, last int64) {
		l, err := NewLeakyBucket(Per(count, time.Duration(period)), burst, burst)
		if err != nil || level < 0 || level > l.burst+request || last < 0 || last > math.MaxInt64/int64(time.Millisecond) {
			return
		}
		b := Leaky{level, last}
		after, r := l.Take(b, now, cost)
		if r.OK && (cost < 0 || after.Level > l.burst+request) || !r.OK && after != b {
			t.Fatalf("take %d of %+v: %+v, %+v", cost, b, after, r)
		}
		if r.Remaining < 0 || r.Remaining > burst+1 || r.RetryAfter < Never || r.ResetAfter < 0 || l.Delay(after) < 0 {
			t.Fatalf("take %d of %+v: %+v", cost, b, r)
		}
		if c := l.Charge(b, now, cost); c.Level < 0 || c.Level > deep(l.burst+request) {
			t.Fatalf("charge of %d: %+v", cost, c)
		}
	})
}
