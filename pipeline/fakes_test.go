package pipeline_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
)

// trace records what the pipeline asked, in order.
type trace struct {
	mu    sync.Mutex
	calls []string
}

func (t *trace) note(call string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, call)
}

// looker, taker and sharer are stages that do what the test says.
type looker struct {
	name  string
	trace *trace
	look  func(*pipeline.Request) pipeline.Decision
}

func (s *looker) Look(r *pipeline.Request) pipeline.Decision {
	s.trace.note("look " + s.name)
	if s.look == nil {
		return pipeline.Decision{}
	}
	return s.look(r)
}

type taker struct {
	looker
	take    func(context.Context, *pipeline.Request) pipeline.Decision
	release func(*pipeline.Request, pipeline.Permit, pipeline.Result)
	mu      sync.Mutex
	held    int
}

func (s *taker) Take(ctx context.Context, r *pipeline.Request) pipeline.Decision {
	s.trace.note("take " + s.name)
	d := pipeline.Decision{}
	if s.take != nil {
		d = s.take(ctx, r)
	}
	if d.Verdict == pipeline.Admit {
		s.mu.Lock()
		s.held++
		s.mu.Unlock()
	}
	return d
}

func (s *taker) Release(r *pipeline.Request, p pipeline.Permit, result pipeline.Result) {
	s.trace.note("release " + s.name)
	s.mu.Lock()
	s.held--
	s.mu.Unlock()
	if s.release != nil {
		s.release(r, p, result)
	}
}

func (s *taker) holding() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

type waiter struct {
	taker
	asking int
}

func (s *waiter) Ask(*pipeline.Request)   { s.trace.note("ask " + s.name); s.asking++ }
func (s *waiter) Asked(*pipeline.Request) { s.trace.note("asked " + s.name); s.asking-- }

type sharer struct {
	looker
	claims func(*pipeline.Request) []store.Claim
}

func (s *sharer) Claims(r *pipeline.Request, claims []store.Claim) []store.Claim {
	s.trace.note("claims " + s.name)
	return append(claims, s.claims(r)...)
}

// counts is a store of plain counters that can be told to fail.
type counts struct {
	mu     sync.Mutex
	trace  *trace
	left   map[string]int64 // by limit name; absent is unlimited
	held   map[string]int64 // slots and tokens that are out
	fail   error
	panics bool
	called int
	delays map[string]time.Duration // by limit name
}

func newCounts(tr *trace) *counts {
	return &counts{trace: tr, left: map[string]int64{}, held: map[string]int64{}}
}

func (c *counts) Claim(_ context.Context, b *store.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called++
	c.trace.note("store")
	if c.panics {
		panic("planted store panic")
	}
	if c.fail != nil {
		return c.fail
	}
	passed := map[store.Group]bool{store.Enforced: true, store.Shadow: true}
	for i, claim := range b.Claims {
		left, limited := c.left[claim.Limit.Name]
		limited = limited || claim.Cost > 1 && claim.Limit.Kind == store.Slots
		b.Grants[i] = store.Grant{OK: !limited || left >= claim.Cost, Remaining: left, Delay: c.delays[claim.Limit.Name]}
		if !b.Grants[i].OK {
			passed[claim.Group] = false
		}
	}
	for _, claim := range b.Claims {
		if passed[store.Enforced] && passed[claim.Group] {
			if _, limited := c.left[claim.Limit.Name]; limited {
				c.left[claim.Limit.Name] -= claim.Cost
			}
			c.held[claim.Limit.Name] += claim.Cost
		}
	}
	return nil
}

func (c *counts) Return(_ context.Context, returns []store.Return) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range returns {
		n := r.Tokens
		if r.Limit.Kind == store.Slots {
			n = 1
		}
		c.trace.note("return " + r.Limit.Name)
		c.held[r.Limit.Name] -= n
		if _, limited := c.left[r.Limit.Name]; limited {
			c.left[r.Limit.Name] += n
		}
	}
	return nil
}

