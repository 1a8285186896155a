package torture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"time"
)

// rack holds a victim and the work that its handler does now.
type rack struct {
	*Victim
	subject    *Subject
	options    Options
	handler    http.Handler
	work       atomic.Pointer[http.HandlerFunc]
	callers    atomic.Uint32
	goroutines int // before anything was done to it
}

// enough is how long a check waits for what must happen soon: long against a
// machine that is busy, and the whole wait only when the check fails.
var enough = 4 * time.Second

// grace is how long one waits to see that something does not happen.
const grace = 50 * time.Millisecond

var (
	errNoQueue = errors.New("it has no queue")
	errNoRoom  = errors.New("its limit cannot be set")
	errNoClock = errors.New("its clock cannot be moved from outside")
	errNoLimit = errors.New("it has no limit while the processor idles")
)

func newRack(s *Subject, o Options) (*rack, error) {
	victim, err := s.Make(o)
	if err != nil {
		return nil, err
	}
	r := &rack{Victim: victim, subject: s, options: o}
	r.does(func(http.ResponseWriter, *http.Request) {})
	r.handler = victim.Wrap(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { (*r.work.Load())(w, q) }))
	r.call(context.Background()) // what is started late, is started
	r.goroutines = runtime.NumGoroutine()
	return r, nil
}

// does sets what the handler does from now on.
func (r *rack) does(work http.HandlerFunc) { r.work.Store(&work) }

// call is a request that comes without a network, each from another caller. A
// panic ends it, as it does in net/http.
func (r *rack) call(ctx context.Context) (status int) {
	w := &answer{}
	defer func() {
		if recover() != nil {
			status = http.StatusInternalServerError
		}
	}()
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	n := r.callers.Add(1)
	q.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", n>>16&255, n>>8&255, n&255)
	r.handler.ServeHTTP(w, q)
	return max(w.status, http.StatusOK)
}

// answer is a ResponseWriter that keeps the status and nothing else.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (a *answer) WriteHeader(status int)      { a.status = max(a.status, status) }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }

// held is a number of requests whose handlers wait.
type held struct {
	rack     *rack
	entered  atomic.Int64
	answered atomic.Int64
	open     chan struct{}
	stop     context.CancelFunc
}

// hold sends n requests at once whose handlers wait until they are let go.
func (r *rack) hold(n int) *held {
	ctx, stop := context.WithCancel(context.Background())
	h := &held{rack: r, open: make(chan struct{}), stop: stop}
	r.does(func(http.ResponseWriter, *http.Request) {
		h.entered.Add(1)
		<-h.open
	})
	for range n {
		go func() {
			defer h.answered.Add(1)
			r.call(ctx)
		}()
	}
	return h
}

// room is how many of those sent have come in, when no more do.
func (h *held) room(expected int) int {
	eventually(func() bool { return int(h.entered.Load()) >= expected })
	time.Sleep(grace)
	return int(h.entered.Load())
}

// end lets the handlers go, and those who wait leave.
func (h *held) end(n int) error {
	h.stop()
	close(h.open)
	if !eventually(func() bool { return int(h.answered.Load()) == n }) {
		return fmt.Errorf("%d of %d requests did not return", n-int(h.answered.Load()), n)
	}
	return nil
}

func eventually(ok func() bool) bool {
	for deadline := time.Now().Add(enough); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return ok()
		}
	}
	return true
}

// settled checks that nothing is left: the last part of each check.
func (r *rack) settled() error {
	if !eventually(func() bool { return r.Running() == 0 }) {
		return fmt.Errorf("in flight stays %d", r.Running())
	}
	if r.Queued != nil && !eventually(func() bool { return r.Queued() == 0 }) {
		return fmt.Errorf("%d stay queued", r.Queued())
	}
	if !eventually(func() bool { return runtime.NumGoroutine() <= r.goroutines }) {
		return fmt.Errorf("%d goroutines more than before", runtime.NumGoroutine()-r.goroutines)
	}
	r.does(func(http.ResponseWriter, *http.Request) {})
	if status := r.call(context.Background()); status != http.StatusOK {
		return fmt.Errorf("the next request is answered %d", status)
	}
	if !r.subject.Caps {
		return nil
	}
	return r.hasRoom(r.options.Room)
}

// hasRoom checks that just as many requests are let in at once.
func (r *rack) hasRoom(want int) error {
	sent := want + 3
	h := r.hold(sent)
	got := h.room(want)
	if err := h.end(sent); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%d are let in at once, with room for %d", got, want)
	}
	return nil
}

func (r *rack) close() {
	if r.Close != nil {
		r.Close()
	}
}
