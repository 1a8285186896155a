package control

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// book is a document as this process knows it, over its storage.
type book struct {
	name    string
	storage Storage
	timeout time.Duration
	stale   atomic.Bool   // somebody said that there is something new
	seen    atomic.Uint64 // the highest revision that anybody spoke of
	rest    time.Time     // a storage that failed is left alone until then; Run's
	pause   time.Duration // and how long the next rest is; Run's

	mu   sync.Mutex
	view view
}

// view is what was read last. Its state is immutable.
type view struct {
	state    *state // nil before the first read
	revision uint64
	read     time.Time // by this process's clock, when the reading began
	now      time.Time // by the storage's clock, at some moment of the reading
	err      error     // of the last attempt, if it failed
	lost     bool      // the storage is older than what this process has seen of it
}

// clock is the storage's clock at a moment of this process's: early by what
// the last read took, at most, and by the drift since.
func (v *view) clock(at time.Time) time.Time { return v.now.Add(at.Sub(v.read)) }

func (b *book) current() view {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view
}

// behind notes a revision that somebody spoke of, and reports whether it is news.
func (b *book) behind(revision uint64) bool {
	for {
		seen := b.seen.Load()
		if seen >= revision || b.seen.CompareAndSwap(seen, revision) {
			break
		}
	}
	v := b.current()
	return v.state == nil || revision > v.revision
}

// due reports whether the storage should be read again.
func (b *book) due(now time.Time, poll time.Duration) bool {
	v := b.current()
	if now.Before(b.rest) {
		return false
	}
	return b.stale.Load() || v.state == nil || b.seen.Load() > v.revision || now.Sub(v.read) >= poll
}

// refresh reads the storage. Of one that went back, because it lost what it
// had been told, what is known here is kept until it ends.
func (b *book) refresh(ctx context.Context) error {
	b.stale.Store(false)
	_, err := b.load(ctx)
	if err != nil {
		b.stale.Store(true)
		b.mu.Lock()
		b.view.err = err
		b.mu.Unlock()
	}
	return err
}

// Pauses between attempts that fail.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// follow reads the storage if it is due, and says when to look again.
func (b *book) follow(ctx context.Context, poll time.Duration) (next time.Duration) {
	now := time.Now()
	switch {
	case !b.due(now, poll):
	case b.refresh(ctx) == nil:
		b.pause, b.rest = firstPause, time.Time{}
	default:
		b.rest = time.Now().Add(jittered(b.pause))
		b.pause = min(2*max(b.pause, firstPause), lastPause)
	}
	if wait := time.Until(b.rest); wait > 0 {
		return wait
	}
	return poll
}

// load reads the storage, and returns what a change is to be made of.
func (b *book) load(ctx context.Context) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	begun := time.Now()
	stored, revision, now, err := b.storage.Read(ctx)
	if err != nil {
		return view{}, err
	}
	s, err := b.read(stored, revision)
	if err != nil {
		return view{}, err
	}
	return b.install(view{state: s, revision: revision, read: begun, now: time.Unix(0, now).UTC()}), nil
}

// read decodes a state, or takes the one that is known already.
func (b *book) read(stored []byte, revision uint64) (*state, error) {
	if v := b.current(); v.state != nil && v.revision == revision {
		return v.state, nil
	}
	return readState(stored)
}

// install makes what was read the view, unless that would go back. What it
// returns can be written to the storage: of one that lost changes, what is
// known here on top of what is left of the trail.
func (b *book) install(v view) view {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := &b.view
	late := v.read.Before(old.read)
	switch {
	case old.state != nil && v.before(old):
		if !late {
			old.read, old.now, old.err, old.lost = v.read, v.now, nil, true
		}
		v.state = old.state.over(v.state)
	case old.state == nil || !late || v.revision > old.revision:
		b.view = v
	}
	return v
}

// before reports whether a view is of a storage that lost what another one
// knows. One that began anew, and was written to since, is no such thing.
func (v *view) before(known *view) bool {
	return v.revision < known.revision && (v.revision == 0 || v.state.Epoch == known.state.Epoch)
}

// attempts is how often a change begins anew because others were faster.
const attempts = 64

// do makes a change.
func (b *book) do(ctx context.Context, p *Policy, c *Change) (Result, error) {
	for range attempts {
		v, err := b.load(ctx)
		if err != nil {
			return Result{}, &UnavailableError{err}
		}
		next, record, res, err := p.decide(v.state, c, v.now)
		if next == nil {
			return res, err
		}
		revision := max(v.revision, b.current().revision, b.seen.Load()) + 1 // no two states ever have one number
		swapped, fault := b.swap(ctx, v.revision, revision, next, record)
		switch {
		case errors.Is(fault, errUnchanged):
			return Result{}, &UnavailableError{fault}
		case fault != nil && err == nil:
			return b.resolve(ctx, p, c, fault)
		case fault != nil:
			return res, errors.Join(err, fmt.Errorf("control: this attempt is perhaps not in the audit trail: %w", fault))
		case swapped:
			done := time.Now()
			b.install(view{state: next, revision: revision, read: done, now: v.clock(done)})
			return res, err
		}
	}
	return Result{}, &UnavailableError{errors.New("control: the document changed under every attempt")}
}

func (b *book) swap(ctx context.Context, revision, to uint64, next *state, record []byte) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.storage.Swap(ctx, revision, to, next.bytes(), record)
}

// resolve finds out what became of a change whose storage did not answer. Only
// if the change is there is that known: one that is not may still come.
func (b *book) resolve(ctx context.Context, p *Policy, c *Change, fault error) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.timeout)
	defer cancel()
	if v, err := b.load(ctx); err == nil && v.state.key(c.keyName()) != nil {
		_, _, res, err := p.decide(v.state, c, v.now)
		res.Replayed = false
		return res, err
	}
	return Result{}, &UnknownError{c.Key, fault}
}

// draw is an idempotency key for who sent none.
func draw() string { return "auto-" + rand.Text() }
