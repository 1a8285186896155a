package memstore

// A sliding log's word is how many tokens it remembers, and the class and the
// number of their region; extra is the moment that it was brought to.

func (c *cell) region() (class int, n uint32) { return int(c.word >> 32 & 0xff), uint32(c.word) }

func (c *cell) log() []int64 {
	if c.word == 0 {
		return nil
	}
	class, n := c.region()
	return c.shard.regions.at(class, n)[:c.word>>40]
}

func (c *cell) ageLog(now int64) {
	c.extra = now
	if c.word == 0 {
		return
	}
	c.keepLog(c.limit.Log.Advance(c.log(), now))
}

// keepLog notes the length of a log that is in its region.
func (c *cell) keepLog(log []int64) {
	if len(log) == 0 {
		c.freeLog()
		return
	}
	c.word = c.word&(1<<40-1) | uint64(len(log))<<40
}

// spendLog adds tokens, in a larger region if they need it.
func (c *cell) spendLog(now, tokens int64) {
	if tokens <= 0 {
		return
	}
	log := c.log()
	if need := classOf(len(log) + int(tokens)); c.word == 0 || need > int(c.word>>32&0xff) {
		n := c.shard.regions.take(need)
		larger := c.shard.regions.at(need, n)
		copy(larger, log)
		log = larger[:len(log)]
		c.freeLog()
		c.word = uint64(need)<<32 | uint64(n)
	}
	c.keepLog(c.limit.Log.Spend(log, now, tokens))
}

// takenLog is when a token counts as taken that was asked for at a moment.
func (c *cell) takenLog(now int64) int64 {
	if log := c.log(); len(log) > 0 {
		return max(now, log[len(log)-1])
	}
	return now
}

func (c *cell) freeLog() {
	if c.word != 0 {
		c.shard.regions.give(c.region())
		c.word = 0
	}
}
