package pipeline

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Whoever looks at a request, at whatever moment, does not keep it from its end.
func TestAnEndIsNotLostToWhoLooks(t *testing.T) {
	var a admission
	var group sync.WaitGroup
	var looks atomic.Int64
	done := make(chan struct{})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if state, inFlight := a.show(); inFlight {
					a.state.Store(state)
					looks.Add(1)
				}
			}
		})
	}
	for i := 0; looks.Load() < 200_000; i++ {
		a.state.Store(held)
		if !a.end(held) || a.state.Load() != free {
			t.Errorf("round %d: the end was lost", i)
			break
		}
	}
	close(done)
	group.Wait()
}
