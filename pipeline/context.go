package pipeline

import "context"

type contextKey struct{}

// NewContext carries a request to the handler that it was admitted for.
func NewContext(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// IsContextKey reports whether a key is the one that FromContext asks for, so
// that an edge whose own context answers it need not wrap that once more. The
// answer has to be a *Request, nil when the request has ended.
func IsContextKey(key any) bool { return key == contextKey{} }

// FromContext returns the request that a handler was admitted for, or nil. It
// is valid until the handler returns.
func FromContext(ctx context.Context) *Request {
	r, _ := ctx.Value(contextKey{}).(*Request)
	return r
}
