package memstore

import "github.com/plimsoll-go/plimsoll/limit"

// A fixed window's word is what was used, and extra its start.

func (c *cell) window() limit.Window { return limit.Window{Start: c.extra, Used: int64(c.word)} }

func (c *cell) setWindow(w limit.Window) { c.word, c.extra = uint64(w.Used), w.Start }

// A sliding window's word is what was used in the last window and in the
// current one, 31 bits each, and extra the start of the current one.

func (c *cell) sliding() limit.Sliding {
	return limit.Sliding{Start: c.extra, Current: int64(c.word & (1<<31 - 1)), Previous: int64(c.word >> 31)}
}

func (c *cell) setSliding(w limit.Sliding) {
	c.word, c.extra = uint64(w.Previous)<<31|uint64(w.Current), w.Start
}

// A strict window's word is the number of its region, and extra the newest part.

// unused is what the parts are while there is no region; nobody writes to it.
var unused [1 << 10]int64

func (c *cell) strict(now int64) limit.Strict {
	size := c.limit.Strict.Size()
	if c.word == 0 {
		return limit.Strict{Newest: c.limit.Strict.Part(now), Used: unused[:size]}
	}
	return limit.Strict{Newest: c.extra, Used: c.shard.regions.at(classOf(size), uint32(c.word))[:size]}
}

func (c *cell) ageStrict(now int64) {
	if c.word == 0 {
		return
	}
	w := c.strict(now)
	c.limit.Strict.Advance(&w, now)
	if c.extra = w.Newest; c.limit.Strict.Spent(&w) == 0 {
		c.freeStrict()
	}
}

func (c *cell) spendStrict(now, tokens int64) {
	if tokens <= 0 {
		return
	}
	if c.word == 0 {
		c.extra = c.limit.Strict.Part(now)
		c.word = uint64(c.shard.regions.take(classOf(c.limit.Strict.Size())))
	}
	w := c.strict(now)
	c.limit.Strict.Spend(&w, tokens)
}

func (c *cell) freeStrict() {
	if c.word != 0 {
		c.shard.regions.give(classOf(c.limit.Strict.Size()), uint32(c.word))
		c.word = 0
	}
}
