package config

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"

	"github.com/plimsoll-go/plimsoll/fleet"
	"github.com/plimsoll-go/plimsoll/stages/concurrency"
	"github.com/plimsoll-go/plimsoll/stages/fleetshed"
	"github.com/plimsoll-go/plimsoll/stages/workershed"
	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// Live is the state of a process, which outlives the files that it runs by:
// buckets and slots, what is in flight, what controllers have learnt, the
// membership in the fleet. State belongs to the name of a stage; a stage that
// was taken out and comes back finds its own.
type Live struct {
	*process
	concurrency map[Name]*concurrency.State
	fleetshed   map[Name]*fleetshed.State
	workershed  map[Name]*workershed.State
}

// process is the part of Live that a process has once.
type process struct {
	began  *File // the file that the process started with
	memory *memstore.Store
	redis  *redisstore.Store // nil unless the file names it
	guard  *store.Guard
	health health
	member *fleet.Member
	usage  usage
}

// newLive is the state of a process that starts with a file.
func newLive(f *File) (*Live, error) {
	memory, err := memstore.New(memstore.Config{MaxKeys: f.Store.MaxKeys})
	if err != nil {
		return nil, err
	}
	p := &process{began: f, memory: memory}
	if p.redis, err = f.Store.driver(); err != nil {
		return nil, err
	}
	c := f.Store.guard(memory)
	c.OnState = p.health.changed
	if p.guard = store.NewGuard(memory, c); p.redis != nil {
		p.guard = store.NewGuard(p.redis, c)
	}
	p.member, err = fleet.New(fleet.Config{Store: p.guard, Usage: &p.usage, Capacity: p.usage.capacity, Beat: f.Store.Heartbeat})
	return &Live{process: p}, err
}

// with is a Live that has room for states that the earlier one lacks, and
// leaves that one as it is.
func (l *Live) with() *Live {
	return &Live{
		process:     l.process,
		concurrency: copied(l.concurrency),
		fleetshed:   copied(l.fleetshed),
		workershed:  copied(l.workershed),
	}
}

func copied[S any](states map[Name]*S) map[Name]*S {
	if states == nil {
		return map[Name]*S{}
	}
	return maps.Clone(states)
}

// stateOf is the state under a name, a new one if there is none yet.
func stateOf[S any](states map[Name]*S, name string, fresh func() *S) *S {
	s := states[Name(name)]
	if s == nil {
		s = fresh()
		states[Name(name)] = s
	}
	return s
}

// Guard is the store of the process.
func (l *Live) Guard() *store.Guard { return l.guard }

// Memory is the driver in this process's memory.
func (l *Live) Memory() *memstore.Store { return l.memory }

// Redis is the driver that the file names beside the one in memory, or nil.
func (l *Live) Redis() *redisstore.Store { return l.redis }

// Close ends the connections to the store. Call it when Run has returned, and
// the pipeline's.
func (l *Live) Close() error {
	if l.redis == nil {
		return nil
	}
	return l.redis.Close()
}

// Member is the process as a member of its fleet. It heartbeats while Run runs.
func (l *Live) Member() *fleet.Member { return l.member }

// Run does the background work of what is not a stage, the heartbeat, until
// the context ends: what pipeline.Config.Parallel is for.
func (l *Live) Run(ctx context.Context) error {
	if err := l.member.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Worker is the state of the worker's own stage of the plan that runs, or nil.
func (l *Live) Worker() *workershed.State { return l.usage.worker.Load() }

// Fleet is the state of the fleet's stage of the plan that runs, or nil.
func (l *Live) Fleet() *fleetshed.State { return l.usage.fleet.Load() }

// usage tells the fleet what this worker does, from the stages of the plan
// that runs.
type usage struct {
	fleet  atomic.Pointer[fleetshed.State]
	worker atomic.Pointer[workershed.State]
	limit  atomic.Int64 // of the worker's stage; read at each heartbeat
}

// Usage is asked at each heartbeat.
func (u *usage) Usage(now int64) (inFlight, demanded, refused store.PerClass) {
	if w := u.worker.Load(); w != nil {
		u.limit.Store(int64(w.Snapshot().Limit))
	}
	if s := u.fleet.Load(); s != nil {
		inFlight, demanded, refused = s.Usage(now)
	}
	return inFlight, demanded, refused
}

// capacity is what the worker can have in flight, 0 when nothing limits it. It
// is on the path of requests while there is no lease, so it reads a number.
func (u *usage) capacity() float64 { return float64(u.limit.Load()) }
