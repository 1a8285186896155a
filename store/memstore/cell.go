package memstore

import (
	"math"

	"github.com/plimsoll-go/plimsoll/limit"
	"github.com/plimsoll-go/plimsoll/store"
)

// cell is the state of an entry while its lock is held, and the limit that it
// was written under. Each algorithm has its own way to read word and extra,
// told in the file that is named after it; common to all is that a word of 0
// owes nothing, and is as if never used.
//
// What is taken may have to be undone before it is written. A cell therefore
// keeps it in its words: in word and extra, or as pending where the state is in
// a region, which only apply changes.
type cell struct {
	words
	limit   *store.Limit
	version uint16 // of the limit
	shard   *shard
	print   uint64 // of the entry, for a limit on slots
	alone   uint64 // the entry's word, for a slot that is held alone; else 0
	held    bool   // more is spent than the limit that is asked for holds: nothing passes
}

type words struct {
	word    uint64
	extra   int64
	pending int64
}

// age brings a state to a moment. What has left a region is taken out of it, so
// the cell has to be written.
func (c *cell) age(now int64) {
	switch c.limit.Algorithm {
	case store.TokenBucket:
		c.setBucket(c.limit.GCRA.Owed(c.bucket(), now), now)
	case store.FixedWindow:
		c.setWindow(c.limit.Window.At(c.window(), now))
	case store.SlidingWindow:
		c.setSliding(c.limit.Sliding.At(c.sliding(), now))
	case store.SlidingLog:
		c.ageLog(now)
	case store.StrictWindow:
		c.ageStrict(now)
	case store.LeakyBucket:
		c.ageLeaky(now)
	}
}

// take asks for a cost, of a state that was brought to the moment.
func (c *cell) take(now, cost int64) (r limit.Result) {
	switch l := c.limit; {
	case l.Kind == store.Slots:
		return c.takeSlot(cost)
	case c.held && cost == 0:
		return c.take(now, 1)
	case l.Algorithm == store.TokenBucket:
		d, r := l.GCRA.Take(limit.Debt(c.word), cost)
		c.word = uint64(d)
		return r
	case l.Algorithm == store.FixedWindow:
		w, r := l.Window.Take(c.window(), now, cost)
		c.setWindow(w)
		return r
	case l.Algorithm == store.SlidingWindow:
		w, r := l.Sliding.Take(c.sliding(), now, cost)
		c.setSliding(w)
		return r
	case l.Algorithm == store.LeakyBucket:
		b, r := l.Leaky.Take(c.leaky(), now, cost)
		c.setLeaky(b)
		return r
	case l.Algorithm == store.SlidingLog:
		r = l.Log.Ask(c.log(), now, c.pending, cost)
	default:
		w := c.strict(now)
		r = l.Strict.Ask(&w, now, c.pending, cost)
	}
	if r.OK {
		c.pending += cost
	}
	return r
}

// apply writes what was taken to the region, if the state has one.
func (c *cell) apply(now int64) {
	if c.pending == 0 {
		return
	}
	if c.limit.Algorithm == store.SlidingLog {
		c.spendLog(now, c.pending)
	} else {
		c.spendStrict(now, c.pending)
	}
	c.pending = 0
}

// handle is what a grant tells, so that a refund knows what it may give back:
// the debt of a bucket, or the moment that the tokens count as taken at.
func (c *cell) handle(now int64) uint64 {
	switch c.limit.Algorithm {
	case store.FixedWindow, store.SlidingWindow:
		return uint64(max(c.extra, now))
	case store.SlidingLog:
		return uint64(c.takenLog(now))
	case store.StrictWindow:
		w := c.strict(now)
		return uint64(c.limit.Strict.Taken(&w, now))
	default: // of the others there is nothing to do here
	}
	return c.word
}

// spent is how many tokens count, of a state that was brought to the moment.
func (c *cell) spent(now int64) int64 {
	switch c.limit.Algorithm {
	case store.TokenBucket:
		return c.limit.GCRA.Spent(limit.Debt(c.word))
	case store.SlidingWindow:
		return c.limit.Sliding.Spent(c.sliding(), now)
	case store.SlidingLog:
		return int64(len(c.log()))
	case store.StrictWindow:
		w := c.strict(now)
		return c.limit.Strict.Spent(&w)
	case store.LeakyBucket:
		return c.limit.Leaky.Spent(c.limit.Leaky.At(c.leaky(), now))
	default: // of the others there is nothing to do here
	}
	return int64(c.word)
}

