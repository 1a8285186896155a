package load

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// instant answers at once.
func instant(context.Context, Arrival) Answer { return Answer{} }

func TestEveryArrivalIsSentAtItsPlannedMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		sent := 0
		g := generator(t, Config{Plan: steps(50), Do: func(_ context.Context, a Arrival) Answer {
			mu.Lock()
			defer mu.Unlock()
			sent++
			if at := time.Since(start); at != a.At {
				t.Errorf("arrival %d was sent at %v, planned at %v", a.Number, at, a.At)
			}
			if got := a.Due.Sub(start); got != a.At+DefaultDeadline {
				t.Errorf("arrival %d is due at %v", a.Number, got)
			}
			return Answer{}
		}})
		run(t, g)
		all := total(g)
		if all.Offered != sent || all.Good != sent || all.Settled() != sent {
			t.Errorf("sent %d, counted %+v", sent, all)
		}
		if took := time.Since(start); took != g.plan.Length() {
			t.Errorf("the run took %v, planned are %v", took, g.plan.Length())
		}
	})
}

func TestEachEndIsCountedInOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := Refusal{Stage: "workershed", Reason: "worker-shed"}
		g := generator(t, Config{Plan: steps(100), Do: func(ctx context.Context, a Arrival) Answer {
			switch a.Number % 5 {
			case 0:
				return Answer{Outcome: Refused, Refusal: refusal}
			case 1:
				return Answer{Outcome: Failed}
			case 2:
				<-ctx.Done()
				return Answer{Outcome: GaveUp}
			case 3:
				time.Sleep(DefaultDeadline + time.Millisecond) // a service that answers late after all
			}
			return Answer{}
		}})
		run(t, g)
		all := total(g)
		n := all.Offered
		if n < 2000 || all.Settled() != n {
			t.Fatalf("%d offered, %d settled", n, all.Settled())
		}
		if all.RefusedBy("workershed") != (n+4)/5 || all.Failed != (n+3)/5 || all.Late != (n+2)/5+(n+1)/5 || all.Good != n/5 {
			t.Errorf("of %d: refused %v, failed %d, late %d, good %d", n, all.Refused, all.Failed, all.Late, all.Good)
		}
		if all.Latency.Count() != all.Good {
			t.Errorf("%d latencies of %d good", all.Latency.Count(), all.Good)
		}
	})
}

// A queue in front of the service is latency, although each call is quick once
// it has its turn.
func TestLatencyCountsFromThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		open := make(chan struct{})
		time.AfterFunc(200*time.Millisecond, func() { close(open) })
		g := generator(t, Config{
			Plan: Plan{Base: 1000, Deadline: time.Second, Phases: []Phase{{Multiple: 1, Duration: 100 * time.Millisecond}}},
			Do:   func(context.Context, Arrival) Answer { <-open; return Answer{} },
		})
		run(t, g)
		all := total(g)
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("the run took %v: it must wait for the last answer", took)
		}
		if low, high := all.Latency.Quantile(0), all.Latency.Quantile(1); low < 100*time.Millisecond || high < 190*time.Millisecond || high > 207*time.Millisecond {
			t.Errorf("latencies from %v to %v, want 100ms to 200ms", low, high)
		}
	})
}

func TestArrivalsBeyondTheBoundAreUnsentAndNotGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, Config{
			Outstanding: 10,
			Plan:        Plan{Base: 1000, Phases: []Phase{{Multiple: 1, Duration: DefaultDeadline / 2}}},
			Do: func(ctx context.Context, _ Arrival) Answer {
				<-ctx.Done()
				return Answer{Outcome: GaveUp}
			},
		})
		run(t, g)
		if all := total(g); all.Late != 10 || all.Unsent != all.Offered-10 || all.Unsent < 50 {
			t.Errorf("offered %d, late %d, unsent %d", all.Offered, all.Late, all.Unsent)
		}
	})
}

// A generator that stood still reports it, and does not send what nobody
// waits for any more.
func TestAStalledGeneratorSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, Config{
			Plan: Plan{Base: 100, Phases: []Phase{{Multiple: 1, Duration: 10 * time.Second}}},
			Do:   instant,
		})
		g.start = time.Now().Add(-DefaultDeadline)
		var group sync.WaitGroup
		for _, late := range []time.Duration{DefaultDeadline, 100 * time.Millisecond, 0} {
			g.send(t.Context(), &group, 0, Arrival{At: DefaultDeadline - late})
		}
		group.Wait()
		all := total(g)
		if all.Offered != 3 || all.Unsent != 1 || all.Good != 2 {
			t.Errorf("offered %d, unsent %d, good %d", all.Offered, all.Unsent, all.Good)
		}
		if took := all.Latency.Quantile(1); took < 100*time.Millisecond {
			t.Errorf("an answer 100ms after its plan took %v", took)
		}
		if late := g.Report().Lateness(1); late < DefaultDeadline {
			t.Errorf("lateness is %v, want %v", late, DefaultDeadline)
		}
	})
}

func TestARunThatIsBrokenOffBlamesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := generator(t, Config{Plan: steps(100), Do: func(ctx context.Context, _ Arrival) Answer {
			<-ctx.Done()
			return Answer{Outcome: GaveUp}
		}})
		time.AfterFunc(DefaultDeadline/2, cancel)
		if err := g.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if all := total(g); all.Offered == 0 || all.Settled() != 0 {
			t.Errorf("%d offered, %d settled", all.Offered, all.Settled())
		}
		if n := g.Outstanding(); n != 0 {
			t.Errorf("%d are outstanding after Run", n)
		}
	})
}

func TestAGeneratorRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, Config{Plan: steps(1), Do: instant})
		run(t, g)
		if g.Run(t.Context()) == nil {
			t.Error("it ran twice")
		}
	})
}

func generator(t *testing.T, c Config) *Generator {
	t.Helper()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func run(t *testing.T, g *Generator) {
	t.Helper()
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func total(g *Generator) Cell {
	cells := g.Report().Between(0, len(g.Report().Seconds()))
	return cells.All()
}
