package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// A fleet that reports here hears what it hears of a ledger in memory.
func TestSyncIsALedger(t *testing.T) {
	srv := start(t)
	w, ledger := &watch{now: begin}, store.Ledger{}
	var workers []*Store
	for range 3 {
		s := open(t, srv)
		w.wind(s)
		workers = append(workers, s)
	}
	leases := make([]float64, len(workers))
	for round := range 30 {
		i := round % 3
		if round > 15 && i == 2 {
			continue // it falls silent
		}
		w.advance(160 * time.Millisecond)
		r := store.Report{Worker: fmt.Sprint("w", i), Epoch: 1, Now: w.read(), Capacity: 100, Reserve: 0.2, Lease: leases[i],
			InFlight: store.PerClass{0, float64(10 * i), 0, 3}, Demanded: store.PerClass{0, float64(20 * i), 0, 3}}
		want := ledger.Sync(r)
		r.Now = 7 // a worker's clock is no matter
		got, err := workers[i].Sync(t.Context(), r)
		if err != nil || got != want {
			t.Fatalf("report %d: got %+v, want %+v, %v", round, got, want, err)
		}
		leases[i] = got.Lease
	}
}

// Workers that report at once take nothing from each other.
func TestSyncAtOnce(t *testing.T) {
	srv := start(t)
	var wg sync.WaitGroup
	for i := range 5 {
		s := open(t, srv)
		wg.Go(func() {
			for range 6 {
				r := store.Report{Worker: fmt.Sprint("w", i), Epoch: 1, Beat: time.Minute, Capacity: 10, InFlight: store.PerClass{1}}
				if _, err := s.Sync(context.Background(), r); err != nil {
					t.Errorf("worker %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	v, err := open(t, srv).Sync(t.Context(), store.Report{Worker: "last", Epoch: 1, Beat: time.Minute, Capacity: 10})
	if err != nil || v.Live != 6 || v.Capacity != 60 || v.InFlight.Sum() != 5 {
		t.Errorf("after all reports: %+v, %v", v, err)
	}
}

func TestSyncOfAnothersData(t *testing.T) {
	srv := start(t)
	s := open(t, srv)
	for _, set := range [][]any{{"SET", "plimsoll:{fleet}ledger", "something that is no ledger at all"}, {"LPUSH", "plimsoll:{fleet}ledger", "x"}} {
		srv.do(t, "FLUSHALL")
		srv.do(t, set...)
		if _, err := s.Sync(t.Context(), store.Report{Worker: "w", Epoch: 1}); !errors.Is(err, store.ErrKey) {
			t.Errorf("%v: error %v", set, err)
		}
	}
}
