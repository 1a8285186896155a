package ratelimit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/stages/ratelimit"
	"github.com/plimsoll-go/plimsoll/store"
)

// The faults_*_test.go files hold what other rate limiters were found to do
// wrong, each as the smallest sequence that shows it, with the right answer.
// They run on the embedded store in virtual time, which begins on a whole
// second, minute, hour, day, month and year.
//
// What is tested elsewhere already is listed below, and the list is held to
// name tests that exist.

// fault is one of them: what goes wrong, under which limits, and the sequence.
type fault struct {
	name   string
	limits []ratelimit.Limit
	run    func(*testing.T, *ratelimit.Limiter)
}

func runFaults(t *testing.T, faults []fault) {
	t.Helper()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { limiting(t, f.run, f.limits...) })
	}
}

// one is a list of one limit.
func one(a store.Algorithm, count int64, period time.Duration) []ratelimit.Limit {
	return []ratelimit.Limit{of(a, count, period)}
}

// of is a limit that passes count at once, and has them all again after two
// periods at most.
func of(a store.Algorithm, count int64, period time.Duration) ratelimit.Limit {
	l := ratelimit.Limit{Name: "limit", Algorithm: a, Rate: limit.Per(count, period)}
	if a == store.LeakyBucket {
		l.Burst, l.NoDelay = count-1, true
	}
	return l
}

// quota is a limit of the calendar, in a place.
func quota(t *testing.T, count int64, unit limit.Unit, place string) ratelimit.Limit {
	t.Helper()
	zone, err := time.LoadLocation(place)
	if err != nil {
		t.Fatal(err)
	}
	return ratelimit.Limit{Name: "quota", Rate: limit.Per(count, time.Hour), Calendar: limit.Calendar{Unit: unit, Zone: zone}}
}

// everyAlgorithm runs a sequence under a limit of each algorithm.
func everyAlgorithm(t *testing.T, count int64, period time.Duration, run func(*testing.T, *ratelimit.Limiter)) {
	t.Helper()
	for a := store.TokenBucket; a <= store.LeakyBucket; a++ {
		t.Run(a.String(), func(t *testing.T) { limiting(t, run, of(a, count, period)) })
	}
}

// allowed counts how many of n calls of cost 1 are.
func allowed(t *testing.T, l *ratelimit.Limiter, key string, n int) (count int64) {
	t.Helper()
	for range n {
		if take(t, l, key, 1).Allowed {
			count++
		}
	}
	return count
}

// left is what Peek says remains.
func left(t *testing.T, l *ratelimit.Limiter, key string) int64 {
	t.Helper()
	a, err := l.Peek(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a.Remaining
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// until moves virtual time to a moment.
func until(moment time.Time) { pass(time.Until(moment)) }

// on runs a sequence from a moment on.
func on(t *testing.T, moment time.Time, run func(*testing.T, *ratelimit.Limiter), limits ...ratelimit.Limit) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		until(moment)
		run(t, limiter(t, limits...))
	})
}

// elsewhere is what a test elsewhere is about, its directory, and its name or
// that of a rule of a kit.
type elsewhere struct{ what, dir, test string }

// testedElsewhere are the faults whose tests stand by the code that they are
// about.
var testedElsewhere = []elsewhere{
	{"every node has a full copy of the limit, and thrice as much passes", "store/storetest", "loans/part"},
	{"the caller's clock is believed, and an hour ahead fills the bucket", "store/redisstore", "TestServersClock"},
	{"read, then write: many read the same count", "store/storetest", "race/last-token"},
	{"compare and swap gives up under contention, and answers 500", "store/memstore", "TestHotKeyCountsExactly"},
	{"a refusal is charged to the limits that passed", "store/storetest", "batch/all-or-none"},
	{"a count read together with the end of an older window", "store/storetest", "race/unseen"},
	{"whole milliseconds and thousandths make 1/min slower by 4 %", "limit", "TestLeakyBucketAnswersAsNGINX"},
	{"one request more than the queue holds", "limit", "TestLeakyBucketAnswersAsNGINX"},
	{"the interval of a fast rate is rounded down to a nanosecond", "limit", "TestGCRARateIsExact"},
	{"rates that are no whole number of units", "limit", "TestGCRAOfOddRatesIsNotFaster"},
	{"a month of 30 days, a year of 356, weeks that begin on Thursday", "limit", "TestCalendarAround"},
	{"a calendar with gaps or overlaps", "limit", "TestCalendarHasNoGaps"},
	{"a clock that is set back blocks for as long, or refills", "store/storetest", "clock/back"},
	{"stamps that arrive out of order refill the bucket", "store/storetest", "clock/stale"},
	{"refunds twice and too large", "store/storetest", "return/never-above-full"},
	{"a refund of what has refilled since", "store/storetest", "return/late"},
	{"a refund of what was never taken", "store/storetest", "return/unknown"},
	{"a changed limit loses or invents state", "store/storetest", "change/raise"},
	{"a lowered limit blocks for its old time", "store/storetest", "change/lower"},
	{"a refund under another limit than the charge", "store/storetest", "change/return"},
	{"keys in use are forgotten at the bound", "store/memstore", "TestAtTheBoundNobodyWhoOwesIsForgotten"},
	{"keys that are not used are kept for ever", "store/memstore", "TestMemoryComesBack"},
	{"a key without an end blocks its owner for ever", "store/redisstore", "TestEveryKeyEnds"},
	{"the clock of each node cuts windows elsewhere", "store/redisstore", "TestServersClock"},
	{"data of another type under the key aborts the server", "store/redisstore", "TestWrongType"},
	{"flushed scripts are reloaded by everybody at once", "store/redisstore", "TestScriptsFlushed"},
	{"a refusal writes", "store/redisstore", "TestRefusalWritesNothing"},
	{"what may have been done is done again", "store/redisstore", "TestNothingIsChargedTwice"},
	{"keys of one request in several slots of a cluster", "store/redisstore", "TestCluster"},
	{"a pause of the store piles goroutines up", "store", "TestCallsUnderWayAreBounded"},
	{"an outage is waited for by every request", "store", "TestAnOutage"},
	{"the default error handler panics", "stages/ratelimit", "TestLimiterWithoutItsStore"},
	{"two parts of a key run together", "identity", "TestSourcesDoNotCollide"},
	{"addresses that cannot be read share a key with others", "identity", "TestAddressesAndKeys"},
	{"the leftmost forwarded address is believed", "identity", "TestNothingAddedOnTheLeftCounts"},
	{"a missing header falls back to something else", "stages/ratelimit", "TestOwners"},
	{"a rate of 0 passes one, or divides by it", "stages/ratelimit", "TestARateOfNothingRefusesWithoutAStore"},
	{"Retry-After is a fraction, rounded down, or a date in UTC", "middleware/httpmw", "TestRetryAfter"},
	{"the reset of a month is 30 days after its first", "middleware/httpmw", "TestPolicyOfAQuota"},
	{"what shadow would refuse is not counted", "pipeline", "TestShadow"},
}

func TestWhatIsTestedElsewhereIs(t *testing.T) {
	for _, e := range append(promises, testedElsewhere...) {
		files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(e.dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", e.dir, len(files), err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "func "+e.test) || strings.Contains(string(text), fmt.Sprintf("%q,", e.test))
		}
		if !found {
			t.Errorf("%s: there is no %s in %s", e.what, e.test, e.dir)
		}
	}
}
