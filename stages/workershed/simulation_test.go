package workershed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/priority"
	"github.com/plimsoll-go/plimsoll/store"
)

// simulation is one worker of known capacity behind a pipeline that holds this
// stage, in virtual time. Load is open: it arrives when it is planned, whatever
// becomes of it.
type simulation struct {
	config   Config
	slots    int                                  // what the service can do at once
	service  func(at time.Duration) time.Duration // how long it takes
	deadline time.Duration                        // of a client; then it has gone
	mix      [priority.Count]float64
	phases   []phase
	callers  int
	abuser   float64       // what one caller sends beside, as a multiple of the capacity
	retries  int           // of a client that got no good answer
	store    time.Duration // how far away the store is; 0 is no store
	cpu      bool          // the slots are processors: also who only decides has to have one

	stage        *Stage
	pipeline     *pipeline.Pipeline
	ids          []store.Key // of the callers; the last is the abuser's
	began        time.Time
	busy         chan struct{}
	mu           sync.Mutex
	seconds      []second
	ran, glanced []time.Duration // how long goroutines were ready before they ran, since it was last asked for
	ready        int
}

// phase is a stretch of load, as a multiple of the capacity.
type phase struct {
	multiple float64
	lasts    time.Duration
}

// second is what became of the requests that arrived in one second.
type second struct {
	class  [priority.Count]tally
	abuser tally
	served int // good answers that were given in this second
	level  float64
}

type tally struct{ offered, good, late, refused int }

// newSimulation is the worker of the promises: 20 slots of 10ms, a limit of
// twice the slots, and clients of little patience.
func newSimulation(phases ...phase) *simulation {
	return &simulation{
		config: Config{MaxInFlight: 40},
		slots:  20, service: func(time.Duration) time.Duration { return 10 * time.Millisecond },
		deadline: 250 * time.Millisecond, mix: [priority.Count]float64{0.2, 0.4, 0.2, 0.2},
		phases: phases, callers: 1000,
	}
}

func (s *simulation) capacity() float64 { return float64(s.slots) / s.service(0).Seconds() }

// run plays the phases, inside a bubble of virtual time.
func (s *simulation) run(t *testing.T) {
	t.Helper()
	state := calmState()
	state.backlog = func() backlog { return s.backlog(&s.ran) }
	state.glances.backlog = func() backlog { return s.backlog(&s.glanced) }
	s.stage = newStage(t, s.config, state)
	s.busy = make(chan struct{}, s.slots)
	for i := range s.callers + 1 {
		s.ids = append(s.ids, caller(strconv.Itoa(i)).ID)
	}
	entries := []pipeline.Entry{{Name: "worker", Stage: s.stage}}
	config := pipeline.Config{}
	if s.store > 0 {
		tokens, err := store.NewTokens("all", store.TokenBucket, limit.Per(1_000_000, time.Second), 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		entries = append([]pipeline.Entry{{Name: "asker", Stage: asker{tokens}}}, entries...)
		config.Store = store.NewGuard(distantStore(s.store), store.GuardConfig{Budget: time.Second})
	}
	plan, err := pipeline.NewPlan(entries...)
	if err != nil {
		t.Fatal(err)
	}
	config.Plan = plan
	if s.pipeline, err = pipeline.New(config); err != nil {
		t.Fatal(err)
	}
	s.play(t)
}

func (s *simulation) play(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var background, requests sync.WaitGroup
	background.Go(func() { _ = s.pipeline.Run(ctx) })
	s.began = time.Now()
	end := time.Duration(0)
	for i, phase := range s.phases {
		from := end
		end += phase.lasts
		var generators sync.WaitGroup
		generators.Go(func() {
			s.arrive(&requests, arrivals{from, end, phase.multiple * s.capacity(), uint64(i), false})
		})
		generators.Go(func() { s.arrive(&requests, arrivals{from, end, s.abuser * s.capacity(), uint64(i), true}) })
		generators.Wait()
	}
	requests.Wait()
	stop()
	background.Wait()
	s.stage.mustBeEmpty(t)
}

// arrivals are a stream of requests at random moments.
type arrivals struct {
	from, end time.Duration
	rate      float64 // a second
	seed      uint64
	abuser    bool
}

func (s *simulation) arrive(requests *sync.WaitGroup, a arrivals) {
	rng := rand.New(rand.NewPCG(a.seed, uint64(a.rate)))
	for planned := a.from; a.rate > 0; {
		planned += time.Duration(rng.ExpFloat64() / a.rate * float64(time.Second))
		if planned >= a.end {
			break
		}
		pass(planned - time.Since(s.began))
		v := visitor{at: planned, class: s.class(rng), caller: s.ids[rng.IntN(s.callers)], abuser: a.abuser}
		if a.abuser {
			v.caller = s.ids[s.callers]
		}
		requests.Go(func() { s.visit(v) })
	}
	pass(a.end - time.Since(s.began))
}

func (s *simulation) class(rng *rand.Rand) priority.Class {
	dice := rng.Float64()
	for i, share := range s.mix {
		if dice -= share; dice < 0 {
			return priority.FromIndex(i)
		}
	}
	return priority.Critical
}

// visitor is a client with something to do.
type visitor struct {
	at     time.Duration
	class  priority.Class
	caller store.Key
	abuser bool
}

// visit is the client's whole story, retries included.
func (s *simulation) visit(v visitor) {
	for range s.retries {
		if s.try(v) {
			return
		}
		v.at = time.Since(s.began)
	}
	s.try(v)
}

// try sends one request and reports whether the answer was good.
func (s *simulation) try(v visitor) (good bool) {
	if s.cpu {
		ready := time.Now()
		s.isReady(1, 0)
		s.busy <- struct{}{}
		defer func() { <-s.busy }()
		s.isReady(-1, time.Since(ready))
	}
	now := s.pipeline.Now()
	r := &pipeline.Request{
		Now: now, Deadline: now + int64(s.deadline), Class: v.class,
		Cohort: priority.CohortOf(v.caller.Lo, now), Caller: pipeline.Caller{ID: v.caller},
	}
	d := s.pipeline.Acquire(context.Background(), r)
	if s.cpu {
		pass(decisionTime)
	}
	if d.Verdict == pipeline.Admit {
		good = s.serve(v.at + s.deadline)
		outcome := pipeline.Completed
		if !good {
			outcome = pipeline.Dropped
		}
		s.pipeline.Release(r, pipeline.Result{Outcome: outcome})
	}
	s.note(v, d.Verdict, good)
	return good
}

// serve is the work of a handler: a wait for the service, then its time, all
// given up at the client's deadline.
func (s *simulation) serve(deadline time.Duration) (good bool) {
	if s.cpu {
		pass(s.service(0))
		return time.Since(s.began) < deadline
	}
	left := func() <-chan time.Time { return time.After(deadline - time.Since(s.began)) }
	select {
	case s.busy <- struct{}{}:
	case <-left():
		return false
	}
	defer func() { <-s.busy }()
	select {
	case <-time.After(s.service(time.Since(s.began))):
		return true
	case <-left():
		return false
	}
}

// decisionTime is what net/http and the middleware take for a refusal.
const decisionTime = 20 * time.Microsecond

// isReady notes that a goroutine waits for a processor, or has got it after a
// while.
func (s *simulation) isReady(change int, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready += change
	if change < 0 {
		s.ran, s.glanced = append(s.ran, after), append(s.glanced, after)
	}
}

// backlog is what the runtime would tell of the run queue, and of a list of
// delays, which it empties.
func (s *simulation) backlog(list *[]time.Duration) backlog {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(*list)
	delays := *list
	*list = nil
	if len(delays) == 0 {
		return backlog{runnable: s.ready}
	}
	return backlog{delays[len(delays)*9/10], s.ready}
}

func (s *simulation) note(v visitor, verdict pipeline.Verdict, good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.began)
	for len(s.seconds) <= int(now/time.Second) {
		s.seconds = append(s.seconds, second{level: max(s.stage.state.levels())})
	}
	to := &s.seconds[v.at/time.Second].class[v.class.Index()]
	if v.abuser {
		to = &s.seconds[v.at/time.Second].abuser
	}
	to.offered++
	switch {
	case verdict != pipeline.Admit:
		to.refused++
	case !good:
		to.late++
	default:
		to.good++
		s.seconds[now/time.Second].served++
	}
}

