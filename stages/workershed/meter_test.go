package workershed

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// The busy time that the meter finds by additions is the one that is found by
// looking at every request.
func TestMeterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type span struct{ began, ended int64 }
		const base, length = int64(1e18), int64(100 * time.Millisecond)
		var m meter
		m.read(base, 0)
		var spans []span
		inFlight := 0
		now := base
		for range 5 {
			var running []int64
			for _, s := range spans {
				if s.ended == 0 {
					running = append(running, s.began)
				}
			}
			start, end := now, now+length
			at := func(name string) int64 { return rapid.Int64Range(start, end).Draw(t, name) }
			for range rapid.IntRange(0, 6).Draw(t, "begin") {
				spans = append(spans, span{began: at("began")})
				m.took(spans[len(spans)-1].began)
				inFlight++
			}
			for i := range spans {
				if s := &spans[i]; s.ended == 0 && rapid.Bool().Draw(t, "ends") {
					s.ended = max(at("ended"), s.began)
					m.ended(s.began, s.ended, pipeline.Completed)
					inFlight--
				}
			}
			now = end
			r, ok := m.read(now, inFlight)
			want := int64(0)
			for _, s := range spans {
				to := end
				if s.ended != 0 {
					to = s.ended
				}
				want += max(0, to-max(s.began, start))
			}
			if exact := float64(want) / float64(length); !ok || math.Abs(r.busy-exact) > 1e-6 {
				t.Fatalf("busy %v, want %v (%d running before)", r.busy, exact, len(running))
			}
		}
	})
}

func TestMeterTellsOutcomesApart(t *testing.T) {
	var m meter
	if _, ok := m.read(1e9, 0); ok {
		t.Error("the first reading has no start, and says that it has")
	}
	for outcome := pipeline.Completed; outcome <= pipeline.NotRun; outcome++ {
		m.took(1e9)
		m.ended(1e9, 1e9+int64(time.Millisecond), outcome)
	}
	r, ok := m.read(2e9, 0)
	if !ok || r.ended != 4 || r.dropped != 1 || r.service.total != 2 || r.length != time.Second {
		t.Errorf("%v: ended %d, dropped %d, samples %d, in %v; want 4, 1, 2, 1s", ok, r.ended, r.dropped, r.service.total, r.length)
	}
	if r, _ := m.read(3e9, 0); r.ended != 0 || r.busy != 0 {
		t.Errorf("the next window has %d ends and is %v busy", r.ended, r.busy)
	}
}

func TestMeterKnowsWhatIsOld(t *testing.T) {
	var m meter
	now := int64(1e18)
	for i, age := range []time.Duration{0, 900 * time.Millisecond, 3 * time.Second, 12 * time.Second, 30 * time.Second} {
		for range i + 1 {
			m.took(now - int64(age))
		}
	}
	for age, want := range map[time.Duration]int{time.Second: 3 + 4 + 5, 5 * time.Second: 4 + 5, 14 * time.Second: 5, time.Hour: 0} {
		if got := m.olderThan(age, now); got != want {
			t.Errorf("older than %v: %d, want %d", age, got, want)
		}
	}
	m.ended(now-int64(12*time.Second), now, pipeline.Completed)
	if got := m.olderThan(5*time.Second, now); got != 8 {
		t.Errorf("older than 5s after one ended: %d, want 8", got)
	}
}

func TestHistogramIsRightToSixPercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64Range(1<<firstPower, int64(15*time.Minute)).Draw(t, "duration")
		if off := middle(bucketOf(d))/float64(d) - 1; math.Abs(off) > 0.0626 {
			t.Fatalf("%v is counted as %v", time.Duration(d), time.Duration(middle(bucketOf(d))))
		}
		if d > 1<<firstPower && bucketOf(d-1) > bucketOf(d) {
			t.Fatalf("buckets fall at %d", d)
		}
	})
	for d, want := range map[int64]int{math.MinInt64: 0, -1: 0, 0: 0, 1: 0, math.MaxInt64: buckets - 1} {
		if got := bucketOf(d); got != want {
			t.Errorf("bucket of %d is %d, want %d", d, got, want)
		}
	}
}

func TestFadingForgets(t *testing.T) {
	var f fading
	if f.quantile(0.99) != 0 {
		t.Error("a quantile of nothing")
	}
	add := func(d time.Duration, times int) {
		var h histogram
		var c counts
		for range times {
			h.add(int64(d))
		}
		h.drain(&c)
		f.fade(0.9, &c)
	}
	add(10*time.Millisecond, 80)
	add(time.Second, 20)
	near := func(got, want time.Duration) bool { return math.Abs(float64(got)/float64(want)-1) < 0.07 }
	if !near(f.quantile(0.5), 10*time.Millisecond) || !near(f.quantile(0.99), time.Second) {
		t.Errorf("p50 %v, p99 %v; want about 10ms, 1s", f.quantile(0.5), f.quantile(0.99))
	}
	for range 50 {
		add(10*time.Millisecond, 10)
	}
	if !near(f.quantile(0.99), 10*time.Millisecond) {
		t.Errorf("p99 is %v long after, want about 10ms", f.quantile(0.99))
	}
}
