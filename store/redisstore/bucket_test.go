package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// versions are two limits of one owner, and other versions of the first.
func versions(t *testing.T) (limits []*store.Limit) {
	t.Helper()
	for _, v := range []struct {
		name  string
		a     store.Algorithm
		rate  limit.Rate
		burst int64
	}{
		{"one", store.TokenBucket, limit.Per(7, 3*time.Second), 5}, {"two", store.TokenBucket, limit.Per(1, time.Second), 3},
		{"one", store.TokenBucket, limit.Per(999_983, 86_399*time.Second), 1e6}, {"one", store.FixedWindow, limit.Per(5, time.Second), 0},
	} {
		l, err := store.NewTokens(v.name, v.a, v.rate, v.burst)
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	return limits
}

// The short way of one claim on one bucket grants, refuses and tells what the
// long one would: a peek goes there. That holds with other limits of the owner,
// changed ones, and a clock that goes back a little or far. What is written
// stays for as long as it is owed.
func TestBucketGoesTheShortWay(t *testing.T) {
	srv := start(t)
	s, w, limits := open(t, srv), &watch{now: begin}, versions(t)
	w.wind(s)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeats
	steps := []time.Duration{0, time.Microsecond, 333_333 * time.Microsecond, time.Second, 5 * time.Second, -time.Millisecond, -time.Minute}
	refused := 0
	for i := range 3000 {
		l := limits[0]
		if i%50 > 20 { // each owner begins with one limit, and then meets the others
			l = limits[random.IntN(len(limits))]
		}
		w.advance(steps[random.IntN(len(steps))])
		b := batchOf(fmt.Sprint(i/50), l)
		b.Claims[0].Cost, b.Claims[0].Group = 1+int64(random.IntN(9))*l.Burst/7, store.Group(random.IntN(2))
		b.Peek = true
		said := claim(t, s, b).Grants[0]
		b.Peek = false
		got := claim(t, s, b).Grants[0]
		if got != said {
			t.Fatalf("call %d, cost %d of %s: %+v, and a peek said %+v", i, b.Claims[0].Cost, l.Rate, got, said)
		}
		if !got.OK {
			refused++
			continue
		}
		ends := time.Duration(srv.do(t, "PTTL", s.keyOf(b.Claims[0].Owner, l)).(int64)) * time.Millisecond
		if least := got.ResetAfter + time.Hour - 10*time.Second; ends < least {
			t.Fatalf("call %d: the key ends in %s, and is owed for %s", i, ends, got.ResetAfter)
		}
	}
	if refused < 100 || refused > 2900 {
		t.Errorf("%d calls were refused: this says little", refused)
	}
}

// Who is refused by the short way writes nothing.
func TestBucketThatRefusesIsLeftAlone(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 2)
	claim(t, s, batchOf("a", l))
	claim(t, s, batchOf("a", l))
	key := s.keyOf(store.KeyOf("a"), l)
	before, ends := srv.do(t, "GET", key), srv.do(t, "PEXPIRETIME", key)
	b := claim(t, s, batchOf("a", l))
	if g := b.Grants[0]; g.OK || g.Remaining != 0 || g.RetryAfter <= 0 || g.RetryAfter > 30*time.Minute {
		t.Errorf("the third of two is told %+v", g)
	}
	if after, then := srv.do(t, "GET", key), srv.do(t, "PEXPIRETIME", key); after != before || then != ends {
		t.Error("a refusal wrote")
	}
}

// A claim on a key with other data is refused by the short way too, and leaves
// it as it is.
func TestBucketOnOtherData(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), bucketOf(t, 2)
	key := s.keyOf(store.KeyOf("a"), l)
	for _, data := range []string{"", "x", strings.Repeat("x", 57)} {
		srv.do(t, "SET", key, data)
		if err := s.Claim(t.Context(), batchOf("a", l)); !errors.Is(err, store.ErrKey) || srv.do(t, "GET", key) != data {
			t.Errorf("%q: error %v, and then there is %q", data, err, srv.do(t, "GET", key))
		}
	}
}
