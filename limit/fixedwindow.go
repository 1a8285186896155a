package limit

import "time"

// FixedWindow counts tokens in windows that start at whole multiples of their
// length since the epoch, or with the days, weeks or months of a calendar. It
// admits at most Limit tokens in each window, and so at most 2·Limit across a
// boundary.
type FixedWindow struct {
	Limit    int64
	Window   time.Duration // above 0, unless there is a calendar
	Calendar Calendar      // none by default
}

// Window is the state of a fixed window: its start in nanoseconds since the
// epoch, and what was taken in it. The zero value is unused.
type Window struct {
	Start int64
	Used  int64
}

// At is the window as it stands at a moment, in nanoseconds since the epoch;
// moments before that count as it.
//
// A moment before the window's start finds the window unchanged when it is
// behind by up to a second; when it is behind by more, the clock was set back,
// and what was used counts in the window of that moment.
func (f *FixedWindow) At(w Window, now int64) Window {
	w, _ = f.at(w, now)
	return w
}

// at is the window as it stands at a moment, and its length: of a calendar both
// take some hundred nanoseconds, and are found once.
func (f *FixedWindow) at(w Window, now int64) (at Window, length int64) {
	now = max(now, 0)
	start, length := f.around(now)
	switch {
	case start == w.Start:
		return w, length
	case start > w.Start || w.Used == 0:
		return Window{Start: start}, length
	case w.Start-now > int64(behind):
		return Window{Start: start, Used: w.Used}, length
	}
	return w, f.length(w)
}

// Take asks for cost tokens at a moment.
func (f *FixedWindow) Take(w Window, now, cost int64) (Window, Result) {
	w, length := f.at(w, now)
	left := max(0, f.Limit-w.Used)
	r := Result{Remaining: left}
	switch {
	case cost < 0 || cost > f.Limit:
		r.RetryAfter = Never
	case cost > left:
		r.RetryAfter = span(w.Start, length, now)
	default:
		w.Used += cost
		r.OK, r.Remaining = true, left-cost
	}
	if w.Used > 0 {
		r.ResetAfter = span(w.Start, length, now)
	}
	return w, r
}

// Give returns tokens to the window that they were taken from; taken is the
// moment when they were, or the start of the window if that is later. A window
// that has ended since gives nothing for them.
func (f *FixedWindow) Give(w Window, taken, tokens int64) Window {
	if into := taken - w.Start; into >= 0 && into < f.length(w) {
		w.Used -= min(w.Used, max(tokens, 0))
	}
	return w
}

// Charge takes tokens whether they are there or not, up to the whole window:
// what a caller owes for work that is done already. More is forgotten, as the
// window will be.
func (f *FixedWindow) Charge(w Window, now, tokens int64) Window {
	w = f.At(w, now)
	left := max(0, f.Limit-w.Used)
	w.Used += min(left, max(tokens, 0))
	return w
}

// around is the window that a moment is in: its start and its length.
func (f *FixedWindow) around(now int64) (start, length int64) {
	if f.Calendar.Unit == NoUnit {
		return now - now%int64(f.Window), int64(f.Window)
	}
	start, end := f.Calendar.Around(now)
	return max(start, 0), end - max(start, 0)
}

func (f *FixedWindow) length(w Window) int64 {
	if f.Calendar.Unit == NoUnit {
		return int64(f.Window)
	}
	_, length := f.around(w.Start)
	return length
}
