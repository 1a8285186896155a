package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// trial is one claim on tokens and on a slot, under the keys of a checkup.
func (e *checkup) trial() (*store.Batch, error) {
	tokens, err := store.NewTokens("doctor", store.TokenBucket, limit.Per(1_000_000, time.Second), 1000)
	if err != nil {
		return nil, err
	}
	slots, err := store.NewSlots("doctor", 1000, time.Second)
	if err != nil {
		return nil, err
	}
	owner := store.KeyOf("doctor")
	return &store.Batch{
		ID: store.ID{Hi: rand.Uint64(), Lo: rand.Uint64()}, Now: time.Now().UnixNano(), Grants: make([]store.Grant, 2),
		Claims: []store.Claim{{Owner: owner, Limit: tokens, Cost: 1}, {Owner: owner, Limit: slots, Cost: 1}},
	}, nil
}

// use does all that a worker does, and reports whether it can.
func (e *checkup) use(ctx context.Context) bool {
	if f := e.permissions(ctx); f.Severity != Fine {
		e.add(f)
		return false
	}
	e.add(Finding{Check: "permissions", Seen: "the user may do all that a worker does"})
	if err := e.useAll(ctx); err != nil {
		f := explain(err)
		f.Check, f.Why = "scripts", "no limit can be counted, and every stage decides by its on_fault"
		e.add(f)
		return false
	}
	e.add(Finding{Check: "scripts", Seen: "they load, and grant and take back tokens and slots"})
	return true
}

// useAll claims, renews, gives back, and reports to a fleet of nobody else.
func (e *checkup) useAll(ctx context.Context) error {
	b, err := e.trial()
	if err != nil {
		return err
	}
	if err := e.scratch.Claim(ctx, b); err != nil {
		return err
	}
	for i := range b.Grants {
		if !b.Grants[i].OK {
			return fmt.Errorf("a claim on a key of nobody else's was refused: %+v", b.Grants[i])
		}
	}
	back := make([]store.Return, len(b.Claims))
	for i, c := range b.Claims {
		back[i] = store.Return{ID: b.ID, Owner: c.Owner, Limit: c.Limit, Handle: b.Grants[i].Handle, At: b.Now, Now: b.Now, Tokens: c.Cost}
	}
	if err := e.scratch.Renew(ctx, back); err != nil {
		return err
	}
	if err := e.scratch.Return(ctx, back); err != nil {
		return err
	}
	if _, err := e.scratch.Sync(ctx, store.Report{Worker: "doctor", Epoch: rand.Uint64(), Draining: true}); err != nil {
		return err
	}
	return e.forget(ctx)
}

// forget removes the ledger of the fleet of nobody else, which would stay for
// some minutes.
func (e *checkup) forget(ctx context.Context) error {
	return e.do(ctx, func(ctx context.Context) error {
		return e.store.client.Del(ctx, e.scratch.prefix+"{fleet}ledger").Err()
	})
}

func (e *checkup) user() string {
	if name := e.store.user(); name != "" {
		return name
	}
	return "default"
}

// samples is how many claims the latency is judged by.
const samples = 300

// latency measures claims one after the other, as one caller sees them.
func (e *checkup) latency(ctx context.Context) {
	took := make([]time.Duration, 0, samples)
	for range samples {
		b, err := e.trial()
		if err != nil {
			return
		}
		begun := time.Now()
		if err := e.scratch.Claim(ctx, b); err != nil {
			f := explain(err)
			f.Check = "latency"
			e.add(f)
			return
		}
		took = append(took, time.Since(begun))
	}
	e.add(judgeLatency(took, e.budget))
}

func judgeLatency(took []time.Duration, budget time.Duration) Finding {
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[min(int(q*float64(len(took))), len(took)-1)] }
	late := len(took) - func() int { n, _ := slices.BinarySearch(took, budget+1); return n }()
	f := Finding{Check: "latency", Seen: fmt.Sprintf("p50 %s, p99 %s, max %s of %d claims; the budget is %s, and %d were above it",
		micros(at(0.5)), micros(at(0.99)), micros(took[len(took)-1]), len(took), budget, late)}
	switch {
	case at(0.5) > budget:
		f.Severity = Fault
	case at(0.99) > budget:
		f.Severity = Warning
	default:
		return f
	}
	f.Why = "a decision that is not answered within the budget is made by on_fault, and many of them take the store for down"
	f.Cure = fmt.Sprintf("bring worker and server closer, or raise store.budget above the p99: store: {budget: %s}", (2*at(0.99)).Round(time.Millisecond)+time.Millisecond)
	return f
}

func micros(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// end waits for the end of a key, which its script has set.
func (e *checkup) end(ctx context.Context) {
	b, err := e.trial()
	if err != nil || e.scratch.Claim(ctx, b) != nil {
		return
	}
	key := e.scratch.keyOf(b.Claims[1].Owner, b.Claims[1].Limit)
	left, err := e.remaining(ctx, key)
	f := Finding{Check: "expiry", Seen: fmt.Sprintf("a slot's key that should end within a second ends in %s", left)}
	if err != nil || left <= 0 || left > 5*time.Second {
		f.Severity, f.Why = Fault, "slots of workers that died would never come back, and the memory would fill"
		f.Cure = "see whether a proxy between changes commands, or the server's clock stands: redis-cli TIME"
		if err != nil {
			f.Seen = "PTTL: " + err.Error()
		}
		e.add(f)
		return
	}
	if !e.gone(ctx, key, left+2*time.Second) {
		f.Severity, f.Seen, f.Why = Fault, "a key outlives its end", "slots of workers that died would never come back, and the memory would fill"
		f.Cure = "see whether active expiry is switched off: DEBUG SET-ACTIVE-EXPIRE 1"
	}
	e.add(f)
}

func (e *checkup) remaining(ctx context.Context, key string) (left time.Duration, err error) {
	err = e.do(ctx, func(ctx context.Context) error {
		left, err = e.store.client.PTTL(ctx, key).Result()
		return err
	})
	return left, err
}

func (e *checkup) gone(ctx context.Context, key string, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if left, err := e.remaining(ctx, key); err == nil && left < 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// skewed is from how far apart two clocks are worth a word.
const skewed = 2 * time.Second

// clock compares the server's clock with ours.
func (e *checkup) clock(ctx context.Context) {
	var theirs time.Time
	begun := time.Now()
	err := e.do(ctx, func(ctx context.Context) (err error) {
		theirs, err = e.store.client.Time(ctx).Result()
		return err
	})
	if err != nil {
		return
	}
	took := time.Since(begun)
	e.add(judgeClock(theirs.Sub(begun.Add(took/2)), took))
}

func judgeClock(apart, took time.Duration) Finding {
	apart = apart.Round(time.Millisecond)
	f := Finding{Check: "clock", Seen: fmt.Sprintf("%s apart from this machine's, give or take %s", apart, micros(took/2+time.Microsecond))}
	if apart.Abs() > skewed+took {
		f.Severity = Warning
		f.Why = "limits go by the server's clock alone and are not hurt, but overrides end by this machine's, and what happened when is hard to tell from logs"
		f.Cure = "synchronise both machines: chronyc tracking"
	}
	return f
}
