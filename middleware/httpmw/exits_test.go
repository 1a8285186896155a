package httpmw_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
	"github.com/plimsoll-go/plimsoll/pipeline"
)

var silent = log.New(io.Discard, "", 0)

// scene is a protected service with room for one request and one stream.
type scene struct {
	*service
	t        *testing.T
	room     *room
	witness  *witness
	pipeline *pipeline.Pipeline
	mw       *httpmw.Middleware
	work     chan struct{} // lets a handler that ignores its context end
}

// around builds what stands around and within the middleware.
type around func(*scene) http.Handler

func play(t *testing.T, build around, story func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, room: &room{left: 1, streams: 1}, witness: newWitness(), work: make(chan struct{})}
		s.pipeline = one(t, s.witness, "workershed", s.room)
		s.mw = protect(t, httpmw.Config{}, s.pipeline)
		s.service = start(build(s))
		defer s.stop()
		story(s)
	})
}

// protected is a handler directly within the middleware; /ok answers at once.
func protected(h http.HandlerFunc) around {
	return func(s *scene) http.Handler { return s.mw.Wrap(okay(h)) }
}

func okay(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ok" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		h(w, r)
	})
}

func (s *scene) get(ctx context.Context, path string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://service"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (s *scene) inFlight(want int) {
	s.t.Helper()
	synctest.Wait()
	if got := s.pipeline.InFlight(); got != want {
		s.t.Fatalf("%d in flight, want %d", got, want)
	}
}

// over checks that all was given back, how it ended, and that the next request
// is served.
func (s *scene) over(want pipeline.Outcome) {
	s.t.Helper()
	s.inFlight(0)
	if got := s.witness.outcomes(); !slices.Equal(got, []pipeline.Outcome{want}) {
		s.t.Errorf("outcomes %v, want %v once", got, want)
	}
	if requests, streams := s.room.free(); requests != 1 || streams != 1 {
		s.t.Errorf("room for %d requests and %d streams is left, want 1 and 1", requests, streams)
	}
	if status, body, err := s.get(s.t.Context(), "/ok"); status != http.StatusOK || body != "ok" {
		s.t.Errorf("the next request: %d %q %v", status, body, err)
	}
	s.inFlight(0)
}

func TestReturn(t *testing.T) {
	for status, want := range map[int]pipeline.Outcome{
		http.StatusOK: pipeline.Completed, http.StatusNotFound: pipeline.Completed, http.StatusInternalServerError: pipeline.Completed,
		http.StatusServiceUnavailable: pipeline.Dropped, http.StatusGatewayTimeout: pipeline.Dropped,
	} {
		play(t, protected(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }), func(s *scene) {
			if got, _, err := s.get(s.t.Context(), "/"); got != status {
				t.Errorf("%d %v, want %d", got, err, status)
			}
			s.over(want)
		})
	}
}

func TestPanicsPassThroughAndGiveBack(t *testing.T) {
	for what, leave := range map[string]func(){
		"panic":                 func() { panic("a fault of the handler") },
		"http.ErrAbortHandler":  func() { panic(http.ErrAbortHandler) },
		"runtime.Goexit":        runtime.Goexit,
		"panic with nil inside": func() { panic(error(nil)) },
	} {
		t.Run(what, func(t *testing.T) {
			play(t, protected(func(http.ResponseWriter, *http.Request) { leave() }), func(s *scene) {
				if status, _, err := s.get(s.t.Context(), "/"); err == nil {
					t.Errorf("the client got %d, want a closed connection", status)
				}
				s.over(pipeline.Ignored)
			})
		})
	}
}

// The value of a panic is the handler's own, for whoever is outside.
func TestAPanicKeepsItsValue(t *testing.T) {
	mine := errors.New("mine")
	var got any
	play(t, func(s *scene) http.Handler {
		inner := s.mw.Wrap(okay(func(http.ResponseWriter, *http.Request) { panic(mine) }))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if value := recover(); value != nil {
					got = value
				}
			}()
			inner.ServeHTTP(w, r)
		})
	}, func(s *scene) {
		_, _, _ = s.get(s.t.Context(), "/")
		s.over(pipeline.Ignored)
	})
	if got != any(mine) {
		t.Errorf("recovered %v", got)
	}
}

