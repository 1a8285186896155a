package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// through makes a step of what the proxy does.
func through(f func(*redistest.Proxy)) func(context.Context, *World) error {
	return func(_ context.Context, w *World) error {
		f(w.Proxy)
		return nil
	}
}

// network are the faults between the worker and a server that is well.
func network() []Row {
	return []Row{
		{
			Name: "black-hole", Section: Network, Fault: "every connection silent, new ones too", Heals: "what was held arrives",
			Build: proxied, Silent: true, Break: through((*redistest.Proxy).Hold), Heal: through((*redistest.Proxy).Pass),
		},
		{
			Name: "one-dead", Section: Network, Fault: "one connection dies silently, new ones work", Heals: "it is given up",
			Sees: "some calls are late until the connection is given up", Effect: Hurts,
			Build: proxied, Silent: true, Break: func(_ context.Context, w *World) error {
				if w.Proxy.Deafen(1) != 1 {
					return errors.New("there is no connection")
				}
				return nil
			},
		},
		{
			Name: "all-dead", Section: Network, Fault: "all connections die silently, new ones work", Heals: "they are given up",
			Sees: "calls are late until the connections are given up", Effect: Hurts,
			Build: proxied, Silent: true, Break: through(func(p *redistest.Proxy) { p.Deafen(1000) }),
		},
		{
			Name: "slow", Section: Network, Fault: "answers take 200 ms", Heals: "they are fast again; a slot may wait for its lease", Leases: true,
			Build: proxied, Silent: true, Heal: through(func(p *redistest.Proxy) { p.Delay(nil) }),
			Break: through(func(p *redistest.Proxy) { p.Delay(func() time.Duration { return 100 * time.Millisecond }) }),
		},
		{
			Name: "lossy", Section: Network, Fault: "one packet in twenty is sent again, 200 ms later", Heals: "none is; a slot may wait for its lease", Leases: true,
			Sees: "some calls are late", Effect: Hurts,
			Build: proxied, Silent: true, Heal: through(func(p *redistest.Proxy) { p.Delay(nil) }),
			Break: through(func(p *redistest.Proxy) {
				p.Delay(func() time.Duration {
					if rand.N(20) > 0 {
						return 0
					}
					return 200 * time.Millisecond
				})
			}),
		},
		{
			Name: "reset", Section: Network, Fault: "every connection reset, once", Heals: "new connections",
			Sees: "the calls that were under way fail", Effect: Hurts,
			Build: proxied, Break: through((*redistest.Proxy).Reset),
		},
		{
			Name: "resets", Section: Network, Fault: "connections reset again and again, with calls under way", Heals: "it ends",
			Sees: "the calls that were under way fail", Effect: Hurts,
			Build: proxied, Break: keepResetting, Heal: func(_ context.Context, w *World) error {
				w.calm()
				return nil
			},
		},
		{
			Name: "refused", Section: Network, Fault: "every connection reset, new ones too", Heals: "new connections",
			Build: proxied, Heal: through((*redistest.Proxy).Accept), Break: through(func(p *redistest.Proxy) {
				p.Refuse()
				p.Reset()
			}),
		},
	}
}

// keepResetting resets connections every now and then, until it is calm. The
// network is a little slow meanwhile, so that calls are under way.
func keepResetting(ctx context.Context, w *World) error {
	w.Proxy.Delay(func() time.Duration { return 2 * time.Millisecond })
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for pause(ctx, 25*time.Millisecond) == nil {
			w.Proxy.Reset()
		}
	})
	w.calm = func() {
		cancel()
		done.Wait()
		w.Proxy.Delay(nil)
	}
	w.ends = append(w.ends, w.calm)
	return nil
}
