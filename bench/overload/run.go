package overload

import (
	"context"
	"fmt"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/load"
)

// Run is one contestant in one experiment.
type Run struct {
	Contestant string
	Setting    string
	Experiment string
	Seed       uint64
}

// Do runs it, in this process.
func (r Run) Do(ctx context.Context) (*Result, error) {
	setting, ok := Find(r.Contestant, r.Setting)
	if !ok {
		return nil, fmt.Errorf("overload: no setting %q of %q", r.Setting, r.Contestant)
	}
	e, ok := FindExperiment(r.Experiment)
	if !ok {
		return nil, fmt.Errorf("overload: no experiment %q", r.Experiment)
	}
	service := e.Service()
	shedder, err := setting.Make(service)
	if err != nil {
		return nil, err
	}
	defer shedder.Close()
	d := &driver{service: service, shedder: shedder, experiment: &e}
	g, err := load.New(load.Config{Do: d.do, Plan: load.Plan{
		Base: service.Capacity, Phases: e.Phases, Mix: e.Mix, Seed: r.Seed, Deadline: patience * time.Duration(e.Retries+1),
	}})
	if err != nil {
		return nil, err
	}
	from := processorTime()
	if err := g.Run(ctx); err != nil {
		return nil, err
	}
	return newResult(r, &e, service, g, processorTime()-from, d), nil
}

// driver sends what the generator plans through the shedder.
type driver struct {
	service    *Service
	shedder    Shedder
	experiment *Experiment
	phase      atomic.Int64
	attempts   atomic.Int64
	wasted     atomic.Int64 // attempts that were admitted and not answered in time
}

func (d *driver) do(ctx context.Context, a load.Arrival) load.Answer {
	if d.phase.Swap(int64(a.Phase)) != int64(a.Phase) {
		d.service.Slow(max(d.experiment.Slow[a.Phase], 1))
	}
	answer := load.Answer{}
	for range d.experiment.Retries + 1 {
		if answer = d.attempt(ctx, a); answer.Outcome == load.Served {
			break
		}
	}
	return answer
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
	inTime := false
	admitted := d.shedder.Serve(within, Call{Class: a.Class, Caller: int(a.Pick % callers), Due: due}, func(ctx context.Context) error {
		err := d.service.Work(ctx)
		inTime = err == nil
		return err
	})
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

// processorTime is what this process has used, in seconds.
func processorTime() float64 {
	sample := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}
