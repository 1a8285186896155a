package workershed

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

func TestQuantileIsOfTheDifference(t *testing.T) {
	edges := []float64{0, 0.001, 0.005, 0.010, 0.050, math.Inf(1)}
	for _, c := range []struct {
		name          string
		before, after []uint64
		want          time.Duration
	}{
		{"nothing happened", []uint64{5, 5, 5, 5, 5}, []uint64{5, 5, 5, 5, 5}, 0},
		{"an old incident does not count", []uint64{0, 0, 0, 9000, 0}, []uint64{10, 0, 0, 9000, 0}, time.Millisecond},
		{"old good times do not count", []uint64{9000, 0, 0, 0, 0}, []uint64{9000, 0, 0, 10, 0}, 50 * time.Millisecond},
		{"nine of ten", []uint64{0, 0, 0, 0, 0}, []uint64{9, 0, 0, 1, 0}, time.Millisecond},
		{"not nine of ten", []uint64{0, 0, 0, 0, 0}, []uint64{8, 0, 0, 2, 0}, 50 * time.Millisecond},
		{"all in one", []uint64{1, 1, 1, 1, 1}, []uint64{1, 1, 8, 1, 1}, 10 * time.Millisecond},
		{"no upper edge", []uint64{0, 0, 0, 0, 0}, []uint64{0, 0, 0, 0, 3}, 50 * time.Millisecond},
		{"one", []uint64{0, 0, 0, 0, 0}, []uint64{0, 1, 0, 0, 0}, 5 * time.Millisecond},
	} {
		got := quantileSince(0.9, c.before, &metrics.Float64Histogram{Counts: c.after, Buckets: edges})
		if got != c.want {
			t.Errorf("%s: p90 is %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRunQueueReadsTheRuntime(t *testing.T) {
	q := newRunQueue()
	if got := q.read().delay; got != 0 {
		t.Errorf("the first reading has nothing to compare with, and says %v", got)
	}
	sum := func() (n uint64) {
		for _, count := range q.before {
			n += count
		}
		return n
	}
	before := sum()
	woken := make(chan struct{})
	for range 1000 {
		go func() { woken <- struct{}{} }()
		<-woken
	}
	if got := q.read().delay; got <= 0 || got > time.Minute {
		t.Errorf("after a thousand wake-ups the p90 is %v", got)
	}
	if sum() == before { // the runtime counts some of the wake-ups, not all
		t.Error("the next reading will count the same again")
	}
	if n := testing.AllocsPerRun(50, func() { q.read() }); n != 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func TestRunQueueCountsWhoIsReady(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nobody else runs while this goroutine does
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {})
	}
	if n := newRunQueue().read().runnable; n < 50 {
		t.Errorf("%d of 100 goroutines are ready", n)
	}
	group.Wait()
}

// A runtime that does not know the metric must not be taken for one in trouble.
func TestRunQueueWithoutTheMetric(t *testing.T) {
	q := newRunQueue()
	q.sample[0].Name, q.sample[1].Name = "/no/such:metric", "/nor/such:one"
	for range 3 {
		if got := q.read(); got != (backlog{}) {
			t.Errorf("the backlog of nothing is %+v", got)
		}
	}
}
