package fleet

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// slowStore answers after a while, or when the beat ends.
type slowStore struct {
	*fakeStore
	takes atomic.Int64
}

func (s *slowStore) take(d time.Duration) { s.takes.Store(int64(d)) }

// count is how many beats were answered, how many there were in all, and what
// the last one said its beat is.
func (s *slowStore) count() (answered, all int, beat time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answered), len(s.reports), s.reports[len(s.reports)-1].Beat
}

func (s *slowStore) Sync(ctx context.Context, r store.Report) (store.View, error) {
	timer := time.NewTimer(time.Duration(s.takes.Load()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.fakeStore.Sync(ctx, r)
	case <-ctx.Done():
		return store.View{}, ctx.Err()
	}
}

// While the store is slow, beats are further apart, more time is left for an
// answer, and leases last as much longer; when it is quick, all is as before.
func TestASlowStoreIsAskedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{fakeStore: newFakeStore()}
		s.take(time.Millisecond)
		m, err := New(Config{Store: s, Capacity: func() float64 { return 100 }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		defer func() { stop(); <-ended }()
		time.Sleep(time.Second)
		beats := func(during time.Duration) int {
			synctest.Wait()
			before, _, _ := s.count()
			time.Sleep(during)
			synctest.Wait()
			after, _, _ := s.count()
			return after - before
		}
		failed := func(during time.Duration) int {
			_, before, _ := s.count()
			time.Sleep(during)
			_, after, _ := s.count()
			return after - before
		}
		if n := beats(20 * time.Second); n < 35 || n > 45 {
			t.Errorf("%d beats of a quick store in 20 s", n)
		}
		s.take(700 * time.Millisecond) // longer than a beat
		beats(5 * time.Second)
		if n := beats(27 * time.Second); n < 8 || n > 13 {
			t.Errorf("%d beats of a slow store in 27 s, want one in 2.7", n)
		}
		if l := m.Lease(); l.LeaseFor != 3*slowestPace*store.DefaultBeat || l.Missed != 0 {
			t.Errorf("the lease of a slow store: %v, missed %d", l.LeaseFor, l.Missed)
		}
		s.take(time.Millisecond)
		beats(5 * time.Second)
		if n := beats(20 * time.Second); n < 35 || m.Lease().LeaseFor != 3*store.DefaultBeat {
			t.Errorf("%d beats in 20 s once it is quick again, leases of %v", n, m.Lease().LeaseFor)
		}
		s.breakBy("error")
		if n := failed(20 * time.Second); n < 35 {
			t.Errorf("%d beats in 20 s that fail at once", n)
		}
		if _, _, beat := s.count(); beat != store.DefaultBeat {
			t.Errorf("beats that fail at once are %v apart", beat)
		}
		s.breakBy("")
		s.take(700 * time.Millisecond)
		beats(10 * time.Second)
		s.take(time.Millisecond)
		s.breakBy("error")
		time.Sleep(3 * time.Second)
		if n := failed(20 * time.Second); n < 35 {
			t.Errorf("%d beats in 20 s that fail at once, after those of a slow store", n)
		}
		s.breakBy("")
		if n := beats(time.Second); n == 0 {
			t.Error("a store that is back is not asked")
		}
	})
}