// share is how much of what some classes offered was good, in the seconds from
// … to−1.
func (s *simulation) share(from, to int, classes ...priority.Class) float64 {
	offered, good := 0, 0
	for _, second := range s.seconds[from:to] {
		for _, c := range classes {
			offered += second.class[c.Index()].offered
			good += second.class[c.Index()].good
		}
	}
	return float64(good) / float64(max(1, offered))
}

// goodput is what share of the capacity gave good answers in those seconds.
func (s *simulation) goodput(from, to int) float64 {
	served := 0
	for _, second := range s.seconds[from:to] {
		served += second.served
	}
	return float64(served) / s.capacity() / float64(to-from)
}

// refused is how many were refused in those seconds.
func (s *simulation) refused(from, to int) (n int) {
	for _, second := range s.seconds[from:to] {
		for _, c := range second.class {
			n += c.refused
		}
	}
	return n
}

// late is how many were admitted in vain in those seconds.
func (s *simulation) late(from, to int) (n int) {
	for _, second := range s.seconds[from:to] {
		for _, c := range second.class {
			n += c.late
		}
	}
	return n
}

// String tells the story second by second, for the log of a test that failed.
func (s *simulation) String() string {
	var b strings.Builder
	for i, second := range s.seconds {
		fmt.Fprintf(&b, "%3ds served %4d level %.2f", i, second.served, second.level)
		for class, c := range second.class {
			fmt.Fprintf(&b, "  %s %d/%d late %d", priority.FromIndex(class), c.good, c.offered, c.late)
		}
		fmt.Fprintf(&b, "  abuser %d/%d\n", second.abuser.good, second.abuser.offered)
	}
	return b.String()
}

// asker is a stage that always asks the store, and distantStore a store that
// always grants, after a while.
type asker struct{ tokens *store.Limit }

func (a asker) Look(*pipeline.Request) pipeline.Decision { return pipeline.Decision{} }

func (a asker) Claims(r *pipeline.Request, claims []store.Claim) []store.Claim {
	return append(claims, store.Claim{Owner: r.Caller.ID, Limit: a.tokens, Cost: 1})
}

type distantStore time.Duration

func (d distantStore) Claim(_ context.Context, b *store.Batch) error {
	pass(time.Duration(d))
	for i := range b.Grants {
		b.Grants[i] = store.Grant{OK: true}
	}
	return nil
}

func (distantStore) Return(context.Context, []store.Return) error { return nil }

func (distantStore) Renew(context.Context, []store.Return) error { return nil }

func (distantStore) Sync(context.Context, store.Report) (store.View, error) {
	return store.View{}, nil
}
