package control

import (
	"context"
	"sync"
	"time"
)

// DefaultMaxRecords is how many records a storage keeps before it gives up the
// oldest.
const DefaultMaxRecords = 100_000

// Memory is a storage that ends with the process. The zero value is empty and
// ready; it must not be copied.
type Memory struct {
	// Now is its clock. Default time.Now.
	Now func() time.Time
	// MaxRecords is how many records are kept, 1 or more. Default
	// DefaultMaxRecords.
	MaxRecords int

	mu       sync.Mutex
	state    []byte
	revision uint64
	records  [][]byte
	dropped  uint64 // records that were given up
	watchers watchers
}

var _ Storage = (*Memory)(nil)

// Read returns the state.
func (m *Memory) Read(context.Context) (state []byte, revision uint64, now int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.revision, m.clock().UnixNano(), nil
}

func (m *Memory) clock() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Swap replaces the state.
func (m *Memory) Swap(_ context.Context, revision, next uint64, state, record []byte) (swapped bool, err error) {
	if !m.swap(revision, next, state, record) {
		return false, nil
	}
	m.watchers.tell()
	return true, nil
}

func (m *Memory) swap(revision, next uint64, state, record []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if revision != m.revision {
		return false
	}
	m.state, m.revision = state, next
	m.records = append(m.records, record)
	most := m.MaxRecords
	if most == 0 {
		most = DefaultMaxRecords
	}
	if excess := len(m.records) - most; excess > 0 {
		m.records = m.records[excess:]
		m.dropped += uint64(excess)
	}
	return true
}

// Records lists records.
func (m *Memory) Records(_ context.Context, from uint64, most int) (records [][]byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return page(m.records, m.dropped, from, most), nil
}

// page is a part of records of which some were dropped before.
func page(records [][]byte, dropped, from uint64, most int) [][]byte {
	skip := uint64(0)
	if from > dropped+1 {
		skip = min(from-dropped-1, uint64(len(records)))
	}
	records = records[skip:]
	return append([][]byte(nil), records[:min(most, len(records))]...)
}

// Watch reports changes until the context ends.
func (m *Memory) Watch(ctx context.Context, changed func()) error {
	return m.watchers.watch(ctx, changed)
}

// watchers are those who want to hear of changes. The zero value is nobody.
type watchers struct {
	mu   sync.Mutex
	list map[*func()]struct{}
}

func (w *watchers) watch(ctx context.Context, changed func()) error {
	w.mu.Lock()
	if w.list == nil {
		w.list = map[*func()]struct{}{}
	}
	w.list[&changed] = struct{}{}
	w.mu.Unlock()
	<-ctx.Done()
	w.mu.Lock()
	delete(w.list, &changed)
	w.mu.Unlock()
	return ctx.Err()
}

func (w *watchers) tell() {
	w.mu.Lock()
	list := make([]func(), 0, len(w.list))
	for changed := range w.list {
		list = append(list, *changed)
	}
	w.mu.Unlock()
	for _, changed := range list {
		changed()
	}
}