// begin makes a state of which so many tokens are spent at a moment.
func (c *cell) begin(spent, now int64) {
	switch l := c.limit; l.Algorithm {
	case store.TokenBucket:
		c.setBucket(l.GCRA.Owing(spent), now)
	case store.FixedWindow:
		w := l.Window.At(limit.Window{}, now)
		w.Used = spent
		c.setWindow(w)
	case store.SlidingWindow:
		w := l.Sliding.At(limit.Sliding{}, now)
		w.Current = min(spent, math.MaxInt32)
		c.setSliding(w)
	case store.SlidingLog:
		c.word, c.extra = 0, now
		c.spendLog(now, min(spent, l.Log.Limit))
	case store.StrictWindow:
		c.word, c.extra = 0, l.Strict.Part(now)
		c.spendStrict(now, min(spent, l.Strict.Limit))
	case store.LeakyBucket:
		c.setLeaky(l.Leaky.Owing(spent, now))
	}
}

// fits reports whether a state, brought to a moment, can be that of another
// limit without forgetting a part of what is spent, or locking out for long.
func (c *cell) fits(to *store.Limit, now int64) bool {
	from := c.limit
	switch {
	case same(from, to), windowed(from) && windowed(to):
		return true
	case from.Algorithm == store.TokenBucket && to.Algorithm == store.TokenBucket:
		_, ok := to.GCRA.Convert(&from.GCRA, limit.Debt(c.word))
		return ok
	}
	return c.spent(now) <= to.Burst
}

// windowed reports whether a limit counts whatever was spent, however much.
func windowed(l *store.Limit) bool {
	return l.Algorithm == store.FixedWindow || l.Algorithm == store.SlidingWindow
}

// hold leaves a state that of its limit, of which so much is spent that nothing
// of another one may pass, and makes it tell when it fits.
func (c *cell) hold(to *store.Limit) {
	l := *c.limit
	l.Burst = to.Burst
	l.Window.Limit, l.Sliding.Limit, l.Log.Limit, l.Strict.Limit = l.Burst, l.Burst, l.Burst, l.Burst
	l.GCRA, l.Leaky = l.GCRA.Holding(l.Burst), l.Leaky.Holding(l.Burst)
	c.limit, c.held = &l, true
}

// carry makes a state that fits that of another limit: what is spent stays
// spent.
func (c *cell) carry(to *store.Limit, version uint16, now int64) {
	from := c.limit
	if same(from, to) {
		c.limit, c.version = to, version
		return
	}
	debt, spent := limit.Debt(c.word), c.spent(now)
	c.reset()
	c.limit, c.version = to, version
	if from.Algorithm == store.TokenBucket && to.Algorithm == store.TokenBucket {
		converted, _ := to.GCRA.Convert(&from.GCRA, debt)
		c.setBucket(converted, now)
		return
	}
	c.begin(spent, now)
}

// reset forgets what is owed.
func (c *cell) reset() {
	switch c.limit.Algorithm {
	case store.SlidingLog:
		c.freeLog()
	case store.StrictWindow:
		c.freeStrict()
	default: // of the others there is nothing to do here
	}
	c.word = 0
}

// lastUse is a moment since when a state that owes nothing was not used.
func (c *cell) lastUse() int64 {
	after := int64(0)
	switch l := c.limit; l.Algorithm {
	case store.FixedWindow, store.SlidingWindow:
		after = int64(l.Rate.Period)
	case store.StrictWindow:
		return c.extra * (int64(l.Strict.Span()) / int64(l.Strict.Size()))
	case store.LeakyBucket:
		return c.extra * 1e6
	default: // of the others there is nothing to do here
	}
	return min(c.extra, math.MaxInt64-after) + after
}

// regional reports whether the state is in a region, and age changes it there.
func (c *cell) regional() bool {
	return c.limit.Algorithm == store.SlidingLog || c.limit.Algorithm == store.StrictWindow
}

// ended reports whether nothing of a region counts any more. It changes nothing:
// who sweeps may be late, and must not be taken for a clock that was set back.
func (c *cell) ended(now int64) bool {
	if c.word == 0 {
		return true
	}
	newest, counts := c.newest(c.extra), c.limit.Log.Window
	if c.limit.Algorithm == store.StrictWindow {
		counts = c.limit.Strict.Span()
	}
	return now >= newest && elapsed(newest, now) >= uint64(counts)
}

// same reports whether two limits decide alike.
func same(a, b *store.Limit) bool { return a == b || a.Fingerprint == b.Fingerprint }
