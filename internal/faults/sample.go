package faults

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// sampler watches how many goroutines there are that are not the load's own,
// and not the proxy's.
type sampler struct {
	load           *load
	proxy          *redistest.Proxy
	broken         atomic.Bool
	healthy, fault atomic.Int64
}

func (s *sampler) start(ctx context.Context) *sync.WaitGroup {
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.sample()
			}
		}
	})
	return &done
}

func (s *sampler) sample() {
	n := int64(runtime.NumGoroutine()) - s.load.flying.Load()
	if s.proxy != nil {
		n -= s.proxy.Goroutines()
	}
	most := &s.healthy
	if s.broken.Load() {
		most = &s.fault
	}
	most.Store(max(most.Load(), n))
}

func (s *sampler) breaks() { s.broken.Store(true) }

// peak is how many more there were since the break than before.
func (s *sampler) peak() int64 { return max(0, s.fault.Load()-s.healthy.Load()) }

// seen is how many connections a server has seen, and which server it is.
type seen struct {
	run   string
	total int64
	admin int64
}

// connections asks the servers; one that does not answer has seen none.
func (u *run) connections(ctx context.Context) []seen {
	list := make([]seen, len(u.world.Servers))
	for i, s := range u.world.Servers {
		info, err := s.Admin.Info(ctx, "server", "stats").Result()
		if err != nil {
			continue
		}
		total, _ := strconv.ParseInt(field(info, "total_connections_received"), 10, 64)
		list[i] = seen{field(info, "run_id"), total, s.AdminConnections()}
	}
	return list
}

// field reads one line of INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Connections is how many connections the worker made since the break.
func (r *Result) Connections() (n int64) {
	for i, after := range r.connections {
		before := r.connectionsBefore[i]
		n += after.total - (after.admin - before.admin)
		if before.run == after.run {
			n -= before.total
		}
	}
	return max(n, 0)
}