func TestTheClientLeaves(t *testing.T) {
	play(t, protected(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), func(s *scene) {
		ctx, cancel := context.WithCancel(s.t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, _, err := s.get(ctx, "/"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		s.over(pipeline.Ignored)
	})
}

// A handler that does not look at its context holds its place until it ends,
// whether its client is there or not.
func TestTheClientLeavesAndTheWorkGoesOn(t *testing.T) {
	play(t, func(s *scene) http.Handler {
		return s.mw.Wrap(okay(func(http.ResponseWriter, *http.Request) { <-s.work }))
	}, func(s *scene) {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		_, _, _ = s.get(ctx, "/")
		s.inFlight(1)
		close(s.work)
		s.over(pipeline.Ignored)
	})
}

func TestTimeoutHandlerOutside(t *testing.T) {
	play(t, func(s *scene) http.Handler {
		return http.TimeoutHandler(s.mw.Wrap(okay(func(http.ResponseWriter, *http.Request) { <-s.work })), time.Second, "late")
	}, func(s *scene) {
		if status, body, err := s.get(s.t.Context(), "/"); status != http.StatusServiceUnavailable || body != "late" {
			t.Errorf("%d %q %v", status, body, err)
		}
		s.inFlight(1)
		close(s.work)
		s.over(pipeline.Dropped)
	})
}

func TestTimeoutHandlerInsideCountsTheWork(t *testing.T) {
	play(t, func(s *scene) http.Handler {
		work := httpmw.Work(okay(func(http.ResponseWriter, *http.Request) { <-s.work }))
		return s.mw.Wrap(http.TimeoutHandler(work, time.Second, "late"))
	}, func(s *scene) {
		if status, body, err := s.get(s.t.Context(), "/"); status != http.StatusServiceUnavailable || body != "late" {
			t.Errorf("%d %q %v", status, body, err)
		}
		s.inFlight(1)
		close(s.work)
		s.over(pipeline.Dropped)
	})
}

// Without Work nobody can know of the goroutine that was left behind. What it
// does with its context later must do no harm.
func TestWorkLeftBehindDoesNoHarm(t *testing.T) {
	var after *pipeline.Request
	var detached pipeline.Decision
	play(t, func(s *scene) http.Handler {
		return s.mw.Wrap(http.TimeoutHandler(okay(func(w http.ResponseWriter, r *http.Request) {
			<-s.work
			after = pipeline.FromContext(r.Context())
			detached = httpmw.Detach(r.Context())
			httpmw.SetCost(r.Context(), 5)
			_, _ = io.WriteString(w, "too late")
		}), time.Second, "late"))
	}, func(s *scene) {
		_, _, _ = s.get(s.t.Context(), "/")
		s.inFlight(0)
		close(s.work)
		s.over(pipeline.Dropped)
	})
	if after != nil || detached != (pipeline.Decision{}) {
		t.Errorf("after the end the context gives request %v, and a decision %v", after, detached)
	}
}

func TestAContextWithADeadlineIsDropped(t *testing.T) {
	play(t, func(s *scene) http.Handler {
		inner := s.mw.Wrap(okay(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), time.Second)
			defer cancel()
			inner.ServeHTTP(w, r.WithContext(ctx))
		})
	}, func(s *scene) {
		_, _, _ = s.get(s.t.Context(), "/")
		s.over(pipeline.Dropped)
	})
}

func TestShutdownWaitsForWhatWasAdmitted(t *testing.T) {
	play(t, func(s *scene) http.Handler {
		return s.mw.Wrap(okay(func(w http.ResponseWriter, _ *http.Request) {
			<-s.work
			_, _ = io.WriteString(w, "done")
		}))
	}, func(s *scene) {
		got := make(chan string)
		go func() {
			_, body, _ := s.get(s.t.Context(), "/")
			got <- body
		}()
		s.inFlight(1)
		time.AfterFunc(time.Second, func() { close(s.work) })
		if err := s.server.Shutdown(s.t.Context()); err != nil {
			t.Error(err)
		}
		if body := <-got; body != "done" {
			t.Errorf("body %q", body)
		}
		s.inFlight(0)
	})
}

