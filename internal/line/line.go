package line

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull says that a line is as long as it may be.
var ErrFull = errors.New("line: too many calls wait for this key")

// Lines are the lines before keys, one for each key that is waited for.
type Lines[K comparable] struct {
	// Max is how many calls may stand behind the one at the front, 0 or more.
	Max int

	mu    sync.Mutex
	lines map[K]*line
}

// line is the calls behind the one at the front; there is one at the front as
// long as the line exists.
type line []chan struct{}

// Join waits until the call is at the front of the key's line. It must leave
// once, unless there is an error: the context's cause, or ErrFull.
func (l *Lines[K]) Join(ctx context.Context, key K) (leave func(), err error) {
	turn, err := l.enter(key)
	if err != nil {
		return nil, err
	}
	select {
	case <-turn:
		return func() { l.leave(key) }, nil
	case <-ctx.Done():
		l.abandon(key, turn)
		return nil, context.Cause(ctx)
	}
}

// enter takes the last place. Whose turn it is at once finds the channel closed.
func (l *Lines[K]) enter(key K) (turn chan struct{}, err error) {
	turn = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.lines[key]
	switch {
	case before == nil:
		if l.lines == nil {
			l.lines = map[K]*line{}
		}
		l.lines[key] = &line{}
		close(turn)
	case len(*before) >= l.Max:
		return nil, ErrFull
	default:
		*before = append(*before, turn)
	}
	return turn, nil
}

// leave hands the front to the next in line.
func (l *Lines[K]) leave(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	behind := l.lines[key]
	if len(*behind) == 0 {
		delete(l.lines, key)
		return
	}
	close((*behind)[0])
	*behind = slices.Delete(*behind, 0, 1)
}

// abandon takes a call out of the line, or passes the front on when it was
// handed over at the very moment of leaving.
func (l *Lines[K]) abandon(key K, turn chan struct{}) {
	l.mu.Lock()
	behind := l.lines[key]
	if behind != nil {
		if i := slices.Index(*behind, turn); i >= 0 {
			*behind = slices.Delete(*behind, i, i+1)
			l.mu.Unlock()
			return
		}
	}
	l.mu.Unlock()
	l.leave(key)
}
