// Package torture puts guards through what requests do to them in production
// other than come too often: handlers panic, callers leave, connections are
// taken over, limits change under way, releases come twice. It needs no load
// and says pass or fail.
//
// A guard passes a check when nothing is left of it: nothing in flight, nobody
// queued, no goroutine more than before, the next request is admitted, and
// there is room for as many as before, and no more. A rival is tried in the
// form in which a service would use it: its own middleware for HTTP where it
// has one, else a middleware that takes and gives back as its own wrappers do.
package torture
