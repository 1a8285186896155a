package torture

import (
	"net/http"
	"time"
)

// Options are how a guard is set for a check.
type Options struct {
	Room  int           // how many requests may be in flight
	Wait  time.Duration // how long others may wait for a place; 0: not at all
	Queue int           // how many of them
}

// Victim is a guard, set up. Fields that may be nil say so.
type Victim struct {
	// Wrap puts it in front of a handler.
	Wrap func(http.Handler) http.Handler
	// Running is how many requests it believes in flight.
	Running func() int
	// Queued is how many wait. Nil: it has no queue, or does not tell.
	Queued func() int
	// Acquire takes a place without a handler, by a clock that is off by skew;
	// release gives it back. Nil: it does not exist without a handler.
	Acquire func(skew time.Duration) (release func(), ok bool)
	// SetRoom changes how many may be in flight. Nil: nobody can.
	SetRoom func(n int) error
	// Close ends what it has started. Nil: nothing.
	Close func()
}

// Subject is a guard that can be set up.
type Subject struct {
	Name  string
	Form  string // what of the library stands in front of the handler
	Caps  bool   // it has a limit also while the processor idles
	Waits bool   // callers may queue
	Skews bool   // Acquire heeds its skew
	Make  func(Options) (*Victim, error)
}

// Subjects are all that are tortured, ours first.
func Subjects() []Subject {
	return []Subject{plimsoll(), failsafeLimiter(), failsafeBulkhead(), goZero(), aegis(), netflix(), sentinel()}
}
