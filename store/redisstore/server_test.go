package redisstore

import (
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll/internal/redistest"
)

// server is a redis-server of a test's own, on a unix socket.
type server struct {
	*redistest.Server
}

// start starts a server with further arguments, and ends it with the test.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	return &server{redistest.Start(t, args...)}
}

func (s *server) launch(t testing.TB) {
	t.Helper()
	s.MustLaunch(t)
}

func (s *server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	s.MustSignal(t, sig)
}

func (s *server) do(t testing.TB, args ...any) any {
	t.Helper()
	return s.Do(t, args...)
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	redistest.Eventually(t, what, ok)
}

// open is a store on a server.
func open(t testing.TB, srv *server) *Store {
	t.Helper()
	s, err := New(Config{Addrs: []string{srv.Socket}, Patience: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// watch is a clock that the test owns, in place of the server's. Keys live by
// the server's clock all the same, so they get an hour more.
type watch struct {
	mu  sync.Mutex
	now int64
}

func (w *watch) read() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now += int64(d)
}

func (w *watch) wind(s *Store) {
	s.grace = int(time.Hour / time.Millisecond)
	s.clock = func() string { return strconv.FormatInt(w.read()/int64(time.Microsecond), 10) }
}

func TestMain(m *testing.M) {
	Silence()
	os.Exit(m.Run())
}
