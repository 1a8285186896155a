package torture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Check is one torture.
type Check struct {
	Letter string
	Title  string
	do     func(*Subject) error
}

// Checks are all of them.
func Checks() []Check {
	return []Check{
		{"a", "handlers panic, some with http.ErrAbortHandler", panics},
		{"b", "1,000 callers leave while queued", leave},
		{"c", "a release comes twice, from 1,000 goroutines", releaseTwice},
		{"d", "a connection is taken over, as by a WebSocket", hijacks},
		{"e", "a stream of 10,000 events", streams},
		{"f", "the limit sinks below what is in flight, and rises", resize},
		{"g", "an inner middleware refuses after the place was taken", refusesInside},
		{"h", "the clock jumps an hour ahead and back", clockJumps},
		{"i", "a waiter leaves at the moment of its grant, 2,000 times", leavesAtGrant},
		{"j", "100,000 goroutines on a limit of 1; a queue in its order", crowd},
		{"k", "1,000 handlers hang", hang},
	}
}

// some is the room in checks for which its size does not matter.
const some = 8

// on runs a check on a rack of its own, and then looks at what is left.
func on(s *Subject, o Options, torture func(*rack) error) error {
	r, err := newRack(s, o)
	if err != nil {
		return err
	}
	defer r.close()
	if err := torture(r); err != nil {
		return err
	}
	return r.settled()
}

func panics(s *Subject) error {
	return on(s, Options{Room: some}, func(r *rack) error {
		for _, value := range []any{http.ErrAbortHandler, "a bug"} {
			r.does(func(http.ResponseWriter, *http.Request) { panic(value) })
			for range 2 * some {
				r.call(context.Background())
			}
		}
		return nil
	})
}

func releaseTwice(s *Subject) error {
	return on(s, Options{Room: some}, func(r *rack) error {
		first, ok := r.Acquire(0)
		other, also := r.Acquire(0)
		if !ok || !also {
			return errors.New("a place was refused")
		}
		const times = 1000
		var ended, panicked atomic.Int64
		for range times {
			go func() {
				defer ended.Add(1)
				defer func() {
					if recover() != nil {
						panicked.Add(1)
					}
				}()
				first()
			}()
		}
		if !eventually(func() bool { return ended.Load() == times }) {
			return fmt.Errorf("%d of %d releases hang", times-ended.Load(), times)
		}
		if got := r.Running(); got != 1 || panicked.Load() > 0 {
			return fmt.Errorf("one of two has been released: in flight is %d, and %d releases panicked", got, panicked.Load())
		}
		other()
		return nil
	})
}

func resize(s *Subject) error {
	return on(s, Options{Room: some}, func(r *rack) error {
		if r.SetRoom == nil {
			return errNoRoom
		}
		h := r.hold(some)
		in := h.room(some)
		err := r.SetRoom(some / 2)
		again := r.hold(2)
		if n := again.room(0); err == nil && (in != some || n != 0) {
			err = fmt.Errorf("with %d in flight, and a limit of %d now, %d more are let in", in, some/2, n)
		}
		if err := errors.Join(err, again.end(2), h.end(some), r.hasRoom(some/2)); err != nil {
			return err
		}
		return r.SetRoom(some)
	})
}

func refusesInside(s *Subject) error {
	return on(s, Options{Room: some}, func(r *rack) error {
		r.does(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		var group sync.WaitGroup
		for range 10 * some {
			group.Go(func() { r.call(context.Background()) })
		}
		group.Wait()
		return nil
	})
}

func clockJumps(s *Subject) error {
	if !s.Skews {
		return errNoClock
	}
	return on(s, Options{Room: some, Wait: time.Second, Queue: some}, func(r *rack) error {
		for _, skew := range []time.Duration{time.Hour, -time.Hour, 0} {
			var releases []func()
			for range some {
				release, ok := r.Acquire(skew)
				if !ok {
					return fmt.Errorf("with the clock off by %v, a place was refused", skew)
				}
				releases = append(releases, release)
			}
			for _, release := range releases {
				release()
			}
		}
		return nil
	})
}

// hang is the case in which nothing ever completes: whoever counts what has
// completed sees nothing.
func hang(s *Subject) error {
	return on(s, Options{Room: some}, func(r *rack) error {
		const sent = 1000
		h := r.hold(sent)
		in := h.room(some)
		if err := h.end(sent); err != nil {
			return err
		}
		if in > some {
			return fmt.Errorf("%d of %d that hang are let in", in, sent)
		}
		return nil
	})
}
