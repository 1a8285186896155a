package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/config"
	"github.com/plimsoll-go/plimsoll/pipeline"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// watchStore has changes of the store's state written to the log.
func (p *Process) watchStore(live *config.Live) {
	p.back = make(chan struct{}, 1)
	if live.Redis() == nil {
		return
	}
	redisstore.Silence() // it would write a line for each connection that fails
	live.OnHealth(p.storeChanged)
}

func (p *Process) storeChanged(h config.Health) {
	place := p.began.Store.Redis.Place()
	switch h.State {
	case store.Down:
		p.log.Warn("the store does not answer; until it does, "+p.policies(), "store", place, "cause", h.Cause)
		return
	case store.Degraded:
		p.log.Warn("the store does not answer everything in time; what it does not, "+p.policies(), "store", place, "cause", h.Cause)
	case store.OK:
		p.log.Info("the store answers again", "store", place)
	}
	select {
	case p.back <- struct{}{}:
	default:
	}
}

// policies says how stages decide without the store.
func (p *Process) policies() string {
	var words []string
	plan := p.pipeline.Plan()
	for i := range plan.Len() {
		e := plan.Entry(i)
		if _, shares := e.Stage.(pipeline.Sharer); shares && e.Mode != pipeline.Off {
			words = append(words, fmt.Sprintf("%s (%s)", e.Name, e.OnFault))
		}
	}
	if len(words) == 0 {
		return "no stage misses it"
	}
	return "these decide by their on_fault: " + strings.Join(words, ", ")
}

// checkPatience is how long a checkup at the start may take.
const checkPatience = 10 * time.Second

// checkStore looks at the store as plimsoll doctor does, and writes what is
// wrong to the log: at the start, and if it was not there then, when it comes.
func (p *Process) checkStore(ctx context.Context) {
	redis := p.built.Load().Live.Redis()
	for redis != nil {
		within, cancel := context.WithTimeout(ctx, checkPatience)
		findings := redis.Checkup(within, p.began.Store.Budget, redisstore.AtStart)
		cancel()
		if ctx.Err() != nil || p.tell(findings) {
			return
		}
		select {
		case <-p.back:
		case <-ctx.Done():
			return
		}
	}
}

// tell writes findings to the log, and reports whether the store was there.
func (p *Process) tell(findings []redisstore.Finding) (there bool) {
	there = true
	for _, f := range findings {
		message := "store: " + f.Check + ": " + f.Seen
		switch {
		case f.Severity >= redisstore.Warning:
			p.log.Warn(message, "why", f.Why, "cure", f.Cure)
		case f.Severity == redisstore.Unseen:
			p.log.Info(message, "why", f.Why, "cure", f.Cure)
		}
		there = there && (f.Check != "reachable" || f.Severity == redisstore.Fine)
	}
	return there
}

// storeLine says at the start where limits are counted.
func (p *Process) storeLine() string {
	s, redis := &p.began.Store, p.built.Load().Live.Redis()
	if redis == nil {
		return string(s.Driver)
	}
	r := &s.Redis
	over := ""
	if r.Encrypted() {
		over = " over TLS"
	}
	return fmt.Sprintf("redis at %s%s, keys %s*, budget %s, up to %d connections, and those that listen for changes", r.Place(), over, r.Prefix, s.Budget, redis.Connections())
}

// store is how the store does, for the status.
func (p *Process) store(live *config.Live) admin.Store {
	table := live.Memory().Stats()
	s := admin.Store{
		Driver: string(p.began.Store.Driver), State: live.Guard().State().String(), Budget: p.began.Store.Budget,
		Keys: table.Keys, MaxKeys: table.MaxKeys, Spilled: table.Spilled,
	}
	if live.Redis() == nil {
		return s
	}
	health, g := live.Health(), live.Guard().Stats()
	s.Place = p.began.Store.Redis.Place()
	if health.State.String() == s.State { // otherwise it is about to be told of the change
		s.Since = health.Since
		if health.Cause != nil {
			s.Cause = health.Cause.Error()
		}
	}
	s.Calls = &admin.StoreCalls{
		UnderWay: g.UnderWay, Queued: g.Queued, Fallback: g.Failed + g.Late + g.Skipped + g.Crowded,
		Failed: g.Failed, Late: g.Late, Skipped: g.Skipped, Crowded: g.Crowded,
		Reclaimed: g.Reclaimed, Dropped: g.Dropped, Lost: g.Lost,
	}
	return s
}

// fleet is what was last heard of the fleet, for the status.
func (p *Process) fleet(live *config.Live) admin.Fleet {
	l := live.Member().Lease()
	f := admin.Fleet{
		Worker: live.Member().Worker(), Live: l.Live, Stale: l.Stale, Drained: l.Drained,
		Learning: l.Learning, LowTrust: l.LowTrust, Missed: l.Missed,
	}
	if l.Heard != 0 {
		f.Age = time.Duration(p.pipeline.Now() - l.Heard)
	}
	return f
}
