package pipeline

import "context"

type contextKey struct{}

// NewContext carries a request to the handler that it was admitted for.
func NewContext(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the request that a handler was admitted for, or nil. It
// is valid until the handler returns.
func FromContext(ctx context.Context) *Request {
	r, _ := ctx.Value(contextKey{}).(*Request)
	return r
}
