package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// tick is how often stages adapt.
const tick = 100 * time.Millisecond

// renewEvery is how often the leases of long requests are prolonged; leases
// are a second at least, so each is renewed three times before it ends.
const renewEvery = 300 * time.Millisecond

// Run does the background work: stages adapt, leases are renewed, what was
// given back reaches the store. It returns when the context ends and all of
// it has stopped. Call it once, in a goroutine, beside the server.
func (p *Pipeline) Run(ctx context.Context) error {
	if p.running.Swap(true) {
		return errors.New("pipeline: Run is running already")
	}
	defer p.running.Store(false)
	var group sync.WaitGroup
	for _, run := range p.parallel {
		group.Go(func() { p.report(run(ctx)) })
	}
	if p.store != nil {
		group.Go(func() { p.report(p.store.Run(ctx)) })
	}
	p.loop(ctx)
	group.Wait()
	return ctx.Err()
}

func (p *Pipeline) loop(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	renewed := p.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := p.Now()
		p.tickStages(now)
		if p.store != nil && now-renewed >= int64(renewEvery) {
			renewed = now
			p.renew(ctx, now)
		}
	}
}

func (p *Pipeline) tickStages(now int64) {
	plan := p.plan.Load()
	for i := range plan.entries {
		if t := plan.entries[i].ticker; t != nil {
			p.tickOne(t, plan.entries[i].Name, now)
		}
	}
}

func (p *Pipeline) tickOne(t Ticker, name string, now int64) {
	defer func() {
		if value := recover(); value != nil {
			p.logger.Error("stage panicked in its tick", "entry", name, "panic", value)
		}
	}()
	t.Tick(now)
}

// renew prolongs the slots of requests that have run for a while; short
// requests never pay for it.
func (p *Pipeline) renew(ctx context.Context, now int64) {
	slots := p.holders.slotsHeld(now-int64(renewEvery), now, nil)
	if len(slots) == 0 {
		return
	}
	if err := p.store.Renew(ctx, slots); err != nil && ctx.Err() == nil {
		p.observer.Fault(nil, -1, Fault{Kind: StoreFault, Err: err})
	}
}

func (p *Pipeline) report(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		p.logger.Error("background work ended", "error", err)
	}
}

// Holder is one request in flight, for those who ask what holds a slot.
type Holder struct {
	ID       store.ID
	Caller   string
	Route    string
	Class    string
	Since    int64
	Deadline int64
	Detached bool
	Gone     bool // its client has left; see Request.Gone
}

// Holders lists the requests in flight, at most n, in no particular order.
func (p *Pipeline) Holders(n int) (list []Holder) {
	p.holders.each(func(r *Request) {
		if len(list) < n {
			list = append(list, Holder{
				ID: r.ID(), Caller: r.Caller.Label(), Route: r.RouteName(), Class: r.Class.String(),
				Since: r.Now, Deadline: r.Deadline, Detached: r.admission.detached, Gone: r.Gone(),
			})
		}
	})
	return list
}
