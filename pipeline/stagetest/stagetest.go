// Package stagetest checks that a stage keeps the contract of package
// pipeline. Run it in the tests of any stage, yours too.
package stagetest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// Subject is a stage to be checked.
type Subject struct {
	// Stage is fresh: nothing is held in it.
	Stage pipeline.Stage
	// Request returns a request that the stage is about, Normal unless the
	// rule asks for another class.
	Request func() *pipeline.Request
	// Room bounds how many takes can succeed at once, above 0 for a Taker that
	// has a bound. Default 10,000.
	Room int
}

// Run checks a stage against each rule of the contract. open is called for
// each rule, and makes a fresh stage.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Log("the rule: " + c.rule)
			c.check(t, subject(t, open))
		})
	}
	t.Run("nothing waits when told not to", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { checkNoWait(t, subject(t, open)) })
	})
}

func subject(t *testing.T, open func(t *testing.T) Subject) Subject {
	t.Helper()
	s := open(t)
	if s.Room == 0 {
		s.Room = 10_000
	}
	return s
}

var cases = []struct {
	name, rule string
	check      func(*testing.T, Subject)
}{
	{"a look holds nothing", "Look holds nothing: any number of looks changes no later answer", checkLookHoldsNothing},
	{"a look allocates nothing", "Look is on the path of every request and does not allocate", checkLookAllocations},
	{"a refusal has a reason", "a decision that rejects gives a reason of the closed set", checkReasons},
	{"claims are complete", "Claims appends to what stands there; each claim has an owner, a limit and a cost above 0", checkClaims},
	{"takes and releases balance", "each Take that admits is undone by one Release", checkBalance},
	{"take allocates nothing", "Take and Release without a wait do not allocate", checkTakeAllocations},
	{"more critical is admitted first", "in one state, if a class is admitted so is every more critical one", checkPriority},
	{"a client that left holds nothing", "Take with an ended context holds nothing unless it admits", checkLeft},
	{"concurrent use", "all methods may be called concurrently", checkConcurrency},
}

// classed is a request of a class.
func (s *Subject) classed(c priority.Class) *pipeline.Request {
	r := s.Request()
	r.Class = c
	return r
}

// admits asks the stage for one request as the pipeline would in shadow, and
// gives back at once what it took.
func (s *Subject) admits(r *pipeline.Request) bool {
	d := s.Stage.Look(r)
	if d.Verdict != pipeline.Admit {
		return false
	}
	taker, ok := s.Stage.(pipeline.Taker)
	if !ok {
		return true
	}
	r.NoWait = true
	d = taker.Take(context.Background(), r)
	if d.Verdict == pipeline.Admit {
		taker.Release(r, d.Permit, pipeline.Result{Outcome: pipeline.NotRun})
	}
	return d.Verdict == pipeline.Admit
}

// fill takes until the stage refuses, without waiting, and returns how to give
// it all back.
func (s *Subject) fill(t *testing.T, class priority.Class) (n int, empty func()) {
	taker := s.Stage.(pipeline.Taker)
	type held struct {
		r *pipeline.Request
		p pipeline.Permit
	}
	var taken []held
	for len(taken) < s.Room {
		r := s.classed(class)
		r.NoWait = true
		d := taker.Take(t.Context(), r)
		if d.Verdict != pipeline.Admit {
			break
		}
		taken = append(taken, held{r, d.Permit})
	}
	return len(taken), func() {
		for _, h := range taken {
			taker.Release(h.r, h.p, pipeline.Result{Outcome: pipeline.Completed})
		}
	}
}

func checkLookHoldsNothing(t *testing.T, s Subject) {
	before := s.admits(s.Request())
	for range 10_000 {
		s.Stage.Look(s.Request())
	}
	if after := s.admits(s.Request()); after != before {
		t.Errorf("admits %v before ten thousand looks and %v after", before, after)
	}
}

func checkLookAllocations(t *testing.T, s Subject) {
	r := s.Request()
	if n := testing.AllocsPerRun(100, func() { s.Stage.Look(r) }); n != 0 {
		t.Errorf("allocates %v times a look", n)
	}
}

func checkReasons(t *testing.T, s Subject) {
	check := func(d pipeline.Decision) {
		if d.Verdict == pipeline.Reject && (d.Reason == pipeline.None || d.Reason >= pipeline.Reasons) {
			t.Errorf("rejects for reason %d", d.Reason)
		}
		if d.Verdict == pipeline.Admit && d.Reason != pipeline.None {
			t.Errorf("admits for reason %s", d.Reason)
		}
	}
	check(s.Stage.Look(s.Request()))
	taker, ok := s.Stage.(pipeline.Taker)
	if !ok {
		return
	}
	_, empty := s.fill(t, priority.Low)
	defer empty()
	r := s.Request()
	r.NoWait = true
	d := taker.Take(t.Context(), r)
	check(d)
	check(s.Stage.Look(s.Request()))
	if d.Verdict == pipeline.Admit {
		taker.Release(r, d.Permit, pipeline.Result{})
	}
}

