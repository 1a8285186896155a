package redisstore

import (
	"encoding/binary"
	"fmt"
	"iter"
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
	all, err := termsOfAll(b)
	switch {
	case err != nil:
		return job{}, err
	case b.Peek:
		return s.inRecords(b, all, "peek"), nil
	case simple(b, &all[0]):
		return s.bucketJob(&b.Claims[0], &all[0]), nil
	}
	way := ""
	if w, ok := leanWay(b, all); ok {
		way = w.String()
	}
	return s.inRecords(b, all, way), nil
}

func termsOfAll(b *store.Batch) ([]terms, error) {
	all := make([]terms, len(b.Claims))
	for i := range b.Claims {
		t, err := termsOf(b.Claims[i].Limit)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrKey, err)
		}
		all[i] = t
	}
	return all, nil
}

// inRecords is the call for any batch: the general one, a peek, or one that has
// a way of its own.
func (s *Store) inRecords(b *store.Batch, all []terms, way string) job {
	keys := make([]string, 0, 2)
	packed := make([]byte, 0, 52*len(b.Claims))
	for i := range inOrder(b.Claims) {
		c := &b.Claims[i]
		key := s.keyOf(c.Owner, c.Limit)
		place := slices.Index(keys, key)
		if place < 0 {
			place = len(keys)
			keys = append(keys, key)
		}
		packed = append(packed, byte(c.Limit.Kind), byte(c.Group))
		packed = binary.BigEndian.AppendUint16(packed, uint16(place+1))
		packed = all[i].append(packed)
		packed = appendFigure(packed, float64(c.Cost))
	}
	j := job{keys: keys, args: append(s.header(), b.ID.AppendTo(nil), way, packed)}
	if !b.Peek {
		j.way = way
	}
	return j
}

// inOrder are the claims as the script is told of them, and answers: slots last.
func inOrder(claims []store.Claim) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, kind := range [...]store.Kind{store.Tokens, store.Slots} {
			for i := range claims {
				if claims[i].Limit.Kind == kind && !yield(i) {
					return
				}
			}
		}
	}
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

// decode reads the answer of any way through the script to a batch.
func decode(answer any, b *store.Batch) error {
	switch answer := answer.(type) {
	case int64:
		if len(b.Claims) == 1 {
			return decodeOwed(answer, &b.Claims[0], &b.Grants[0])
		}
	case string:
		return decodeText(answer, b)
	}
	return fmt.Errorf("redisstore: claim: an answer of type %T to %d claims", answer, len(b.Claims))
}

func decodeText(answer string, b *store.Batch) error {
	tokens := 0
	for i := range b.Claims {
		if b.Claims[i].Limit.Kind == store.Tokens {
			tokens++
		}
	}
	switch len(answer) {
	case answerSize * len(b.Claims):
		for i := range inOrder(b.Claims) {
			b.Grants[i], answer = decodeRecord(answer), answer[answerSize:]
		}
		return nil
	case 1 + 8*(1+tokens+1):
		return decodeLean(answer, b)
	}
	return fmt.Errorf("redisstore: claim: an answer of %d bytes to %d claims", len(answer), len(b.Claims))
}

// decodeRecord reads the first record of a script's answer.
func decodeRecord(answer string) store.Grant {
	a := []byte(answer[:answerSize])
	return store.Grant{
		OK: a[0] == 1, Remaining: int64(figure(a[1:])), RetryAfter: microseconds(figure(a[9:])),
		ResetAfter: microseconds(figure(a[17:])), Handle: uint64(figure(a[25:])),
	}
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
