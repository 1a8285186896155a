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

// Within a second the outlook is that of a worker that has become ten times
// slower, and one window without an end is not taken for that.
func TestThePaceIsOfTheLastMoments(t *testing.T) {
	r := newRig()
	for range 50 {
		r.window(200, 10*time.Millisecond, true)
	}
	usual := r.outlook.gap.Load()
	if r.window(0, 0, true); r.outlook.gap.Load() > 3*usual/2 {
		t.Errorf("after one window without an end the gap went from %v to %v", time.Duration(usual), time.Duration(r.outlook.gap.Load()))
	}
	for range 10 {
		r.window(20, 100*time.Millisecond, true)
	}
	if gap, service := time.Duration(r.outlook.gap.Load()), time.Duration(r.outlook.service.Load()); gap < 2*time.Millisecond || service < 40*time.Millisecond {
		t.Errorf("a second after it was ten times slower: an end in %v, want 5ms; a request takes %v, want 100ms", gap, service)
	}
}

// Work that comes every five seconds is usual, and what was slow an hour ago is
// not.
func TestTheUsualIsOfTheLastMinutes(t *testing.T) {
	r := newRig()
	for range 20 {
		for range 49 {
			r.window(100, 10*time.Millisecond, true)
		}
		if r.pace.p99 != 0 && r.now > 1e18+int64(20*time.Second) && r.pace.p99 < 250*time.Millisecond {
			t.Fatalf("the usual p99 is %v, beside a hundred requests of 300ms every five seconds", r.pace.p99)
		}
		r.window(100, 300*time.Millisecond, true)
	}
	for range 600 {
		r.window(100, 300*time.Millisecond, true)
	}
	for range 3000 {
		r.window(100, 10*time.Millisecond, true)
	}
	if r.pace.p99 > 20*time.Millisecond {
		t.Errorf("five minutes after a minute of slow requests the usual p99 is %v", r.pace.p99)
	}
}

// On a worker whose requests take 10 ms, one that has taken half a second is
// slow, and does not hang: its place is about to come free. After two seconds
// it hangs.
func TestWhatIsSlowDoesNotHangYet(t *testing.T) {
	r := newRig()
	for range 50 {
		r.window(200, 10*time.Millisecond, true)
	}
	r.hang(20)
	for range 5 {
		r.window(0, 0, false)
	}
	if hung := r.outlook.hung.Load(); hung != 0 {
		t.Errorf("after half a second %d hang", hung)
	}
	for range 15 {
		r.window(0, 0, false)
	}
	if hung := r.outlook.hung.Load(); hung != 20 {
		t.Errorf("after two seconds %d of 20 hang", hung)
	}
}
