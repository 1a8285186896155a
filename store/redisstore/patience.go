package redisstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// patience is how long an answer may take before its connection is given up.
// It doubles with each call in a row that was not answered, up to eight times:
// a connection that died is soon replaced, and a server that hangs, which does
// not answer a new connection either, is not offered many.
type patience struct {
	base   time.Duration
	silent atomic.Uint32 // calls in a row that were not answered
}

// doublings are how often patience doubles.
const doublings = 3

// longest is how long it may get.
func longest(base time.Duration) time.Duration { return dialFor + base<<doublings }

// dialFor is how long a connection may take to come about.
const dialFor = 100 * time.Millisecond

// context ends when an answer has taken too long, on a connection that has yet
// to be made.
func (p *patience) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), dialFor+p.base<<min(p.silent.Load(), doublings))
}

// heard takes note of how a call ended. An error that came at once is no
// silence.
func (p *patience) heard(err error) {
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		p.silent.Add(1)
	case p.silent.Load() > 0:
		p.silent.Store(0)
	}
}
