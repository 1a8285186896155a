package httpmw

import (
	"context"
	"time"

	"github.com/plimsoll-go/plimsoll/pipeline"
)

// requestContext is the context that a handler gets: the server's, and the
// exchange. It ends with the server's, and when the exchange is refused or
// over. A pointer in a struct is an interface without an allocation.
type requestContext struct{ *exchange }

var _ context.Context = requestContext{}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// Deadline implements context.Context.
func (c requestContext) Deadline() (time.Time, bool) { return c.incoming.Context().Deadline() }

// Done implements context.Context.
func (c requestContext) Done() <-chan struct{} { return c.cancelable().Done() }

// Err implements context.Context.
func (c requestContext) Err() error {
	if in := c.ending.Load(); in != nil {
		return in.Err()
	}
	return c.incoming.Context().Err()
}

// Value implements context.Context.
func (c requestContext) Value(key any) any {
	switch {
	case key == exchangeKey{}:
		return c.exchange
	case pipeline.IsContextKey(key):
		return c.request.Load()
	}
	if in := c.ending.Load(); in != nil {
		return in.Value(key)
	}
	return c.incoming.Context().Value(key)
}

// ending is a context that we can end. It is made only for handlers that wait
// for the end, because it costs as much as the rest of the exchange.
type ending struct {
	context.Context
	cancel context.CancelFunc
}

func (e *exchange) cancelable() *ending {
	if in := e.ending.Load(); in != nil {
		return in
	}
	ctx, cancel := context.WithCancel(e.incoming.Context())
	if in := (&ending{ctx, cancel}); e.ending.CompareAndSwap(nil, in) {
		return in
	}
	cancel()
	return e.ending.Load()
}
