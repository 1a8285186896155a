package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
	"github.com/plimsoll-go/plimsoll/store/memstore"
)

// shared is the store of the fleet: the embedded store as a server with a clock
// of its own, which it decides by.
type shared struct {
	checks *checks

	mu      sync.Mutex
	memory  *memstore.Store
	network network
	paused  chan struct{} // closed when it is resumed; nil while it runs
	clock   serverClock
	resets  uint64 // of connections
	ledger  uint64 // how often the ledger was written
}

// network is the way to the store.
type network struct {
	trip     time.Duration // there and back
	loss     float64       // of messages, each way
	lost     bool          // none arrives
	refusing bool          // nobody listens
}

// serverClock is the time of day of the store.
type serverClock struct {
	offset time.Duration
	drift  float64
	began  time.Time
}

func (c *serverClock) now() int64 {
	since := time.Since(c.began)
	return c.began.UnixNano() + int64(since) + int64(c.offset) + int64(c.drift*float64(since))
}

func newShared(s *setup, c *checks) *shared {
	shared := &shared{checks: c, network: network{trip: s.trip}, clock: serverClock{drift: s.drift, began: time.Now()}}
	shared.memory = newMemory()
	return shared
}

func newMemory() *memstore.Store {
	m, err := memstore.New(memstore.Config{MaxKeys: 1 << 14})
	if err != nil {
		panic(err) // a constant
	}
	return m
}

func (s *shared) weather(change func(*network)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.network)
}

// look is the network and the pause of this moment.
func (s *shared) look() (n network, paused <-chan struct{}, resets uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network, s.paused, s.resets
}

func (s *shared) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == nil {
		s.paused = make(chan struct{})
	}
}

func (s *shared) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != nil {
		close(s.paused)
		s.paused = nil
	}
}

// reset breaks all connections: calls that are under way end with an error.
func (s *shared) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resets++
}

// restart loses all data.
func (s *shared) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resets++
	s.ledger++
	s.memory = newMemory()
	s.checks.dataLost()
}

// step sets the store's clock forward or back.
func (s *shared) step(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock.offset += by
	s.checks.clockStepped(by)
}

// The calls, as the server carries them out. The context of a caller does not
// reach it.

func (s *shared) claim(w *worker, b *store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Now = s.clock.now()
	err := s.memory.Claim(context.Background(), b)
	if err == nil {
		s.checks.granted(w, b)
	}
	return err
}

// stamped are returns as a store with a clock of its own reads them: only the
// time between two stamps of a worker means something.
func (s *shared) stamped(returns []store.Return) []store.Return {
	now := s.clock.now()
	own := make([]store.Return, len(returns))
	for i, r := range returns {
		own[i] = r
		own[i].At, own[i].Now = now-(r.Now-r.At), now
	}
	return own
}

func (s *shared) giveBack(w *worker, returns []store.Return) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.stamped(returns)
	s.checks.returned(w, own)
	return s.memory.Return(context.Background(), own)
}

func (s *shared) renew(w *worker, held []store.Return) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.stamped(held)
	s.checks.renewed(w, own)
	return s.memory.Renew(context.Background(), own)
}

// readLedger is the first trip of a heartbeat.
func (s *shared) readLedger() (version uint64, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger, s.clock.now()
}

// swapLedger is the second: the report counts if nobody else's came between.
func (s *shared) swapLedger(w *worker, version uint64, r store.Report) (v store.View, swapped bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version != s.ledger {
		return v, false, nil
	}
	s.ledger++
	v, err = s.memory.Sync(context.Background(), r)
	if err == nil {
		s.checks.leased(w, &r, &v)
	}
	return v, true, err
}

var (
	errLost    = errors.New("sim: no answer from the store")
	errReset   = errors.New("sim: the connection to the store was reset")
	errRefused = errors.New("sim: the store refused the connection")
	errDead    = errors.New("sim: the worker is dead")
)
