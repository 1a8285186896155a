package outbound

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll/store"
)

// ErrWaiters says that too many calls wait for a key already.
var ErrWaiters = errors.New("outbound: too many calls wait for this key")

// Remote is the limit's name in a QuotaError when it is the remote side that
// asked for a pause.
const Remote = "remote"

// QuotaError says that a call was not sent, because it may not go yet and does
// not wait. http.Client wraps it; errors.AsType finds it.
type QuotaError struct {
	// Key is whose quota is spent.
	Key string
	// Limit is the limit that refused, or Remote.
	Limit string
	// RetryAfter is until the same call could go if nobody else sends;
	// store.Never when waiting does not help, since it costs more than the
	// limit can ever grant.
	RetryAfter time.Duration
}

// Error says whose quota is spent, and for how long.
func (e *QuotaError) Error() string {
	if e.RetryAfter == store.Never {
		return fmt.Sprintf("outbound: call %s: costs more than %s can ever grant", e.Key, e.Limit)
	}
	return fmt.Sprintf("outbound: call %s: nothing left of %s for %s", e.Key, e.Limit, e.RetryAfter)
}
