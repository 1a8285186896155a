package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// fault is how a faulty driver behaves. The zero value works.
type fault int

const (
	works    fault = iota
	hangs          // heeds nothing; what was asked is done when it works again
	expires        // gives up after the budget; what was asked is not done
	slow           // answers after slowness, and then it is done
	errs           // answers with an error at once; what was asked is not done
	errsLate       // answers with an error at once; what was asked is done
	panics
	keyErrs // answers with an error about the key
)

var faultNames = [...]string{"works", "hangs", "expires", "slow", "errs", "errsLate", "panics", "keyErrs"}

func (f fault) String() string { return faultNames[f] }

const slowness = 10 * time.Millisecond

// holding is a slot, or a charge of tokens, by its request.
type holding struct {
	id    ID
	limit *Limit
}

// faulty is a remote driver that a test breaks and mends. It grants everything
// unless told otherwise, and keeps what is held.
type faulty struct {
	mu       sync.Mutex
	fault    fault
	mended   chan struct{}
	refuse   func(*Claim) bool
	stuck    func(*Batch) bool // claims that hang, whatever the fault
	held     map[holding]int
	returned map[holding]int // returns that took effect
	twice    []holding       // tokens returned for the second time
	claims   int
	batches  []int // sizes of Return calls
	renewed  int
	synced   int
	view     View
}

func newFaulty() *faulty {
	return &faulty{held: map[holding]int{}, returned: map[holding]int{}, mended: make(chan struct{})}
}

func (f *faulty) breakBy(how fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = how
	close(f.mended)
	f.mended = make(chan struct{})
}

var errFaulty = errors.New("faulty")

// meet behaves as the fault says, and reports whether the request is to be done.
func (f *faulty) meet(budget time.Duration) (done bool, err error) {
	f.mu.Lock()
	fault, mended := f.fault, f.mended
	f.mu.Unlock()
	switch fault {
	case hangs:
		<-mended
		return true, nil
	case expires:
		timer := time.NewTimer(budget)
		defer timer.Stop()
		select {
		case <-timer.C:
			return false, context.DeadlineExceeded
		case <-mended:
			return true, nil
		}
	case slow:
		<-time.After(slowness)
		return true, nil
	case errs:
		return false, errFaulty
	case errsLate:
		return true, errFaulty
	case panics:
		panic("faulty")
	case keyErrs:
		return false, fmt.Errorf("wrong type: %w", ErrKey)
	}
	return true, nil
}

func (f *faulty) Claim(_ context.Context, b *Batch) error {
	f.mu.Lock()
	f.claims++
	stuck, mended := f.stuck != nil && f.stuck(b), f.mended
	f.mu.Unlock()
	if stuck {
		<-mended
	}
	done, err := f.meet(b.Budget)
	f.mu.Lock()
	defer f.mu.Unlock()
	if done {
		f.grant(b)
	}
	return err
}

func (f *faulty) grant(b *Batch) {
	all := true
	for i := range b.Claims {
		b.Grants[i] = Grant{OK: f.refuse == nil || !f.refuse(&b.Claims[i]), RetryAfter: 0, Handle: 7}
		if !b.Grants[i].OK {
			b.Grants[i] = Grant{RetryAfter: time.Second}
			all = false
		}
	}
	for i := range b.Claims {
		if all && !b.Peek && b.Claims[i].Owner != canary.Owner {
			f.held[holding{b.ID, b.Claims[i].Limit}]++
		}
	}
}

func (f *faulty) Return(ctx context.Context, returns []Return) error {
	budget := time.Hour
	if deadline, ok := ctx.Deadline(); ok {
		budget = time.Until(deadline)
	}
	done, err := f.meet(budget)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, len(returns))
	for _, r := range returns {
		h := holding{r.ID, r.Limit}
		switch {
		case !done:
		case f.held[h] > 0:
			f.held[h]--
			f.returned[h]++
		case r.Limit.Kind == Tokens:
			f.twice = append(f.twice, h)
		}
	}
	return err
}

func (f *faulty) Renew(context.Context, []Return) error {
	f.mu.Lock()
	f.renewed++
	f.mu.Unlock()
	_, err := f.meet(time.Hour)
	return err
}

func (f *faulty) Sync(context.Context, Report) (View, error) {
	f.mu.Lock()
	f.synced++
	v := f.view
	f.mu.Unlock()
	_, err := f.meet(time.Hour)
	return v, err
}

// holds counts what is held now.
func (f *faulty) holds(k Kind) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h, count := range f.held {
		if h.limit.Kind == k {
			n += count
		}
	}
	return n
}

func (f *faulty) background() (renewed, synced int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.renewed, f.synced
}

// embedded is a faulty driver in this process.
type embedded struct{ *faulty }

func (embedded) InProcess() {}
