package store

import (
	"errors"
	"fmt"
	"time"
)

// What leases do unless they are configured.
const (
	DefaultHotAt      = 300                    // asks a second
	DefaultAhead      = 100 * time.Millisecond // of a key's rate in a block
	DefaultLease      = 500 * time.Millisecond // until a block goes back
	DefaultLeasedKeys = 1024
)

// LeaseConfig sets how keys that this worker asks for often are served from
// memory. The zero value is the default. It concerns drivers that are Lenders,
// while the guard's Run is running.
type LeaseConfig struct {
	// Off asks the store for each claim. Default false.
	Off bool
	// HotAt is how often a second this worker must ask for a key before it is
	// leased, 50 … 1,000,000. It stays leased until it is asked for less than
	// half as often. Default 300.
	HotAt int
	// Ahead is for how long a block lasts at the rate at which this worker
	// spends, 10ms … 1s. A block is never more than half of what is left,
	// divided by the workers that are alive. Default 100ms.
	Ahead time.Duration
	// Lease is how long a block may be spent; what is left of it then goes back
	// to the store. 50ms … 10s. Default 500ms.
	Lease time.Duration
	// Keys is how many keys, each a limit of an owner, are leased at once,
	// 1 … 65,536. One more ends the lease that has gone longest without a loan.
	// Default 1024.
	Keys int
}

// Validate names every setting that is out of its range. NewGuard takes the
// nearest that is not.
func (c *LeaseConfig) Validate() error {
	d := c.complete()
	var errs []error
	if c.HotAt != 0 && c.HotAt != d.HotAt {
		errs = append(errs, fmt.Errorf("store: lease hot_at must be 50 … 1000000, got %d", c.HotAt))
	}
	if c.Ahead != 0 && c.Ahead != d.Ahead {
		errs = append(errs, fmt.Errorf("store: lease ahead must be 10ms … 1s, got %s", c.Ahead))
	}
	if c.Lease != 0 && c.Lease != d.Lease {
		errs = append(errs, fmt.Errorf("store: lease must be 50ms … 10s, got %s", c.Lease))
	}
	if c.Keys != 0 && c.Keys != d.Keys {
		errs = append(errs, fmt.Errorf("store: leased keys must be 1 … 65536, got %d", c.Keys))
	}
	return errors.Join(errs...)
}

// complete fills what was left out and takes the rest into its range.
func (c LeaseConfig) complete() LeaseConfig {
	within := func(v, byDefault, least, most int64) int64 {
		if v == 0 {
			v = byDefault
		}
		return min(max(v, least), most)
	}
	c.HotAt = int(within(int64(c.HotAt), DefaultHotAt, 50, 1e6))
	c.Ahead = time.Duration(within(int64(c.Ahead), int64(DefaultAhead), int64(10*time.Millisecond), int64(time.Second)))
	c.Lease = time.Duration(within(int64(c.Lease), int64(DefaultLease), int64(50*time.Millisecond), int64(10*time.Second)))
	c.Keys = int(within(int64(c.Keys), DefaultLeasedKeys, 1, 1<<16))
	return c
}

// hotCount is how many asks in one span of the heat make a key hot.
func (c *LeaseConfig) hotCount() int64 {
	return min(int64(c.HotAt)*heatSpan/int64(time.Second), heatCount)
}
