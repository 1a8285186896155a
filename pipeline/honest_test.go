package pipeline_test

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// The same trace, with all entries in shadow or all enforced, would refuse the
// same requests: limits on rate and on slots per caller, and a cap of the
// worker's own.
func TestShadowForetellsEnforcement(t *testing.T) {
	enforced, shadow := refusals(t, pipeline.Enforce), refusals(t, pipeline.Shadow)
	refused, differ := 0, 0
	for i := range enforced {
		if enforced[i] != pipeline.None {
			refused++
		}
		if enforced[i] != shadow[i] {
			differ++
		}
	}
	if differ != 0 {
		t.Errorf("%d of %d requests would be judged otherwise", differ, len(enforced))
	}
	if refused < len(enforced)/10 || refused > len(enforced)*9/10 {
		t.Errorf("%d of %d requests were refused: the trace shows nothing", refused, len(enforced))
	}
}

// running is a request and when it ends.
type running struct {
	r   *pipeline.Request
	end int64
}

type byEnd []running

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].end < h[j].end }
func (h byEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byEnd) Push(x any)        { *h = append(*h, x.(running)) }
func (h *byEnd) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// capped is a taker with room for a few, as plain as can be.
type capped struct {
	looker
	room int
}

func (s *capped) Take(context.Context, *pipeline.Request) pipeline.Decision {
	if s.room == 0 {
		return pipeline.Refuse(pipeline.WorkerShed)
	}
	s.room--
	return pipeline.Decision{}
}

func (s *capped) Release(*pipeline.Request, pipeline.Permit, pipeline.Result) { s.room++ }

// refusals plays a fixed trace of 40,000 arrivals, and notes for what reason
// each is, or would be, refused.
func refusals(t *testing.T, mode pipeline.Mode) []pipeline.Reason {
	t.Helper()
	rate, err := store.NewTokens("rate", store.TokenBucket, limit.Per(150, time.Second), 20)
	if err != nil {
		t.Fatal(err)
	}
	held, err := store.NewSlots("slots", 3, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	callerClaims := func(l *store.Limit) func(*pipeline.Request) []store.Claim {
		return func(r *pipeline.Request) []store.Claim {
			return []store.Claim{{Owner: r.Caller.ID, Limit: l, Cost: 1}}
		}
	}
	mem, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	note := &lastReason{}
	p := build(t, mem, note,
		pipeline.Entry{Name: "rate", Mode: mode, Stage: &sharer{looker{}, callerClaims(rate)}},
		pipeline.Entry{Name: "slots", Mode: mode, Stage: &sharer{looker{}, callerClaims(held)}},
		pipeline.Entry{Name: "cap", Mode: mode, Stage: &capped{room: 8}},
	)
	random := rand.New(rand.NewPCG(1, 2))
	var flying byEnd
	now := int64(time.Hour)
	reasons := make([]pipeline.Reason, 40_000)
	for i := range reasons {
		now += int64(random.ExpFloat64() * float64(time.Millisecond))
		for len(flying) > 0 && flying[0].end <= now {
			done := heap.Pop(&flying).(running)
			p.Release(done.r, pipeline.Result{At: done.end})
		}
		duration := int64(random.ExpFloat64() * float64(10*time.Millisecond))
		r := &pipeline.Request{Now: now, Caller: pipeline.Caller{ID: store.KeyOf(string(rune('a' + random.IntN(8))))}}
		note.reason = pipeline.None
		if d := p.Acquire(t.Context(), r); d.Verdict == pipeline.Admit {
			heap.Push(&flying, running{r, now + duration})
		} else {
			note.reason = d.Reason
		}
		reasons[i] = note.reason
	}
	return reasons
}

// lastReason notes why the last request would be refused.
type lastReason struct {
	record
	reason pipeline.Reason
}

func (o *lastReason) Decided(*pipeline.Request, pipeline.Decision)      {}
func (o *lastReason) Released(*pipeline.Request, pipeline.Result)       {}
func (o *lastReason) Shadowed(_ *pipeline.Request, d pipeline.Decision) { o.reason = d.Reason }
