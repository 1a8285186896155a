package redisstore

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/limit"
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

// Check reports whether a limit can be counted in Redis: it is one on slots, a
// token bucket, or a fixed window without a calendar, in whole microseconds and
// in whole numbers below 2^52. A bucket whose rate has no fraction so simple is
// counted at the nearest slower rate, by less than a billionth; a bucket too
// large for that is refused.
func Check(l *store.Limit) error {
	_, err := termsOf(l)
	return err
}

func termsOf(l *store.Limit) (t terms, err error) {
	switch {
	case l.Kind == store.Slots:
		t.unit, t.capacity = uint64((l.Lease+time.Microsecond-1)/time.Microsecond), uint64(l.Max)
	case l.Algorithm == store.TokenBucket:
		t.unit, t.interval, _ = limit.Units(l.Rate, time.Microsecond, l.Burst, most)
		t.capacity = t.interval * uint64(l.Burst)
	case l.Algorithm == store.FixedWindow && l.Window.Calendar.Unit == limit.NoUnit:
		t.interval, t.capacity = uint64(l.Rate.Period/time.Microsecond), uint64(l.Burst)
		if l.Rate.Period%time.Microsecond != 0 {
			return t, fmt.Errorf("redisstore: limit %s: a window must be a whole number of microseconds, got %s", l.Name, l.Rate.Period)
		}
	default:
		return t, fmt.Errorf("redisstore: limit %s: its algorithm is not counted in Redis; use a token bucket, or a fixed window without a calendar", l.Name)
	}
	if t.capacity == 0 || max(t.unit, t.interval, t.capacity) > most {
		err = fmt.Errorf("redisstore: limit %s: a burst of %d at %s is too fine to count exactly; lower the burst or use a simpler rate", l.Name, max(l.Burst, l.Max), l.Rate)
	}
	binary.BigEndian.PutUint64(t.id[:], l.ID)
	binary.BigEndian.PutUint64(t.fingerprint[:], l.Fingerprint)
	return t, err
}
