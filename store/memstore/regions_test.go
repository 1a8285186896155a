package memstore

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

func tokens(t testing.TB, name string, a store.Algorithm, r limit.Rate, burst int64) *store.Limit {
	t.Helper()
	l, err := store.NewTokens(name, a, r, burst)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Runs do not overlap, and the free ones are used again.
func TestRegions(t *testing.T) {
	var rs regions
	for c := range classes {
		size := 8 << c
		var taken []uint32
		for i := range 40 {
			n := rs.take(c)
			run := rs.at(c, n)
			if len(run) != size || cap(run) != size || slices.Max(run) != 0 {
				t.Fatalf("class %d: a run of %d of %d words, with %d in it", c, len(run), size, slices.Max(run))
			}
			for j := range run {
				run[j] = int64(i + 1)
			}
			taken = append(taken, n)
		}
		for i, n := range taken {
			if run := rs.at(c, n); slices.Min(run) != int64(i+1) || slices.Max(run) != int64(i+1) {
				t.Fatalf("class %d: run %d was written by another", c, n)
			}
		}
		pages := len(*rs.classes[c].pages.Load())
		for range 3 {
			for _, n := range taken {
				rs.give(c, n)
			}
			for i := range taken {
				taken[i] = rs.take(c)
			}
		}
		if now := len(*rs.classes[c].pages.Load()); now != pages {
			t.Errorf("class %d: %d pages after all runs came back, %d before", c, now, pages)
		}
	}
	for words, want := range map[int]int{1: 0, 8: 0, 9: 1, 16: 1, 17: 2, 1000: 7, 1024: 7} {
		if got := classOf(words); got != want {
			t.Errorf("%d words are of class %d, want %d", words, got, want)
		}
	}
}

// What logs and strict windows remember is forgotten with them.
func TestRegionsComeBack(t *testing.T) {
	s := open(t, Config{MaxKeys: 300})
	log, strict := tokens(t, "log", store.SlidingLog, limit.Per(100, time.Second), 0), tokens(t, "strict", store.StrictWindow, limit.Per(100, time.Second), 0)
	pages := func() (n int) {
		for i := range s.shards {
			for c := range classes {
				if p := s.shards[i].regions.classes[c].pages.Load(); p != nil {
					n += len(*p)
				}
			}
		}
		return n
	}
	peak := 0
	for round := range 20 {
		now := begin + int64(round)*int64(time.Minute)
		for n := range 100 {
			for range n % 30 {
				ask(t, s, now, ownerOf(round*1000+n), log, strict)
			}
		}
		if round == 1 {
			peak = pages()
		}
	}
	if got := pages(); got > peak+1 {
		t.Errorf("%d pages after twenty rounds of other owners, %d after two", got, peak)
	}
	for n := range 100 { // a reset gives the region back at once
		b := ask(t, s, begin+int64(time.Hour), ownerOf(n), log, strict)
		for i, l := range []*store.Limit{log, strict} {
			if err := s.Return(t.Context(), []store.Return{{Owner: ownerOf(n), Limit: l, Handle: b.Grants[i].Handle, At: b.Now, Now: b.Now, Reset: true}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := pages(); got > peak+1 {
		t.Errorf("%d pages after resets, %d before", got, peak)
	}
}

func TestQuota(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.NewQuota("quota", 3, limit.Calendar{Unit: limit.Month, Zone: berlin})
	if err != nil {
		t.Fatal(err)
	}
	at := func(month time.Month, day, hour int) int64 {
		return time.Date(2026, month, day, hour, 0, 0, 0, berlin).UnixNano()
	}
	s, o := open(t, Config{}), ownerOf(1)
	for range 3 {
		ask(t, s, at(10, 1, 0), o, l)
	}
	if g := ask(t, s, at(10, 31, 23), o, l).Grants[0]; g.OK || g.RetryAfter != time.Hour {
		t.Errorf("on the 31st: %+v, want refused for an hour", g)
	}
	if g := ask(t, s, at(11, 1, 0), o, l).Grants[0]; !g.OK || g.Remaining != 2 || g.ResetAfter != 30*24*time.Hour {
		t.Errorf("on the next 1st: %+v", g)
	}
}
