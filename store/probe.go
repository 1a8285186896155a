package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
)

// How far apart probes are: a server that is down for longer is not to be
// offered many, for each may cost a connection; one that is back is let in soon.
const (
	probeEvery  = 75 * time.Millisecond  // in doubt, and at first when it is down
	probeRarely = 200 * time.Millisecond // when it is down after probesSoon
	probeAgain  = 50 * time.Millisecond  // when it is down, and answered the last one
	probesSoon  = 1
	probeJitter = 1. / 3 // of that, more or less
)

// canary is the claim that a probe makes: the same path as any other, on a key
// that is nobody's. Whether it is granted does not matter.
var canary = Claim{Owner: KeyOf("plimsoll", "canary"), Limit: canaryLimit(), Cost: 1}

func canaryLimit() *Limit {
	l, err := NewTokens("plimsoll-canary", TokenBucket, limit.Per(1000, time.Second), 1000)
	if err != nil {
		panic(err) // a constant
	}
	return l
}

// probing asks the store while there is doubt about it, until the context ends.
// Until its last probe was answered there is: so a store that is not there when
// a process starts is down before the first requests are, and one that is there
// knows its scripts.
func (r *remote) probing(ctx context.Context) {
	answered := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if answered && !r.breaker.suspect(r.clock()) {
			select {
			case <-ctx.Done():
				return
			case <-r.alarm:
			}
		}
		r.checkOldest()
		answered = r.probe(ctx)
		timer.Reset(time.Duration(float64(r.breaker.pause()) * (1 + probeJitter*(2*r.breaker.random()-1))))
	}
}

// probe makes one claim on the canary, waits for it as a request would, and
// reports whether it was answered.
func (r *remote) probe(ctx context.Context) bool {
	b := &Batch{ID: ID{rand.Uint64(), rand.Uint64()}, Now: time.Now().UnixNano(), Budget: r.budget,
		Claims: []Claim{canary}, Grants: make([]Grant, 1)}
	err := r.probes.run(ctx, r.budget, func(ctx context.Context) error { return r.driver.Claim(ctx, b) })
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		err = fmt.Errorf("store: probe: %w", err)
	}
	r.breaker.update(func(h *health) { h.probed(r.clock(), err) })
	return err == nil
}

// checkOldest opens the breaker when a call has been out for far too long, and
// nothing that was asked after it came back.
func (r *remote) checkOldest() {
	begun, now := r.crew.oldest(), r.clock()
	if begun == 0 || now-begun < int64(max(overdueAfter, 10*r.budget)) || r.breaker.answered.Load() > begun {
		return
	}
	r.breaker.update(func(h *health) {
		if h.state != Down {
			h.cause = fmt.Errorf("store: a call has not been answered for %s", time.Duration(now-begun).Round(time.Millisecond))
			h.down()
		}
	})
}

// overdueAfter is how long a driver may keep a call, at least.
const overdueAfter = 20 * time.Millisecond

// lane runs background calls of one kind beside each other, a few at most, and
// leaves alone those that do not end in time.
type lane chan struct{}

// run makes a call and waits for it. An errBusy means that it was not made.
func (l lane) run(ctx context.Context, wait time.Duration, f func(context.Context) error) error {
	select {
	case l <- struct{}{}:
	default:
		return errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("store: the driver did not return")
		defer func() {
			if value := recover(); value != nil {
				err = fmt.Errorf("store: the driver panicked: %v", value)
			}
			<-l
			done <- err
		}()
		err = f(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle waits until no call is under way, or for the end of patience.
func (l lane) settle(patience <-chan struct{}) {
	taken := 0
	for taken < cap(l) {
		select {
		case l <- struct{}{}:
			taken++
			continue
		case <-patience:
		}
		break
	}
	for range taken {
		<-l
	}
}

var errBusy = fmt.Errorf("%w: earlier calls of this kind have not ended", ErrUnavailable)
