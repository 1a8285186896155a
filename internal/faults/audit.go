package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/redisstore"
)

// auditor asks the servers what callers were charged and hold.
type auditor struct {
	driver *redisstore.Store
	rig    *rig
	serial atomic.Uint64
}

func newAuditor(c redisstore.Config, r *rig) (*auditor, error) {
	c.Patience, c.Connections, c.Queue = 10*time.Second, 4, 1<<20
	d, err := redisstore.New(c)
	if err != nil {
		return nil, err
	}
	return &auditor{driver: d, rig: r}, nil
}

func (a *auditor) close() { _ = a.driver.Close() }

// ask makes a claim that takes nothing.
func (a *auditor) ask(ctx context.Context, c store.Claim, peek bool) (store.Grant, error) {
	if !peek {
		c.Cost = 0
	}
	b := store.Batch{ID: store.ID{Lo: a.serial.Add(1)}, Now: 1, Budget: 20 * time.Second, Peek: peek,
		Claims: []store.Claim{c}, Grants: make([]store.Grant, 1)}
	var err error
	for range 20 { // a busy machine fails a call now and then, and asking takes nothing
		if err = a.driver.Claim(ctx, &b); err == nil || errors.Is(err, store.ErrKey) || pause(ctx, 50*time.Millisecond) != nil {
			break
		}
	}
	return b.Grants[0], err
}

// charged is how many tokens a caller that came once has spent.
func (a *auditor) charged(ctx context.Context, s *shot) (int64, error) {
	c := a.rig.rates[s.policy].Claims(&s.request, nil)[0]
	g, err := a.ask(ctx, c, false)
	return quota - g.Remaining, err
}

// held is how many slots it holds.
func (a *auditor) held(ctx context.Context, s *shot) (int64, error) {
	c := a.rig.slots[s.policy].Claims(&s.request, nil)[0]
	g, err := a.ask(ctx, c, true)
	if !g.OK {
		return slots, err
	}
	return slots - (g.Remaining + 1), err
}

// all asks about each of many requests, some at a time.
func (a *auditor) all(shots []*shot, ask func(*shot) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	var first atomic.Pointer[error]
	for range 64 {
		wg.Go(func() {
			for n := next.Add(1) - 1; int(n) < len(shots) && first.Load() == nil; n = next.Add(1) - 1 {
				if err := ask(shots[n]); err != nil {
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := first.Load(); err != nil {
		return fmt.Errorf("faults: audit: %w", *err)
	}
	return nil
}

// slotsHeld is how many slots are held by callers that have all left.
func (a *auditor) slotsHeld(ctx context.Context, shots []*shot) (int64, error) {
	var sum atomic.Int64
	err := a.all(shots, func(s *shot) error {
		n, err := a.held(ctx, s)
		sum.Add(n)
		return err
	})
	return sum.Load(), err
}
