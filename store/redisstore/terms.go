package redisstore

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// terms are what the scripts need to know of a limit, in whole numbers that a
// double holds exactly. Of a token bucket, a microsecond has unit units and a
// token takes interval; of a window, unit is 0 and interval its length in
// microseconds; of slots, unit is the lease in microseconds.
type terms struct {
	id, fingerprint          [8]byte
	unit, interval, capacity uint64
}

// most bounds a full bucket, so that two of them are below 2^53.
const most = 1 << 52

// Check reports whether a limit can be counted in Redis: in whole microseconds
// and in whole numbers below 2^52. A bucket of many tokens whose rate has no
// simple fraction cannot, say one of 100003 tokens a day.
func Check(l *store.Limit) error {
	_, err := termsOf(l)
	return err
}

func termsOf(l *store.Limit) (t terms, err error) {
	switch {
	case l.Kind == store.Slots:
		t.unit, t.capacity = uint64((l.Lease+time.Microsecond-1)/time.Microsecond), uint64(l.Max)
	case l.Algorithm == store.FixedWindow:
		t.interval, t.capacity = uint64(l.Rate.Period/time.Microsecond), uint64(l.Burst)
		if l.Rate.Period%time.Microsecond != 0 {
			err = fmt.Errorf("redisstore: limit %s: a window must be a whole number of microseconds, got %s", l.Name, l.Rate.Period)
		}
	default:
		t.unit, t.interval, t.capacity = bucket(uint64(l.Rate.Count), uint64(l.Rate.Period), uint64(l.Burst))
	}
	if t.capacity == 0 || max(t.unit, t.interval, t.capacity) > most {
		err = fmt.Errorf("redisstore: limit %s: a burst of %d at %s is too fine to count exactly; lower the burst or use a simpler rate", l.Name, max(l.Burst, l.Max), l.Rate)
	}
	binary.BigEndian.PutUint64(t.id[:], l.ID)
	binary.BigEndian.PutUint64(t.fingerprint[:], l.Fingerprint)
	return t, err
}

// bucket is how many units a microsecond has and a token takes, as few as can
// be, and how many a full bucket; all are 0 when a word is too small.
func bucket(count, period, burst uint64) (unit, interval, capacity uint64) {
	g := gcd(count, period)
	count, period = count/g, period/g
	g = gcd(1000, period)
	over, unit := bits.Mul64(count, 1000/g)
	interval = period / g
	more, capacity := bits.Mul64(interval, burst)
	if over > 0 || more > 0 {
		return 0, 0, 0
	}
	return unit, interval, capacity
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
