package overload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
	"github.com/plimsoll-go/plimsoll/priority"
)

// Run is one contestant in one experiment.
type Run struct {
	Contestant string
	Setting    string
	Experiment string
	Seed       uint64
}

// Do runs it. What computes runs in a process of its own, so that it cannot
// stall the clock of its driver; what waits, in this process.
func (r Run) Do(ctx context.Context) (*Result, error) {
	e, setting, err := r.find()
	if err != nil {
		return nil, err
	}
	b, err := r.backend(ctx, &e, setting)
	if err != nil {
		return nil, err
	}
	d := &driver{backend: b, experiment: &e}
	g, err := load.New(load.Config{Do: d.do, Plan: load.Plan{
		Base: b.capacity(), Phases: e.Phases, Mix: e.Mix, Seed: r.Seed, Deadline: patience * time.Duration(e.Retries+1),
	}})
	if err == nil {
		err = g.Run(ctx)
	}
	d.streams.Wait()
	processor, ended := b.end()
	if err := errors.Join(err, ended); err != nil {
		return nil, err
	}
	return newResult(r, &e, g, processor, d), nil
}

// find is what the run names; the error says what it may name.
func (r Run) find() (e Experiment, s Setting, err error) {
	e, known := FindExperiment(r.Experiment)
	if !known {
		return e, s, notNamed("experiment", r.Experiment, Experiments(), func(e Experiment) string { return e.Name })
	}
	at := slices.IndexFunc(Contestants(), func(c Contestant) bool { return c.Name == r.Contestant })
	if at < 0 {
		return e, s, notNamed("contestant", r.Contestant, Contestants(), func(c Contestant) string { return c.Name })
	}
	if s, known = Find(r.Contestant, r.Setting); !known {
		return e, s, notNamed("setting of "+r.Contestant, r.Setting, Contestants()[at].Settings, func(s Setting) string { return s.Name })
	}
	return e, s, nil
}

func notNamed[T any](what, got string, list []T, name func(T) string) error {
	allowed := make([]string, len(list))
	for i, v := range list {
		allowed[i] = name(v)
	}
	return fmt.Errorf("overload: no %s is named %q, allowed: %s", what, got, strings.Join(allowed, ", "))
}

func (r Run) backend(ctx context.Context, e *Experiment, setting Setting) (backend, error) {
	if e.Apart {
		return startRemote(ctx, r, e)
	}
	return newLocal(e, setting)
}

// backend is a service with a shedder before it.
type backend interface {
	// serve tells whether a call was admitted, and whether it was answered in
	// time.
	serve(ctx context.Context, c Call) (admitted, inTime bool)
	// slow makes calls take n times as long.
	slow(n int)
	// capacity is what the service can do, in calls a second.
	capacity() float64
	// stream is a call that stays until its context ends, and takes no slot of
	// the service; it tells whether it was admitted.
	stream(ctx context.Context, c Call) (admitted bool)
	// end ends it, and says how many seconds of processor time it used.
	end() (processor float64, err error)
}

// local is a backend in this process.
type local struct {
	service *Service
	shedder Shedder
	used    atomic.Int64 // processor time of this process before the run, in ns
}

func newLocal(e *Experiment, setting Setting) (*local, error) {
	service := e.Service()
	shedder, err := setting.Make(service)
	if err != nil {
		return nil, err
	}
	l := &local{service: service, shedder: shedder}
	l.used.Store(int64(processorTime()))
	return l, nil
}

func (l *local) serve(ctx context.Context, c Call) (admitted, inTime bool) {
	admitted = l.shedder.Serve(ctx, c, func(ctx context.Context) error {
		err := l.service.Work(ctx, c)
		inTime = err == nil
		return err
	})
	return admitted, inTime
}

func (l *local) stream(ctx context.Context, c Call) bool {
	open := false
	wait := func(ctx context.Context) error {
		open = true
		<-ctx.Done()
		return nil
	}
	if s, ok := l.shedder.(Streamer); ok {
		return s.ServeStream(ctx, c, wait) && open
	}
	return l.shedder.Serve(ctx, c, wait)
}

func (l *local) slow(n int)        { l.service.Slow(n) }
func (l *local) capacity() float64 { return l.service.Capacity }

func (l *local) end() (processor float64, err error) {
	l.shedder.Close()
	return (processorTime() - time.Duration(l.used.Load())).Seconds(), nil
}

// driver sends what the generator plans to the backend.
type driver struct {
	backend    backend
	experiment *Experiment
	phase      atomic.Int64
	attempts   atomic.Int64
	wasted     atomic.Int64 // attempts that were admitted and not answered in time
	open       atomic.Int64 // streams that were admitted
	streams    sync.WaitGroup
	refused    atomic.Int64 // when the first was refused since the step, in ns after it; 0: none was
}

func (d *driver) do(ctx context.Context, a load.Arrival) load.Answer {
	if d.phase.Swap(int64(a.Phase)) != int64(a.Phase) {
		d.backend.slow(max(d.experiment.Slow[a.Phase], 1))
		if n := d.experiment.Streams[a.Phase]; n > 0 {
			d.streams.Go(func() { d.openStreams(n, a.Phase) })
		}
	}
	answer := load.Answer{}
	for range d.experiment.Retries + 1 {
		if answer = d.attempt(ctx, a); answer.Outcome == load.Served {
			break
		}
	}
	if answer.Outcome == load.Refused && a.Phase == height {
		d.refused.CompareAndSwap(0, int64(max(a.At-d.experiment.Phases[before].Duration, 1)))
	}
	return answer
}

// openStreams opens streams one after the other, which stay for the phase.
func (d *driver) openStreams(n, phase int) {
	const apart = 5 * time.Millisecond
	lasting := d.experiment.Phases[phase].Duration
	ctx, cancel := context.WithTimeout(context.Background(), lasting)
	defer cancel()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			c := Call{Class: priority.Normal, Caller: i % callers, Due: time.Now().Add(lasting)}
			if d.backend.stream(ctx, c) {
				d.open.Add(1)
			}
		})
		time.Sleep(apart)
	}
	group.Wait()
}

// attempt is one try, which its caller waits for as long as it has patience.
func (d *driver) attempt(ctx context.Context, a load.Arrival) load.Answer {
	within := ctx
	due := a.Due
	if d.experiment.Retries > 0 {
		due = time.Now().Add(patience)
		var cancel context.CancelFunc
		within, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	d.attempts.Add(1)
	admitted, inTime := d.backend.serve(within, Call{Class: a.Class, Caller: int(a.Pick % callers), Pick: a.Pick, Due: due})
	switch {
	case !admitted && within.Err() != nil:
		return load.Answer{Outcome: load.GaveUp}
	case !admitted:
		return load.Answer{Outcome: load.Refused}
	case !inTime:
		d.wasted.Add(1)
		return load.Answer{Outcome: load.GaveUp}
	}
	return load.Answer{}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
