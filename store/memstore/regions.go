package memstore

import (
	"sync"
	"sync/atomic"
)

// regions keep the states that do not fit an entry: runs of words, in classes
// of 8, 16, … 1024. A run belongs to who has the lock of the entry that names
// it. The mutex is held for a moment while a run is taken or given back;
// nothing is waited for under it, so it may be taken with any other lock held.
type regions struct {
	mu      sync.Mutex
	classes [classes]class
}

const (
	classes   = 8
	pageWords = 1024
)

// class are the runs of one size, by number from 1. The free ones are linked
// by their first word.
type class struct {
	pages atomic.Pointer[[]*page]
	free  int64
}

type page [pageWords]int64

// classOf is the class for so many words, at most pageWords.
func classOf(words int) (c int) {
	for 8<<c < words {
		c++
	}
	return c
}

// at is a run.
func (rs *regions) at(c int, n uint32) []int64 {
	size, perPage := 8<<c, uint32(pageWords>>3>>c)
	first := int((n-1)%perPage) * size
	pages := *rs.classes[c].pages.Load()
	return pages[(n-1)/perPage][first : first+size : first+size]
}

// take finds a free run, and clears it.
func (rs *regions) take(c int) uint32 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.classes[c].free == 0 {
		rs.more(c)
	}
	n := uint32(rs.classes[c].free)
	run := rs.at(c, n)
	rs.classes[c].free = run[0]
	clear(run)
	return n
}

// give makes a run free.
func (rs *regions) give(c int, n uint32) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.at(c, n)[0] = rs.classes[c].free
	rs.classes[c].free = int64(n)
}

// more adds a page of free runs.
func (rs *regions) more(c int) {
	cl := &rs.classes[c]
	var pages []*page
	if old := cl.pages.Load(); old != nil {
		pages = *old
	}
	perPage := uint32(pageWords >> 3 >> c)
	first := uint32(len(pages))*perPage + 1
	pages = append(pages, new(page))
	cl.pages.Store(&pages)
	for n := first + perPage; n > first; n-- {
		rs.at(c, n-1)[0] = cl.free
		cl.free = int64(n - 1)
	}
}