// An observer that panics after the admission leaks nothing.
func TestAnObserverPanics(t *testing.T) {
	play(t, protected(func(http.ResponseWriter, *http.Request) {}), func(s *scene) {
		s.witness.decided = func(*pipeline.Request, pipeline.Decision) {
			s.witness.decided = nil
			panic("observer")
		}
		if status, _, err := s.get(s.t.Context(), "/"); err == nil {
			t.Errorf("the client got %d", status)
		}
		s.over(pipeline.NotRun)
	})
}

// A client that leaves while it waits for room is neither served nor refused.
func TestTheClientLeavesTheQueue(t *testing.T) {
	play(t, protected(func(http.ResponseWriter, *http.Request) {}), func(s *scene) {
		s.room.wait = true
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, _, _ = s.get(ctx, "/")
		s.inFlight(0)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// If it was the server's own deadline that ended the wait, the client is told.
func TestTheServersDeadlineEndsTheWait(t *testing.T) {
	play(t, func(s *scene) http.Handler {
		inner := s.mw.Wrap(okay(func(http.ResponseWriter, *http.Request) {}))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), time.Second)
			defer cancel()
			inner.ServeHTTP(w, r.WithContext(ctx))
		})
	}, func(s *scene) {
		s.room.wait = true
		if status, _, err := s.get(s.t.Context(), "/"); status != http.StatusServiceUnavailable {
			t.Errorf("%d %v", status, err)
		}
		s.inFlight(0)
	})
}

// raw sends bytes and returns what comes back until the server closes or
// falls silent.
func (s *scene) raw(request string) string {
	conn, err := s.pipes.dial(s.t.Context(), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, request) }()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	text, _ := io.ReadAll(conn)
	return string(text)
}

func TestARefusalComesBeforeTheBody(t *testing.T) {
	refuse := func(s *scene) { s.room.left = 0 }
	for what, head := range map[string]string{
		"100-continue": "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
		"large body":   "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n",
		"endless body": "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		t.Run(what, func(t *testing.T) {
			play(t, protected(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }), func(s *scene) {
				refuse(s)
				got := s.raw(head)
				if !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "\r\nConnection: close\r\n") {
					t.Errorf("got %q, want 503 first, and the connection closed", got)
				}
				s.inFlight(0)
			})
		})
	}
	t.Run("small body keeps the connection", func(t *testing.T) {
		play(t, protected(func(http.ResponseWriter, *http.Request) {}), func(s *scene) {
			refuse(s)
			one := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
			if got := s.raw(one + one); strings.Count(got, "HTTP/1.1 503 ") != 2 || strings.Contains(got, "Connection: close") {
				t.Errorf("got %q, want two answers", got)
			}
		})
	})
}

func TestHijack(t *testing.T) {
	var taken net.Conn
	hijack := func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\nhello")
		return conn, buffered
	}
	t.Run("closed by the handler", func(t *testing.T) {
		play(t, protected(func(w http.ResponseWriter, _ *http.Request) {
			conn, _ := hijack(w)
			_ = conn.Close()
			_ = conn.Close() // gives back once
		}), func(s *scene) {
			if got := s.raw("GET / HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.HasSuffix(got, "hello") {
				t.Errorf("got %q", got)
			}
			s.over(pipeline.Ignored)
		})
	})
	t.Run("outlives the handler", func(t *testing.T) {
		play(t, protected(func(w http.ResponseWriter, _ *http.Request) { taken, _ = hijack(w) }), func(s *scene) {
			go s.raw("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			s.inFlight(1)
			if requests, streams := s.room.free(); requests != 1 || streams != 0 {
				t.Errorf("room for %d requests and %d streams is left, want 1 and 0", requests, streams)
			}
			<-time.After(2 * time.Hour) // the client of this test leaves before
			s.inFlight(1)
			_ = taken.Close()
			s.over(pipeline.Ignored)
		})
	})
	t.Run("the handler panics", func(t *testing.T) {
		play(t, protected(func(w http.ResponseWriter, _ *http.Request) {
			hijack(w)
			panic("a fault of the handler")
		}), func(s *scene) {
			if got := s.raw("GET / HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.HasSuffix(got, "hello") {
				t.Errorf("got %q", got)
			}
			s.over(pipeline.Ignored)
		})
	})
	t.Run("refused", func(t *testing.T) {
		var failed error
		play(t, protected(func(w http.ResponseWriter, r *http.Request) {
			_, _, failed = http.NewResponseController(w).Hijack()
			http.Error(w, "the library's own answer", http.StatusInternalServerError)
			<-r.Context().Done()
		}), func(s *scene) {
			s.room.streams = 0
			got := s.raw("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			if !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "reason=worker-shed") || strings.Contains(got, "library") {
				t.Errorf("got %q", got)
			}
			s.room.streams = 1
			s.over(pipeline.Ignored)
		})
		if !errors.Is(failed, httpmw.ErrStreamRefused) {
			t.Errorf("Hijack: %v", failed)
		}
	})
}

