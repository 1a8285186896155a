package redisstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// answerSize is the length of a script's answer to one claim.
const answerSize = 33

// keyOf is where the state of a claim lies. The braces make all keys of one
// owner lie in one slot of a cluster.
func (s *Store) keyOf(owner store.Key, l *store.Limit) string {
	if l.Kind == store.Tokens {
		return s.prefix + "{" + owner.String() + "}t"
	}
	return s.prefix + "{" + owner.String() + "}s" + strconv.FormatUint(l.ID, 16)
}

// encode makes the call of the script for a batch.
func (s *Store) encode(b *store.Batch) (job, error) {
	var keys []string
	packed := make([]byte, 0, 52*len(b.Claims))
	for i := range b.Claims {
		c := &b.Claims[i]
		t, err := termsOf(c.Limit)
		if err != nil {
			return job{}, fmt.Errorf("%w: %w", store.ErrKey, err)
		}
		if simple(b, &t) {
			return s.ofBucket(c, &t), nil
		}
		key := s.keyOf(c.Owner, c.Limit)
		place := slices.Index(keys, key)
		if place < 0 {
			place = len(keys)
			keys = append(keys, key)
		}
		packed = append(packed, byte(c.Limit.Kind), byte(c.Group))
		packed = binary.BigEndian.AppendUint16(packed, uint16(place+1))
		packed = t.append(packed)
		packed = appendFigure(packed, float64(c.Cost))
	}
	peek := ""
	if b.Peek {
		peek = "1"
	}
	return job{keys: keys, args: append(s.header(), b.ID.AppendTo(nil), peek, packed)}, nil
}

// header are the arguments that all scripts begin with.
func (s *Store) header() []any { return append(make([]any, 0, 5), s.clock(), s.grace) }

func (t *terms) append(buf []byte) []byte {
	buf = append(buf, t.id[:]...)
	buf = append(buf, t.fingerprint[:]...)
	for _, v := range []uint64{t.unit, t.interval, t.capacity} {
		buf = appendFigure(buf, float64(v))
	}
	return buf
}

func appendFigure(buf []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(buf, math.Float64bits(v))
}

// decode reads a script's answer.
func decode(answer string, grants []store.Grant) error {
	if len(answer) != answerSize*len(grants) {
		return fmt.Errorf("redisstore: claim: an answer of %d bytes to %d claims", len(answer), len(grants))
	}
	for i := range grants {
		a := []byte(answer[i*answerSize : (i+1)*answerSize])
		grants[i] = store.Grant{
			OK: a[0] == 1, Remaining: int64(figure(a[1:])), RetryAfter: microseconds(figure(a[9:])),
			ResetAfter: microseconds(figure(a[17:])), Handle: uint64(figure(a[25:])),
		}
	}
	return nil
}

func figure(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }

func microseconds(v float64) time.Duration {
	switch {
	case v < 0:
		return store.Never
	case v >= math.MaxInt64/1000:
		return math.MaxInt64
	}
	return time.Duration(v) * time.Microsecond
}
