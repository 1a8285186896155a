package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// A limit that is changed again and again takes numbers back, and what is
// spent stays spent.
func TestVersionsAreTakenBack(t *testing.T) {
	s := open(t, Config{})
	s.versions.most = 16
	spent := ownerOf(1)
	for range 50 {
		ask(t, s, begin, spent, bucket(t, "rate", limit.Per(1, time.Hour), 100))
	}
	for i := range int64(500) {
		l := bucket(t, "rate", limit.Per(1, time.Hour), 200+i)
		b := &store.Batch{Now: begin, Claims: []store.Claim{{Owner: spent, Limit: l}}, Grants: make([]store.Grant, 1)}
		if err := s.Claim(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		if got := b.Grants[0].Remaining; got != 150+i {
			t.Fatalf("burst %d: %d remain, want %d", 200+i, got, 150+i)
		}
	}
}

func TestVersionsInUseAreNotTakenBack(t *testing.T) {
	s := open(t, Config{})
	s.versions.most = 16
	var limits []*store.Limit
	for i := range int64(15) {
		limits = append(limits, bucket(t, "rate", limit.Per(1, time.Hour), 10+i))
		ask(t, s, begin, ownerOf(int(i)), limits[i])
	}
	b := &store.Batch{Now: begin, Claims: []store.Claim{{Owner: ownerOf(99), Limit: bucket(t, "rate", limit.Per(1, time.Hour), 99), Cost: 1}}, Grants: make([]store.Grant, 1)}
	if err := s.Claim(context.Background(), b); !errors.Is(err, errVersions) {
		t.Fatalf("a 16th limit in use: %v", err)
	}
	for i, l := range limits {
		if got := ask(t, s, begin, ownerOf(i), l).Grants[0].Remaining; got != int64(8+i) {
			t.Errorf("limit %d: %d remain, want %d", i, got, 8+i)
		}
	}
	// An hour later they owe less, but owe; two hours later they can be forgotten.
	slot := slots(t, 1, time.Minute)
	if !ask(t, s, begin, ownerOf(99), slot).Grants[0].OK {
		t.Error("slots need no number")
	}
}

// Limits change, and numbers are taken back, while others ask.
func TestVersionsRace(t *testing.T) {
	const goroutines, each = 8, 300
	s := open(t, Config{MaxKeys: 4000})
	s.versions.most = 32
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			owner := ownerOf(g)
			for i := range int64(each) {
				l := bucket(t, fmt.Sprint("rate", g%2), limit.Per(1, time.Hour), each+i%50+int64(g))
				if got := ask(t, s, begin, owner, l).Grants[0]; !got.OK || got.Remaining != each+i%50+int64(g)-i-1 {
					t.Errorf("owner %d took %d before: %+v", g, i, got)
					return
				}
			}
		})
	}
	wg.Wait()
}