func checkClaims(t *testing.T, s Subject) {
	sharer, ok := s.Stage.(pipeline.Sharer)
	if !ok {
		return
	}
	mark := store.Claim{Cost: 42}
	claims := sharer.Claims(s.Request(), append(make([]store.Claim, 0, 64), mark))
	if len(claims) == 0 || claims[0] != mark {
		t.Fatal("what stood in the slice is gone")
	}
	for _, c := range claims[1:] {
		if c.Owner.IsZero() || c.Limit == nil || c.Cost <= 0 {
			t.Errorf("claims %+v", c)
		}
	}
	r, scratch := s.Request(), make([]store.Claim, 0, 64)
	if n := testing.AllocsPerRun(100, func() { sharer.Claims(r, scratch) }); n != 0 {
		t.Errorf("allocates %v times", n)
	}
}

func checkBalance(t *testing.T, s Subject) {
	if _, ok := s.Stage.(pipeline.Taker); !ok {
		return
	}
	first, empty := s.fill(t, priority.Critical)
	empty()
	again, empty := s.fill(t, priority.Critical)
	empty()
	if first != again || first == 0 {
		t.Errorf("took %d times, and %d times after all was released", first, again)
	}
}

func checkTakeAllocations(t *testing.T, s Subject) {
	taker, ok := s.Stage.(pipeline.Taker)
	if !ok {
		return
	}
	r, ctx := s.classed(priority.Critical), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if d := taker.Take(ctx, r); d.Verdict == pipeline.Admit {
			taker.Release(r, d.Permit, pipeline.Result{})
		}
	}); n != 0 {
		t.Errorf("allocates %v times a take and release", n)
	}
}

func checkPriority(t *testing.T, s Subject) {
	taker, ok := s.Stage.(pipeline.Taker)
	for n := 0; ; n++ {
		for i := 1; i < len(priority.All); i++ {
			lower, higher := priority.All[i-1], priority.All[i]
			if s.admits(s.classed(lower)) && !s.admits(s.classed(higher)) {
				t.Fatalf("with %d held, %s is admitted and %s is not", n, lower, higher)
			}
		}
		if !ok || n >= s.Room {
			return
		}
		r := s.classed(priority.Critical)
		r.NoWait = true
		d := taker.Take(t.Context(), r)
		if d.Verdict != pipeline.Admit {
			return
		}
		defer taker.Release(r, d.Permit, pipeline.Result{})
	}
}

func checkLeft(t *testing.T, s Subject) {
	taker, ok := s.Stage.(pipeline.Taker)
	if !ok {
		return
	}
	room, empty := s.fill(t, priority.Critical)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := s.Request()
	d := taker.Take(ctx, r)
	if d.Verdict == pipeline.Admit {
		taker.Release(r, d.Permit, pipeline.Result{Outcome: pipeline.NotRun})
	}
	empty()
	again, empty := s.fill(t, priority.Critical)
	defer empty()
	if again != room {
		t.Errorf("has room for %d, and for %d after a client left", room, again)
	}
}

func checkConcurrency(t *testing.T, s Subject) {
	taker, _ := s.Stage.(pipeline.Taker)
	sharer, _ := s.Stage.(pipeline.Sharer)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 500 {
				r := s.classed(priority.FromIndex(i))
				r.NoWait = true
				s.Stage.Look(r)
				if sharer != nil {
					sharer.Claims(r, nil)
				}
				if taker == nil {
					continue
				}
				if d := taker.Take(context.Background(), r); d.Verdict == pipeline.Admit {
					taker.Release(r, d.Permit, pipeline.Result{})
				}
			}
		})
	}
	group.Wait()
	if !s.admits(s.classed(priority.Critical)) {
		t.Error("a critical request is refused after all was released")
	}
}

func checkNoWait(t *testing.T, s Subject) {
	taker, ok := s.Stage.(pipeline.Taker)
	if !ok {
		return
	}
	_, empty := s.fill(t, priority.Critical)
	defer empty()
	start := time.Now()
	r := s.Request()
	r.NoWait = true
	d := taker.Take(t.Context(), r)
	if d.Verdict == pipeline.Admit {
		taker.Release(r, d.Permit, pipeline.Result{})
	}
	if waited := time.Since(start); waited != 0 {
		t.Errorf("waited %s", waited)
	}
}
