package redisstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// line is a group whose sender waits until it is let go.
type line struct {
	*group
	mu   sync.Mutex
	sent [][]*call
	gate chan struct{}
}

func newLine(senders, bound int) *line {
	l := &line{gate: make(chan struct{})}
	l.group = newGroup(senders, bound, func(calls []*call) {
		l.mu.Lock()
		l.sent = append(l.sent, calls)
		l.mu.Unlock()
		<-l.gate
		for _, c := range calls {
			c.deliver()
		}
	})
	return l
}

// Who comes while calls are under way leaves together; who left before is not
// sent, and nobody waits for longer than its budget.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(1, 1000)
		errs := make(chan error, 300)
		ask := func(budget time.Duration) {
			go func() { errs <- l.ask(context.Background(), &store.Batch{Budget: budget}, job{}) }()
			synctest.Wait()
		}
		ask(time.Hour)
		for range 20 {
			ask(time.Second)
		}
		for range atOnce + 5 {
			ask(time.Hour)
		}
		begun := time.Now()
		for range 20 {
			if err := <-errs; !errors.Is(err, store.ErrUnavailable) || time.Since(begun) != time.Second {
				t.Fatalf("after %s: %v", time.Since(begun), err)
			}
		}
		close(l.gate)
		for range 1 + atOnce + 5 {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(l.sent) != 3 || len(l.sent[0]) != 1 || len(l.sent[1]) != atOnce || len(l.sent[2]) != 5 {
			t.Errorf("%d groups left", len(l.sent))
		}
		if l.sending != 1 || l.idle != 1 {
			t.Errorf("%d senders, %d of them idle, want one that waits for more", l.sending, l.idle)
		}
		ask(time.Hour)
		err := <-errs
		if n, _ := l.counts(); err != nil || len(l.sent) != 4 || n != 1 {
			t.Errorf("error %v after %d groups of %d senders: the one was to send one more", err, len(l.sent), n)
		}
		time.Sleep(idleFor)
		synctest.Wait()
		if l.sending != 0 || l.idle != 0 {
			t.Errorf("%d senders, %d of them idle, after a second without work", l.sending, l.idle)
		}
	})
}

// The queue is bounded; those who left it make room.
func TestGroupIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(2, 3)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 2 + 3 {
			wg.Go(func() { _ = l.ask(ctx, &store.Batch{}, job{}) })
			synctest.Wait()
		}
		if err := l.ask(context.Background(), &store.Batch{}, job{}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the queue is full: %v", err)
		}
		cancel()
		wg.Wait()
		wg.Go(func() {
			if err := l.ask(context.Background(), &store.Batch{}, job{}); err != nil {
				t.Errorf("there is room again: %v", err)
			}
		})
		synctest.Wait()
		close(l.gate)
		wg.Wait()
		time.Sleep(idleFor) // the senders go
	})
}

// counts is how many senders there are, and how many calls are under way.
func (l *line) counts() (senders, busy int) {
	l.group.mu.Lock()
	defer l.group.mu.Unlock()
	return l.sending, l.busy()
}

// Who may wait sends by itself when no call is under way, and is one of the
// senders then: who comes meanwhile goes with another, or with the next.
func TestGroupLoneAskerSends(t *testing.T) {
	for senders := 1; senders <= 2; senders++ {
		synctest.Test(t, func(t *testing.T) {
			l := newLine(senders, 1000)
			var wg sync.WaitGroup
			ask := func() {
				wg.Go(func() {
					if err := l.ask(context.Background(), &store.Batch{Budget: time.Hour, Waits: true}, job{}); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			ask()
			if n, _ := l.counts(); len(l.sent) != 1 || n != 0 {
				t.Fatalf("%d groups left by %d senders, want one by its asker", len(l.sent), n)
			}
			for range 5 {
				ask()
			}
			if n, _ := l.counts(); len(l.sent) != senders || n != senders-1 {
				t.Fatalf("%d groups left by %d senders, want %d calls under way", len(l.sent), n, senders)
			}
			l.gate <- struct{}{} // the first one is answered
			synctest.Wait()
			if len(l.sent) != senders+1 || len(l.sent[senders]) != 6-senders {
				t.Errorf("%d groups left, want one more with all who waited", len(l.sent))
			}
			if ask(); len(l.sent) != senders+1 {
				t.Error("an asker sent beside the senders")
			}
			close(l.gate)
			wg.Wait()
			synctest.Wait()
			before, _ := l.counts()
			ask()
			wg.Wait()
			synctest.Wait()
			if n, busy := l.counts(); n != before || busy != 0 {
				t.Errorf("%d senders, and %d calls under way, want %d that wait", n, busy, before)
			}
			time.Sleep(idleFor)
		})
	}
}
