package memstore

import "github.com/plimsoll-go/plimsoll/limit"

// A token bucket's word is its debt, and extra the moment when it was owed.

func (c *cell) bucket() limit.Bucket { return limit.Bucket{Debt: limit.Debt(c.word), At: c.extra} }

func (c *cell) setBucket(d limit.Debt, now int64) { c.word, c.extra = uint64(d), now }

// A leaky bucket's word is its level, and extra the millisecond of it.

func (c *cell) leaky() limit.Leaky { return limit.Leaky{Level: int64(c.word), Last: c.extra} }

func (c *cell) setLeaky(b limit.Leaky) { c.word, c.extra = uint64(b.Level), b.Last }

// ageLeaky forgets a level that has leaked, and no part of one: what has leaked
// is for the next request to say, or NGINX's rounding would not be kept.
func (c *cell) ageLeaky(now int64) {
	if c.limit.Leaky.At(c.leaky(), now).Level == 0 {
		c.word = 0
	}
}