func (c *counts) Renew(_ context.Context, held []store.Return) error {
	for _, r := range held {
		c.trace.note("renew " + r.Limit.Name)
	}
	return nil
}

func (c *counts) Sync(context.Context, store.Report) (store.View, error) { return store.View{}, nil }

func (c *counts) InProcess() {}

func (c *counts) out(name string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[name]
}

// remote hides that a driver is in process, so it is taken for one that takes
// time.
type remote struct{ store.Driver }

// record is an observer that counts.
type record struct {
	mu        sync.Mutex
	decided   map[pipeline.Verdict]int
	reasons   map[pipeline.Reason]int
	shadowed  []pipeline.Decision
	released  []pipeline.Result
	faults    []pipeline.Fault
	faultAt   []int
	decisions int
}

func newRecord() *record {
	return &record{decided: map[pipeline.Verdict]int{}, reasons: map[pipeline.Reason]int{}}
}

func (o *record) Decided(_ *pipeline.Request, d pipeline.Decision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.decisions++
	o.decided[d.Verdict]++
	o.reasons[d.Reason]++
}

func (o *record) Shadowed(_ *pipeline.Request, d pipeline.Decision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shadowed = append(o.shadowed, d)
}

func (o *record) Released(_ *pipeline.Request, result pipeline.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.released = append(o.released, result)
}

func (o *record) Fault(_ *pipeline.Request, entry int, f pipeline.Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults = append(o.faults, f)
	o.faultAt = append(o.faultAt, entry)
}

func (o *record) count(kind pipeline.FaultKind) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.faults {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

var errPlanted = errors.New("planted store fault")

func tokens(t testing.TB, name string) *store.Limit {
	t.Helper()
	l, err := store.NewTokens(name, store.TokenBucket, limit.Rate{Count: 1, Period: 1e9}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func slots(t testing.TB, name string) *store.Limit {
	t.Helper()
	l, err := store.NewSlots(name, 1, 10e9)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func claimOf(limits ...*store.Limit) func(*pipeline.Request) []store.Claim {
	return func(*pipeline.Request) (claims []store.Claim) {
		for _, l := range limits {
			claims = append(claims, store.Claim{Owner: store.KeyOf("someone"), Limit: l, Cost: 1})
		}
		return claims
	}
}

func refuse(reason pipeline.Reason) func(*pipeline.Request) pipeline.Decision {
	return func(*pipeline.Request) pipeline.Decision { return pipeline.Refuse(reason) }
}

func refuseTake(reason pipeline.Reason) func(context.Context, *pipeline.Request) pipeline.Decision {
	return func(context.Context, *pipeline.Request) pipeline.Decision { return pipeline.Refuse(reason) }
}

func panicLook(*pipeline.Request) pipeline.Decision { panic("planted panic") }

// somethingDenied has the store refuse somebody, and returns a moment at which
// that is remembered.
func somethingDenied(t testing.TB, p *pipeline.Pipeline) (now int64) {
	t.Helper()
	now = p.Now()
	l, err := store.NewSlots("denied", 1, 10e9)
	if err != nil {
		t.Fatal(err)
	}
	b := store.Batch{Now: now, Claims: []store.Claim{{Owner: store.KeyOf("nobody"), Limit: l, Cost: 2}}, Grants: make([]store.Grant, 1)}
	if err := p.Store().Claim(t.Context(), &b); err != nil || b.Grants[0].OK || !p.Store().Remembers(now) {
		t.Fatalf("nothing was refused: %+v, %v", b.Grants[0], err)
	}
	return now
}

// build makes a pipeline of entries over a store.
func build(t testing.TB, d store.Driver, o pipeline.Observer, entries ...pipeline.Entry) *pipeline.Pipeline {
	t.Helper()
	plan, err := pipeline.NewPlan(entries...)
	if err != nil {
		t.Fatal(err)
	}
	config := pipeline.Config{Plan: plan, Observer: o}
	if d != nil {
		config.Store = store.NewGuard(d, store.GuardConfig{Local: newCounts(nil)})
	}
	p, err := pipeline.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
