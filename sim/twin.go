package sim

import (
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// twin is what a store must hold of one owner, kept beside it in plain
// arithmetic: the level of its bucket, and the ids of its slots.
type twin struct {
	bucket  bucket
	windows []window // for the bound over all windows, each begun at a loss of data
	slots   map[store.ID]*slot
}

// bucket is a bucket that drains: level is what was taken from it and has not
// yet come again.
type bucket struct {
	level float64
	at    int64
}

// to drains the bucket to a moment.
func (b *bucket) to(now int64, rate float64) {
	if now > b.at {
		b.level = max(0, b.level-rate*float64(now-b.at)/float64(time.Second))
	}
	b.at = max(b.at, now)
}

// window holds how much more was granted than the rate allows, in the worst of
// all windows that began since one loss of data and before the next. Its
// bound is a burst for each loss in it and one more.
type window struct {
	bucket
	losses int // that had happened when it began
}

// slot is one that is held.
type slot struct {
	worker  *worker
	granted time.Time
	until   int64     // by the store's clock
	ended   time.Time // when its request ended; zero while it runs
	active  bool      // its request was admitted, and runs
	unheard bool      // the answer did not reach the worker
}

// grant takes tokens.
func (t *twin) grant(n, rate float64, now int64, losses int) {
	t.bucket.to(now, rate)
	t.bucket.level += n
	if k := len(t.windows); k == 0 || t.windows[k-1].losses < losses {
		t.windows = append(t.windows, window{losses: losses, bucket: bucket{at: now}})
	}
	for i := range t.windows {
		t.windows[i].to(now, rate)
		t.windows[i].level += n
	}
	// A window that began before a loss and is no worse than one that began
	// after it says nothing more.
	kept := t.windows[:0]
	for i, w := range t.windows {
		if i+1 == len(t.windows) || w.level > t.windows[i+1].level {
			kept = append(kept, w)
		}
	}
	t.windows = kept
}

// refund gives tokens back.
func (t *twin) refund(n, rate float64, now int64) {
	t.bucket.to(now, rate)
	t.bucket.level = max(0, t.bucket.level-n)
	for i := range t.windows {
		t.windows[i].to(now, rate)
		t.windows[i].level = max(0, t.windows[i].level-n)
	}
}

// prune drops slots whose lease is over.
func (t *twin) prune(now int64) {
	for id, s := range t.slots {
		if s.until <= now {
			delete(t.slots, id)
		}
	}
}

// excess is how far the worst window is above its bound: a burst, one more for
// each loss of data in it.
func (t *twin) excess(burst float64, losses int) (over float64) {
	for _, w := range t.windows {
		over = max(over, w.level-burst*float64(1+losses-w.losses))
	}
	return over
}
