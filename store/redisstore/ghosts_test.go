package redisstore

import (
	"errors"
	"testing"

	"github.com/plimsoll-go/plimsoll/store"
)

// A call whose asker is gone and whose end nobody knows holds no slot for long:
// what gave it back at first may have come before it.
func TestNoSlotIsHeldByACallOfNobody(t *testing.T) {
	srv := start(t)
	s, l := open(t, srv), slotsOf(t, 2)
	b := claim(t, s, batchOf("o", l))
	c := &call{batch: *b, err: errors.New("connection reset")}
	srv.do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	back := c.ghosts()
	if len(back) != 1 {
		t.Fatalf("%d returns, want the slot's", len(back))
	}
	if err := s.giveUp(back); !errors.Is(err, store.ErrUnable) {
		t.Fatalf("without replicas: %v", err)
	}
	go s.reclaim(back)
	eventually(t, "it is to be tried again", func() bool {
		s.haunted.mu.Lock()
		defer s.haunted.mu.Unlock()
		return s.haunted.trying
	})
	srv.do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	set := s.keyOf(store.KeyOf("o"), l)
	eventually(t, "the slot is free", func() bool { return srv.do(t, "ZCARD", set).(int64) == 0 })
	eventually(t, "nobody tries any more", func() bool {
		s.haunted.mu.Lock()
		defer s.haunted.mu.Unlock()
		return !s.haunted.trying
	})
}

func TestWhatACallOfNobodyMayHold(t *testing.T) {
	bucket, slots := bucketOf(t, 2), slotsOf(t, 2)
	for _, c := range []struct {
		name string
		err  error
		peek bool
		want int
	}{
		{"granted", nil, false, 2},
		{"not known", errors.New("connection reset"), false, 1},
		{"looked", errors.New("connection reset"), true, 0},
		{"refused by the key", store.ErrKey, false, 0},
	} {
		b := batchOf("o", bucket, slots)
		b.Peek = c.peek
		b.Grants = []store.Grant{{OK: true}, {OK: true}}
		if got := (&call{batch: *b, err: c.err}).ghosts(); len(got) != c.want {
			t.Errorf("%s: %d are given back, want %d", c.name, len(got), c.want)
		}
	}
}
