package redisstore

import (
	"github.com/plimsoll-go/plimsoll/store"
)

// ofBucket is the way of one claim on a token bucket.
const ofBucket = "bucket"

// simple reports whether a batch is one claim on a token bucket that could
// pass: what bucket.lua is for.
func simple(b *store.Batch, t *terms) bool {
	if len(b.Claims) != 1 || b.Peek || t.unit == 0 {
		return false
	}
	c := &b.Claims[0]
	return c.Limit.Kind == store.Tokens && t.holds(c.Cost)
}

// bucketJob is the call of the script for such a batch.
func (s *Store) bucketJob(c *store.Claim, t *terms) job {
	begins := t.append(append(make([]byte, 0, 41), 1))
	return job{
		keys: []string{s.keyOf(c.Owner, c.Limit)}, way: ofBucket,
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
	if owed < 0 {
		*grant = t.bucket(c.Cost, uint64(-1-owed))
		return nil
	}
	*grant = t.bucket(c.Cost, uint64(owed))
	grant.OK, grant.RetryAfter = true, 0
	return nil
}

func ceil(a, b uint64) uint64 { return a/b + min(a%b, 1) }
