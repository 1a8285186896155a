package store

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/plimsoll-go/plimsoll/limit"
)

func TestAlgorithmWords(t *testing.T) {
	for a := TokenBucket; a <= LeakyBucket; a++ {
		if got, err := ParseAlgorithm(a.String()); got != a || err != nil {
			t.Errorf("%s parses as %d, %v", a, got, err)
		}
	}
	for _, word := range []string{"", "Token-Bucket", "gcra", "sliding"} {
		if _, err := ParseAlgorithm(word); err == nil {
			t.Errorf("%q is an algorithm", word)
		}
	}
}

func TestNewTokens(t *testing.T) {
	for _, c := range []struct {
		a     Algorithm
		rate  limit.Rate
		burst int64
		want  int64 // Burst; 0 is an error
	}{
		{TokenBucket, limit.Per(10, time.Second), 0, 10}, {TokenBucket, limit.Per(10, time.Second), 3, 3}, {TokenBucket, limit.Per(10, time.Second), -1, 0},
		{FixedWindow, limit.Per(10, time.Second), 3, 10}, {SlidingWindow, limit.Per(10, time.Second), 3, 10},
		{SlidingWindow, limit.Per(math.MaxInt32+1, time.Second), 0, 0},
		{SlidingLog, limit.Per(10, time.Second), 0, 10}, {SlidingLog, limit.Per(1001, time.Second), 0, 0},
		{StrictWindow, limit.Per(10, time.Second), 0, 10}, {LeakyBucket, limit.Per(10, time.Second), 0, 1}, {LeakyBucket, limit.Per(10, time.Second), 5, 6},
		{LeakyBucket, limit.Per(10, time.Second), -1, 0}, {LeakyBucket, limit.Per(1, 24*time.Hour), 0, 0},
		{LeakyBucket + 1, limit.Per(10, time.Second), 0, 0}, {TokenBucket, limit.Rate{}, 1, 0}, {FixedWindow, limit.Per(1, -1), 0, 0},
	} {
		l, err := NewTokens("name", c.a, c.rate, c.burst)
		if (err == nil) != (c.want > 0) || err == nil && l.Burst != c.want {
			t.Errorf("algorithm %d at %s with a burst of %d: %+v, %v", c.a, c.rate, c.burst, l, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	var limits []*Limit
	add := func(l *Limit, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	for a := TokenBucket; a <= LeakyBucket; a++ {
		add(NewTokens("name", a, limit.Per(10, time.Second), 9))
		add(NewTokens("name", a, limit.Per(11, time.Second), 9))
	}
	add(NewQuota("name", 10, limit.Calendar{Unit: limit.Day}))
	add(NewQuota("name", 10, limit.Calendar{Unit: limit.Day, Zone: berlin}))
	add(NewQuota("name", 10, limit.Calendar{Unit: limit.Month}))
	add(NewQuota("name", 11, limit.Calendar{Unit: limit.Month}))
	prints := map[uint64]bool{}
	for _, l := range limits {
		if prints[l.Fingerprint] || l.ID != limits[0].ID {
			t.Errorf("%s %s %+v: not told from another, or not the same limit", l.Algorithm, l.Rate, l.Window)
		}
		prints[l.Fingerprint] = true
	}
	if other, err := NewSlots("name", 1, time.Minute); err != nil || other.ID == limits[0].ID {
		t.Error("slots and tokens of one name are one limit")
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		a     Algorithm
		rate  limit.Rate
		burst int64
		want  limit.Rate
		most  int64
	}{
		{TokenBucket, limit.Per(100, time.Second), 50, limit.Per(100, 4*time.Second), 12},
		{TokenBucket, limit.Per(1, time.Second), 1, limit.Per(1, 4*time.Second), 1},
		{LeakyBucket, limit.Per(100, time.Second), 7, limit.Per(100, 4*time.Second), 2},
		{LeakyBucket, limit.Per(100, time.Second), 0, limit.Per(100, 4*time.Second), 1},
		{FixedWindow, limit.Per(100, time.Second), 0, limit.Per(25, time.Second), 25},
		{SlidingWindow, limit.Per(3, time.Second), 0, limit.Per(1, time.Second), 1},
		{SlidingLog, limit.Per(100, time.Second), 0, limit.Per(25, time.Second), 25},
		{StrictWindow, limit.Per(100, time.Second), 0, limit.Per(25, time.Second), 25},
	} {
		l, err := NewTokens("name", c.a, c.rate, c.burst)
		if err != nil {
			t.Fatal(err)
		}
		l.ChargeAfter = true
		s := l.Share(4)
		if s.Rate != c.want || s.Burst != c.most || !s.ChargeAfter || s.ID != l.ID || s.Fingerprint == l.Fingerprint && s.Burst != l.Burst {
			t.Errorf("a quarter of %s at %s: %+v", c.a, c.rate, s)
		}
		if l.Share(1) != l || l.Share(0) != l {
			t.Errorf("%s: the share of one worker is the whole", c.a)
		}
	}
}

func TestShareOfSlotsAndQuotas(t *testing.T) {
	s, err := NewSlots("name", 10, time.Minute)
	if err != nil || s.Share(4).Max != 2 || s.Share(100).Max != 1 || s.Share(4).Fingerprint == s.Fingerprint {
		t.Errorf("shares of 10 slots: %+v, %+v, %v", s.Share(4), s.Share(100), err)
	}
	c := limit.Calendar{Unit: limit.Month}
	q, err := NewQuota("name", 1000, c)
	if err != nil || q.Share(4).Window != (limit.FixedWindow{Limit: 250, Calendar: c}) || q.Share(4).Burst != 250 {
		t.Errorf("a quarter of a quota: %+v, %v", q.Share(4), err)
	}
	for _, unit := range []limit.Unit{limit.NoUnit, 99} {
		if _, err := NewQuota("name", 1, limit.Calendar{Unit: unit}); err == nil {
			t.Errorf("unit %d is accepted", unit)
		}
	}
	if _, err := NewQuota("name", 0, c); err == nil {
		t.Error("a quota of nothing needs no store, and was accepted")
	}
}

// A leaky bucket that holds is another limit than one that does not, and its
// share holds at the same part of its burst.
func TestNewLeaky(t *testing.T) {
	for _, c := range []struct {
		burst, delay int64
		want         bool
	}{{5, 0, true}, {5, 2, true}, {5, 5, true}, {0, 0, true}, {5, 6, false}, {5, -1, false}, {-1, 0, false}} {
		l, err := NewLeaky("name", limit.Per(10, time.Second), c.burst, c.delay)
		if (err == nil) != c.want {
			t.Fatalf("burst %d, delay %d: %v", c.burst, c.delay, err)
		}
		if !c.want {
			continue
		}
		nodelay, err := NewTokens("name", LeakyBucket, limit.Per(10, time.Second), c.burst)
		if err != nil || (l.Fingerprint == nodelay.Fingerprint) != (c.delay == c.burst) || l.Delay != c.delay || l.Burst != c.burst+1 {
			t.Errorf("burst %d, delay %d: %+v, %v", c.burst, c.delay, l, err)
		}
	}
	held, err := NewLeaky("name", limit.Per(10, time.Second), 15, 4)
	if err != nil {
		t.Fatal(err)
	}
	if s := held.Share(4); s.Burst != 4 || s.Delay != 1 || s.Rate != limit.Per(10, 4*time.Second) {
		t.Errorf("a quarter of a burst of 15, of which 4 pass at once: %+v", s)
	}
	if s := held.Share(100); s.Burst != 1 || s.Delay != 0 {
		t.Errorf("a hundredth of it: %+v", s)
	}
}
