package demo

import (
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/config"
)

func TestABusierMachineIsGoneEasierOn(t *testing.T) {
	for _, c := range []struct {
		free, multiple float64
		want           pace
	}{
		{2, 3, 1}, {64, 10, 1}, {1.2, 3, 1}, {1.1, 3, 2}, {0.5, 3, 4}, {0.2, 3, 8}, {0, 3, 8}, {2, 10, 2}, {2, 1, 1},
	} {
		if got := paceFor(c.free, c.multiple); got != c.want {
			t.Errorf("with %v processors free and %v times the capacity, the pace is %d, want %d", c.free, c.multiple, got, c.want)
		}
	}
}

func TestAProcessGetsSomeProcessor(t *testing.T) {
	if free := freeProcessors(20 * time.Millisecond); free <= 0 {
		t.Errorf("%v processors are free", free)
	}
}

// Everything is stretched alike, so that what happens is the same.
func TestAPaceStretchesTimesAndRatesAlike(t *testing.T) {
	at := func(p pace) (*config.File, *backend) {
		t.Helper()
		f, err := config.Parse("demo.yaml", protection)
		if err != nil {
			t.Fatal(err)
		}
		inFrontOf("http://127.0.0.1:9", p)(f)
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		b, err := newBackend(p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.close)
		return f, b
	}
	f1, b1 := at(usual)
	for p := 2 * usual; p <= slowest; p *= 2 {
		f, b := at(p)
		rate, usually := f.Stages[0].RateLimit.Limits[0], f1.Stages[0].RateLimit.Limits[0]
		wait, waitUsually := f.Stages[3].WorkerShed.MaxWait, f1.Stages[3].WorkerShed.MaxWait
		for what, ratio := range map[string]float64{
			"capacity":     b1.Capacity() / b.Capacity(),
			"query":        b.Query().Seconds() / b1.Query().Seconds(),
			"deadline":     p.deadline().Seconds() / usual.deadline().Seconds(),
			"period":       rate.Rate.Period.Seconds() / usually.Rate.Period.Seconds(),
			"longest wait": wait.Seconds() / waitUsually.Seconds(),
		} {
			if ratio != float64(p) {
				t.Errorf("at pace %d, the %s changes by %v", p, what, ratio)
			}
		}
		if want := usually.Burst / int64(p); rate.Burst != want {
			t.Errorf("at pace %d, the burst is %d, want %d", p, rate.Burst, want)
		}
	}
}

func TestASlowerPaceIsSaid(t *testing.T) {
	for p, lines := range map[pace]int{usual: 3, 4: 4} {
		b, err := newBackend(p)
		if err != nil {
			t.Fatal(err)
		}
		s := &show{config: Config{pace: p}, service: b.Service}
		if got := s.heading(); len(got) != lines {
			t.Errorf("at pace %d the heading is %q", p, got)
		}
		b.close()
	}
}
