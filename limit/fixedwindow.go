package limit

import (
	"math"
	"time"
)

// FixedWindow counts tokens in windows of a fixed length that start at whole
// multiples of it since an epoch. It admits at most Limit tokens in each
// window, and so at most 2·Limit across a boundary.
type FixedWindow struct {
	Limit  int64
	Window time.Duration // above 0
}

// Window is the state of a fixed window: the start of the window in
// nanoseconds since the epoch, and what was taken in it. The zero value is
// unused.
type Window struct {
	Start int64
	Used  int64
}

// Take asks for cost tokens at a moment given in nanoseconds since the epoch.
// A clock that steps back finds the newer window, never a fresh older one.
func (f *FixedWindow) Take(w Window, now, cost int64) (Window, Result) {
	now = max(now, w.Start)
	start := now - now%int64(f.Window)
	if start > w.Start {
		w = Window{Start: start}
	}
	end := time.Duration(start + int64(f.Window) - now)
	left := max(0, f.Limit-w.Used)
	if cost < 0 || cost > f.Limit {
		return w, Result{Remaining: left, RetryAfter: Never, ResetAfter: end}
	}
	if cost > left {
		return w, Result{Remaining: left, RetryAfter: end, ResetAfter: end}
	}
	w.Used += cost
	return w, Result{OK: true, Remaining: left - cost, ResetAfter: end}
}

// Add changes what was taken in the window that a charge was made in: by more
// (above 0) or less (below 0). A window that has ended since is left alone.
func (f *FixedWindow) Add(w Window, charged, change int64) Window {
	if charged-charged%int64(f.Window) != w.Start {
		return w
	}
	if change > 0 && w.Used > math.MaxInt64-change {
		change = math.MaxInt64 - w.Used
	}
	w.Used = max(0, w.Used+change)
	return w
}
