package ratelimit_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// promises are what must hold for any sequence of calls, and the tests that hold
// it: of the arithmetic for each algorithm, of the drivers by their kit.
var promises = []elsewhere{
	{"what is admitted in any time is at most what the algorithm promises", "limit", "TestEnvelopes"},
	{"what is admitted in any time is at most what the algorithm promises", "limit", "TestGCRAKeepsItsPromiseInEveryWindow"},
	{"what is admitted in any time is at most what the algorithm promises", "store/storetest", "tokens/envelope"},
	{"the same with parts that are lent to workers", "store", "TestLeasesKeepTheBound"},
	{"a refusal leaves the state as it was", "limit", "TestAnswersAreExact"},
	{"a refusal leaves the state as it was", "store/storetest", "tokens/refused-costs-nothing"},
	{"waiting out RetryAfter admits, the smallest unit earlier does not", "limit", "TestAnswersAreExact"},
	{"waiting out RetryAfter admits, the smallest unit earlier does not", "store/storetest", "tokens/wait"},
	{"what remains is the most that passes at once", "store/storetest", "tokens/remaining"},
	{"a refund on the spot restores, never above full", "limit", "TestGCRAGiveOnTheSpotRestores"},
	{"a refund on the spot restores, never above full", "store/storetest", "return/restores"},
	{"all limits or none", "store/storetest", "batch/all-or-none"},
	{"all limits or none", "stages/ratelimit", "TestLimiterIsAllOrNone"},
	{"every key has an end, and not before all has refilled", "store/redisstore", "TestEveryKeyEnds"},
	{"every key has an end, and not before all has refilled", "store/memstore", "TestMemoryComesBack"},
	{"different owners never share a state", "store", "TestKeysOfDifferentPartsDiffer"},
	{"different owners never share a state", "store/storetest", "tokens/apart"},
	{"raising a limit lowers nothing, lowering mints nothing", "stages/ratelimit", "TestChangesMintNothing"},
	{"raising a limit lowers nothing, lowering mints nothing", "limit", "TestGCRAConvertProperties"},
	{"a clock that steps by an hour admits no more than a limit at once", "limit", "TestCountersUnderClockSteps"},
	{"numbers at the ends of their range neither panic nor admit above the burst", "stages/ratelimit", "TestExtremes"},
	{"all drivers answer alike", "store/storetest", "history/model"},
}

// asked is what the embedded store answers to a claim of one owner.
func asked(t *rapid.T, d store.Driver, l *store.Limit, cost, now int64) store.Grant {
	g, err := store.ClaimOne(t.Context(), d, store.Claim{Owner: store.KeyOf("k"), Limit: l, Cost: cost}, now)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A limit that is raised leaves at least as much, one that is lowered at most
// as much and no more than it has; of any algorithm, however much is spent.
func TestChangesMintNothing(t *testing.T) {
	d := memory(t)
	for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				counts := rapid.Int64Range(1, 900)
				from, to := counts.Draw(t, "from"), counts.Draw(t, "to")
				name := rapid.StringMatching("[a-z]{12}").Draw(t, "name")
				made := func(count int64) *store.Limit {
					l, err := store.NewTokens(name, a, limit.Per(count, time.Minute), count)
					if err != nil {
						t.Fatal(err)
					}
					return l
				}
				before, after := made(from), made(to)
				now := begin.UnixNano() + rapid.Int64Range(0, int64(time.Minute)).Draw(t, "now")
				asked(t, d, before, rapid.Int64Range(0, before.Burst).Draw(t, "spent"), now)
				left := asked(t, d, before, 0, now).Remaining
				changed := asked(t, d, after, 0, now).Remaining
				if to >= from && changed < left || to <= from && changed > left || changed > after.Burst {
					t.Fatalf("changed from %d to %d with %d left: %d are left", from, to, left, changed)
				}
				if g := asked(t, d, after, changed+1, now); g.OK {
					t.Fatalf("%d more than what is left was granted", 1)
				}
			})
		})
	}
}

var begin = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// Counts, periods, bursts, costs and moments at the ends of their range: a limit
// is refused or counts, nothing panics, and no instant sees more than a burst.
func TestExtremes(t *testing.T) {
	d := memory(t)
	numbers := rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, 2, 3, 999, 1000, 1001, math.MaxInt32, math.MaxInt32 + 1, 1 << 52, 1 << 62, math.MaxInt64 - 1, math.MaxInt64, -1, math.MinInt64}),
		rapid.Int64())
	moments := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, 1e18, math.MaxInt64, math.MaxInt64 - 1}), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		a := store.Algorithm(rapid.IntRange(0, int(store.LeakyBucket)).Draw(t, "algorithm"))
		name := rapid.StringMatching("[a-z]{12}").Draw(t, "name")
		l, err := store.NewTokens(name, a, limit.Per(numbers.Draw(t, "count"), time.Duration(numbers.Draw(t, "period"))), numbers.Draw(t, "burst"))
		if err != nil {
			return
		}
		now := moments.Draw(t, "now")
		granted := uint64(0)
		for range rapid.IntRange(1, 8).Draw(t, "asks") {
			cost := numbers.Draw(t, "cost")
			g := asked(t, d, l, cost, now)
			if g.OK {
				granted += uint64(cost)
			}
			if g.OK && cost < 0 || granted > uint64(l.Burst) || g.Remaining < 0 || g.Remaining > l.Burst || g.RetryAfter < store.Never || g.ResetAfter < 0 {
				t.Fatalf("%s %s burst %d, cost %d at %d, %d granted: %+v", a, l.Rate, l.Burst, cost, now, granted, g)
			}
		}
	})
}
