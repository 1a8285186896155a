//go:build !race

package insight

import (
	"fmt"
	"testing"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Nothing allocates on the path of requests, whoever they are from.
func TestNothingAllocates(t *testing.T) {
	n := newNight(t, pipeline.Enforce)
	requests := make([]*pipeline.Request, 2000)
	for i := range requests {
		requests[i] = of(fmt.Sprint("caller", i), priority.Normal)
		if i%2 == 0 {
			requests[i] = of("greedy", priority.Normal)
		}
		n.request(t.Context(), requests[i], 0)
	}
	i := 0
	if allocs := testing.AllocsPerRun(1000, func() {
		q := requests[i]
		i++
		q.Now = n.at
		if d := n.pipeline.Acquire(t.Context(), q); d.Verdict == pipeline.Admit {
			n.pipeline.Release(q, pipeline.Result{At: n.at})
		}
	}); allocs != 0 {
		t.Errorf("%v allocations a request", allocs)
	}
}
