package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

//go:embed fleet.yaml
var fleetProtection []byte

// FleetConfig sets the demonstration of a fleet. The zero value lacks only Out.
type FleetConfig struct {
	// Plain writes finished lines alone, in ASCII.
	Plain bool
	// Colour of what is drawn. Default none.
	Colour Colour
	// Out is where it is shown. Required.
	Out io.Writer

	busy pace // 0 means usual
}

// What the demonstration of a fleet does.
const (
	fleetSize   = 3
	sharedLimit = 100                  // requests, of all workers together
	asked       = 120                  // requests under that limit
	fleetRate   = 300                  // requests a second, of which
	rateOfLimit = 200                  // a second are within the limit, and
	burstOfIt   = 50                   // more at once
	fleetBudget = 2 * time.Millisecond // on a quiet machine
	phaseLength = 3500 * time.Millisecond
)

// ErrNoRedis says that there is no server to start.
var ErrNoRedis = errors.New("demo: no redis-server in PATH: install it (apt-get install redis-server, brew install redis, dnf install redis) and try again")

// RunFleet shows what becomes of a fleet whose Redis is stopped, started again
// and frozen. An error means that it did not come to an end; whether what was
// claimed held is the verdict's to say.
func RunFleet(ctx context.Context, c FleetConfig) (*Verdict, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, ErrNoRedis
	}
	redisstore.Silence()
	c.busy = max(c.busy, paceFor(freeProcessors(probe), DefaultMultiple))
	server, err := redistest.New(redistest.Config{TCP: true})
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer server.End()
	if err := server.Launch(ctx); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	f, err := newFleet(server.Addr, c.budget())
	if err != nil {
		return nil, err
	}
	defer f.end()
	s := &fleetShow{config: c, fleet: f, server: server}
	v, err := s.perform(ctx)
	if err != nil {
		return nil, interrupted(err)
	}
	return v, nil
}

// budget is how long a decision may wait: longer where the machine is busy, or
// the demonstration would show that and nothing else.
func (c *FleetConfig) budget() time.Duration {
	return fleetBudget * time.Duration(max(c.busy, usual)*max(c.busy, usual))
}

// scene is one phase: what is done to Redis when it begins.
type scene struct {
	name   string
	begin  func(context.Context, *redistest.Server) error
	absent bool // Redis does not answer in it
}

var scenes = []scene{
	{name: "with Redis", begin: func(context.Context, *redistest.Server) error { return nil }},
	{name: "Redis stopped", absent: true, begin: func(_ context.Context, r *redistest.Server) error {
		r.Kill()
		return nil
	}},
	{name: "started, empty", begin: func(ctx context.Context, r *redistest.Server) error { return r.Launch(ctx) }},
	{name: "Redis frozen", absent: true, begin: func(_ context.Context, r *redistest.Server) error { return r.Signal(syscall.SIGSTOP) }},
	{name: "thawed", begin: func(_ context.Context, r *redistest.Server) error { return r.Signal(syscall.SIGCONT) }},
}
