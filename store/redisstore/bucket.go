package redisstore

import (
	"github.com/plimsoll-go/plimsoll/store"
)

// simple reports whether a batch is one claim on a token bucket that could
// pass: what bucket.lua is for.
func simple(b *store.Batch, t *terms) bool {
	if len(b.Claims) != 1 || b.Peek || t.unit == 0 {
		return false
	}
	c := &b.Claims[0]
	return c.Limit.Kind == store.Tokens && c.Cost > 0 && uint64(c.Cost) <= t.capacity/t.interval
}

// ofBucket is the call of the script for such a batch.
func (s *Store) ofBucket(c *store.Claim, t *terms) job {
	begins := t.append(append(make([]byte, 0, 41), 1))
	return job{
		keys: []string{s.keyOf(c.Owner, c.Limit)},
		args: append(s.header(), c.Cost, begins),
	}
}

// decodeOwed reads the answer to such a batch: what the bucket owes in units
// after a grant, or -1 less what it owes after a refusal.
func decodeOwed(owed int64, c *store.Claim, grant *store.Grant) error {
	t, err := termsOf(c.Limit)
	if err != nil {
		return err
	}
	*grant = store.Grant{OK: owed >= 0}
	if owed < 0 {
		owed = -1 - owed
		short := uint64(owed) + uint64(c.Cost)*t.interval - t.capacity
		grant.RetryAfter = microseconds(float64(ceil(short, t.unit)))
	}
	word := uint64(owed)
	grant.Remaining = int64((t.capacity - min(word, t.capacity)) / t.interval)
	grant.ResetAfter = microseconds(float64(ceil(word, t.unit)))
	grant.Handle = word
	return nil
}

func ceil(a, b uint64) uint64 { return a/b + min(a%b, 1) }
