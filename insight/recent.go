package insight

import (
	"sync"

	"github.com/plimsoll-go/plimsoll/store"
)

// The last refusals that are kept, in shards that requests are spread over by
// their ids.
const (
	recentShards = 16
	recentEach   = 256
)

// recent is the last decisions that somebody may ask about.
type recent struct{ shards []recentShard }

type recentShard struct {
	mu   sync.Mutex
	kept [recentEach]Sample
	n    int
	_    [40]byte
}

func (r *recent) keep(s Sample) {
	shard := &r.shards[s.ID.Lo%recentShards]
	shard.mu.Lock()
	shard.kept[shard.n%recentEach] = s
	shard.n++
	shard.mu.Unlock()
}

// Find looks up a decision by its id: one of the last few thousand refusals, or
// of the samples of the last ten minutes.
func (r *Recorder) Find(id store.ID) (s Sample, ok bool) {
	shard := &r.recent.shards[id.Lo%recentShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for i := shard.n - 1; i >= max(0, shard.n-recentEach); i-- {
		if shard.kept[i%recentEach].ID == id {
			return shard.kept[i%recentEach], true
		}
	}
	list, _ := r.seconds.since(r.now(), Window)
	for i := range list {
		if list[i].ID == id {
			return list[i].Sample, true
		}
	}
	return s, false
}

// Refusals lists the last refusals, at most most, in no particular order.
func (r *Recorder) Refusals(most int) (list []Sample) {
	for i := range r.recent.shards {
		shard := &r.recent.shards[i]
		shard.mu.Lock()
		for j := shard.n - 1; j >= max(0, shard.n-recentEach) && len(list) < most; j-- {
			list = append(list, shard.kept[j%recentEach])
		}
		shard.mu.Unlock()
	}
	return list
}
