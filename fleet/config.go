package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// Syncer is where heartbeats go: a store.Guard, or a driver. It is called by
// one goroutine at a time, about once in a beat, and keeps nothing of the
// report.
type Syncer interface {
	Sync(ctx context.Context, r store.Report) (store.View, error)
}

// Usage is who knows what this worker does: the state of the fleet stage. It is
// called about once in a beat, by one goroutine.
type Usage interface {
	// Usage returns the requests in flight, and those that would be if none
	// had been refused, both averaged since the last call, and the number of
	// those refused since.
	Usage(now int64) (inFlight, demanded, refused store.PerClass)
}

// Terms are what this worker tells the fleet about it. They may change while
// it runs; while workers differ, the fleet goes by the most careful.
type Terms struct {
	Reserve  float64 // share of the fleet's capacity kept for critical traffic, 0 … 0.9
	Declared float64 // the fleet's capacity in requests in flight; 0 adds up its workers'
}

// Config sets a member. Store is required.
type Config struct {
	// Worker is the name of this process, unique in its fleet. Default the
	// host's name, the process id and a random part.
	Worker string
	// Beat is the mean time between heartbeats, 50ms … 10s; each is up to 20 %
	// early or late. While the store takes long to answer they are up to four
	// times as far apart, and leases last as much longer. Default 500ms.
	Beat time.Duration
	// Terms are what the fleet is told first; see Member.SetTerms.
	Terms
	// Capacity is how many requests this worker may have in flight now, 0 when
	// it is not known. Called on the path of requests while there is no lease.
	// Nil: not known.
	Capacity func() float64
	// Usage tells what this worker does. Nil: nothing.
	Usage Usage
	// Store takes the heartbeats.
	Store Syncer
	// Now is the clock that requests are stamped with, in nanoseconds since
	// the epoch; it must not step. Default a clock that starts at New.
	Now func() int64
	// Random draws from 0 … 1, 1 excluded, for the moments of the beats and the
	// mark of this process. Default a generator that nobody can foresee; a
	// simulation gives one that repeats.
	Random func() float64
	// OnView is told each answer, in Run's goroutine. Nil tells nobody.
	OnView func(store.View)
}

// complete fills what was left out, and names every fault.
func (c *Config) complete() error {
	var errs []error
	if c.Store == nil {
		errs = append(errs, errors.New("fleet: a member needs a store"))
	}
	if c.Beat == 0 {
		c.Beat = store.DefaultBeat
	}
	if c.Beat < 50*time.Millisecond || c.Beat > 10*time.Second {
		errs = append(errs, fmt.Errorf("fleet: beat must be 50ms … 10s, got %s", c.Beat))
	}
	if c.Worker == "" {
		c.Worker = name()
	}
	if c.Capacity == nil {
		c.Capacity = func() float64 { return 0 }
	}
	if c.Usage == nil {
		c.Usage = idle{}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Now == nil {
		start := time.Now()
		epoch := start.UnixNano()
		c.Now = func() int64 { return epoch + int64(time.Since(start)) }
	}
	return errors.Join(append(errs, c.validate())...)
}

func (t *Terms) validate() error {
	var errs []error
	if !(t.Reserve >= 0 && t.Reserve <= 0.9) {
		errs = append(errs, fmt.Errorf("fleet: reserve must be 0 … 0.9, got %v", t.Reserve))
	}
	if !(t.Declared >= 0) || math.IsInf(t.Declared, 0) {
		errs = append(errs, fmt.Errorf("fleet: declared capacity must be 0 or more, got %v", t.Declared))
	}
	return errors.Join(errs...)
}

func name() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d-%04x", host, os.Getpid(), rand.Uint32()&0xffff)
}

type idle struct{}

func (idle) Usage(int64) (inFlight, demanded, refused store.PerClass) { return }