// A connection that is dropped without Close is given back when it is
// collected.
func TestADroppedConnectionIsGivenBack(t *testing.T) {
	s := newWitness()
	p := one(t, s, "workershed", &room{left: 1, streams: 1})
	client, server := net.Pipe()
	defer client.Close()
	h := protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := w.(http.Hijacker).Hijack(); err != nil {
			t.Error(err)
		}
	}))
	h.ServeHTTP(hijackable{server}, newRequest(http.MethodGet, "/"))
	for range 1000 {
		runtime.GC()
		select {
		case <-s.released:
			return
		default:
		}
	}
	t.Error("it was not given back")
}

type hijackable struct{ conn net.Conn }

func (h hijackable) Header() http.Header         { return http.Header{} }
func (h hijackable) Write(p []byte) (int, error) { return len(p), nil }
func (h hijackable) WriteHeader(int)             {}
func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

func TestEventStream(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Content-Encoding", "identity")
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Second):
				_, _ = io.WriteString(w, "data: tick\n\n")
				w.(http.Flusher).Flush()
			}
		}
	}
	t.Run("moves to the other gauge", func(t *testing.T) {
		play(t, protected(stream), func(s *scene) {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute+time.Second/2)
			defer cancel()
			time.AfterFunc(time.Second, func() {
				if requests, streams := s.room.free(); requests != 1 || streams != 0 {
					t.Errorf("room for %d requests and %d streams is left, want 1 and 0", requests, streams)
				}
			})
			status, body, _ := s.get(ctx, "/")
			if status != http.StatusOK || strings.Count(body, "tick") != 60 {
				t.Errorf("%d, %d ticks", status, strings.Count(body, "tick"))
			}
			s.over(pipeline.Ignored)
		})
	})
	t.Run("refused", func(t *testing.T) {
		play(t, protected(stream), func(s *scene) {
			s.room.streams = 0
			status, body, err := s.get(s.t.Context(), "/")
			if status != http.StatusServiceUnavailable || !strings.Contains(body, `"reason":"worker-shed"`) || strings.Contains(body, "tick") {
				t.Errorf("%d %q %v", status, body, err)
			}
			s.room.streams = 1
			s.over(pipeline.Ignored)
		})
	})
}

func TestDetachByTheHandler(t *testing.T) {
	var d pipeline.Decision
	h := func(w http.ResponseWriter, r *http.Request) {
		if d = httpmw.Detach(r.Context()); d.Verdict != pipeline.Admit {
			_, err := io.WriteString(w, "unheard")
			if !errors.Is(err, httpmw.ErrStreamRefused) || r.Context().Err() == nil {
				t.Errorf("write: %v, context: %v", err, r.Context().Err())
			}
			return
		}
		_ = httpmw.Detach(r.Context()) // acts once
		_, _ = io.WriteString(w, "streaming")
	}
	play(t, protected(h), func(s *scene) {
		if status, body, _ := s.get(s.t.Context(), "/"); status != http.StatusOK || body != "streaming" {
			t.Errorf("%d %q", status, body)
		}
		s.over(pipeline.Ignored)
	})
	play(t, protected(h), func(s *scene) {
		s.room.streams = 0
		if status, body, _ := s.get(s.t.Context(), "/"); status != http.StatusServiceUnavailable || strings.Contains(body, "unheard") {
			t.Errorf("%d %q", status, body)
		}
		s.room.streams = 1
		s.over(pipeline.Ignored)
	})
	if httpmw.Detach(t.Context()).Verdict != pipeline.Admit {
		t.Error("a context of nobody's is refused")
	}
}
