package httpmw_test

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plimsoll-go/plimsoll/middleware/httpmw"
)

// generous is a server's writer that would hand over its connection at any
// time.
type generous struct {
	*httptest.ResponseRecorder
	taken int
}

func (h *generous) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.taken++
	client, server := net.Pipe()
	_ = client.Close()
	return server, nil, nil
}

// A goroutine that outlives its handler gets no panic of ours, which nothing
// would recover, and moves nothing that is another's by then.
func TestWhatAGoroutineDoesAfterItsHandlerPanicked(t *testing.T) {
	for what, late := range map[string]func(http.ResponseWriter, *http.Request){
		"stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: late\n\n"))
		},
		"switch": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) },
		"detach": func(_ http.ResponseWriter, r *http.Request) { httpmw.Detach(r.Context()) },
		"hijack": func(w http.ResponseWriter, _ *http.Request) {
			if _, _, err := w.(http.Hijacker).Hijack(); err == nil {
				t.Error("a connection was taken over after the end")
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			room := &room{left: 1, streams: 1}
			p := one(t, newWitness(), "workershed", room)
			var writer http.ResponseWriter
			var request *http.Request
			server := &generous{ResponseRecorder: httptest.NewRecorder()}
			h := protect(t, httpmw.Config{}, p).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				writer, request = w, r
				panic(http.ErrAbortHandler)
			}))
			func() {
				defer func() { _ = recover() }()
				h.ServeHTTP(server, httptest.NewRequest(http.MethodGet, "/", nil))
			}()

			late(writer, request)

			if requests, streams := room.free(); requests != 1 || streams != 1 || p.InFlight() != 0 {
				t.Errorf("room for %d requests and %d streams is left, %d in flight; want 1, 1, 0", requests, streams, p.InFlight())
			}
			if server.taken != 0 {
				t.Error("the server's connection was taken over")
			}
		})
	}
}
