package workershed

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

func TestExpectedWait(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name          string
		need, running int
		service, gap  time.Duration
		want          time.Duration
	}{
		{"a worker in full swing", 10, 40, 10 * ms, 250 * time.Microsecond, 2500 * time.Microsecond},
		{"a burst after a quiet hour", 1, 40, 10 * ms, time.Hour, 250 * time.Microsecond},
		{"everything hangs, as is known by now", 1, 0, 10 * ms, time.Hour, time.Hour},
		{"more hangs than runs", 1, -3, 10 * ms, 2 * time.Second, 2 * time.Second},
		{"nothing is known", 100, 40, 0, 0, 0},
		{"no overflow", math.MaxInt32, 1, math.MaxInt64, math.MaxInt64, 1_000_000 * time.Hour},
	} {
		if got := expectedWait(c.need, c.running, c.service, c.gap); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// rig is a pace with its meter, by the clock of the test.
type rig struct {
	meter   meter
	outlook outlook
	pace    pace
	now     int64
	held    []int64 // when those began that run
}

func newRig() *rig {
	r := &rig{now: 1e18}
	r.pace.outlook = &r.outlook
	r.meter.read(r.now, 0)
	return r
}

// window ends some requests that took that long, and lets a tenth of a second
// pass.
func (r *rig) window(n int, took time.Duration, good bool) {
	for range n {
		r.meter.took(r.now)
		r.meter.ended(r.now, r.now+int64(took), pipeline.Completed)
	}
	r.now += int64(100 * time.Millisecond)
	reading, _ := r.meter.read(r.now, len(r.held))
	r.pace.learn(&reading, &r.meter, r.now, good)
}

func (r *rig) hang(n int) {
	for range n {
		r.held = append(r.held, r.now)
		r.meter.took(r.now)
	}
}

// All handlers hang at once: nothing ends any more, so nothing is measured,
// and a worker that learnt from ends alone would think itself as quick as
// before.
func TestHungHandlersAreSeen(t *testing.T) {
	r := newRig()
	for range 20 {
		r.window(200, 10*time.Millisecond, true)
	}
	if wait := r.outlook.wait(10, 20); wait > 10*time.Millisecond {
		t.Fatalf("ten places on a quick worker take %v", wait)
	}
	r.hang(20)
	for range 20 {
		r.window(0, 0, false)
	}
	if hung, wait := r.outlook.hung.Load(), r.outlook.wait(1, 20); hung != 20 || wait < 20*time.Millisecond {
		t.Errorf("2s after all hang: %d are known to, and a place takes %v", hung, wait)
	}
	for i := range r.held {
		r.meter.ended(r.held[i], r.now, pipeline.Dropped)
	}
	r.held = nil
	for range 20 {
		r.window(200, 10*time.Millisecond, true)
	}
	if hung, wait := r.outlook.hung.Load(), r.outlook.wait(10, 20); hung != 0 || wait > 10*time.Millisecond {
		t.Errorf("2s after it is over: %d hang, and ten places take %v", hung, wait)
	}
}

// A few requests that take long by nature do not make the quick ones wait.
func TestLongRequestsDoNotSlowTheOutlook(t *testing.T) {
	r := newRig()
	r.hang(30)
	for range 100 {
		r.window(100, 10*time.Millisecond, true)
	}
	if wait := r.outlook.wait(1, 40); wait > 5*time.Millisecond {
		t.Errorf("a place beside 30 long requests takes %v", wait)
	}
	if hung := r.outlook.hung.Load(); hung != 30 {
		t.Errorf("%d of 30 long requests are seen", hung)
	}
}

// What is slow in an incident does not become what is usual.
func TestAnIncidentIsNotLearntAsUsual(t *testing.T) {
	r := newRig()
	for range 50 {
		r.window(100, 10*time.Millisecond, true)
	}
	usual := r.pace.p99
	for range 600 {
		r.window(10, 10*time.Second, false)
	}
	if r.pace.p99 != usual {
		t.Errorf("the usual p99 went from %v to %v in an incident", usual, r.pace.p99)
	}
	for range 600 {
		r.window(100, 50*time.Millisecond, true)
	}
	if r.pace.p99 < 40*time.Millisecond {
		t.Errorf("the usual p99 is %v after a minute of 50ms in good times", r.pace.p99)
	}
}
