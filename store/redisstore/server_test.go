package redisstore

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a redis-server of a test's own, on a unix socket.
type server struct {
	socket string
	args   []string
	cmd    *exec.Cmd
	admin  *redis.Client
}

// start starts a server with further arguments, and ends it with the test.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	s := prepare(t, args...)
	s.launch(t)
	return s
}

// prepare is a server that is not started yet.
func prepare(t testing.TB, args ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &server{socket: filepath.Join(dir, "s")}
	s.args = append([]string{"--port", "0", "--unixsocket", s.socket, "--save", "", "--dir", dir, "--loglevel", "warning"}, args...)
	s.admin = redis.NewClient(&redis.Options{Addr: s.socket, ReadTimeout: time.Minute})
	t.Cleanup(func() {
		_ = s.admin.Close()
		if s.cmd != nil {
			s.kill()
		}
		_ = os.RemoveAll(dir)
	})
	return s
}

// freePort is a port that nobody listens on, and neither 10000 above it.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		if port > 55_000 {
			continue
		}
		if bus, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+10_000))); err == nil {
			_ = bus.Close()
			return strconv.Itoa(port)
		}
	}
}

// configure gives the server a file of settings, in place of arguments.
func (s *server) configure(t testing.TB, settings string, args ...string) {
	t.Helper()
	path := s.socket + ".conf"
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = append([]string{path}, args...)
}

// launch starts the process and waits until it answers.
func (s *server) launch(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command("redis-server", s.args...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("this test needs redis-server, see scripts/install-deps.sh: %v", err)
	}
	eventually(t, "the server answers", func() bool { return s.admin.Ping(context.Background()).Err() == nil })
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// do runs an administrator's command.
func (s *server) do(t testing.TB, args ...any) any {
	t.Helper()
	v, err := s.admin.Do(context.Background(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// eventually waits for a condition of another process.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// open is a store on a server.
func open(t testing.TB, srv *server) *Store {
	t.Helper()
	s, err := New(Config{Addrs: []string{srv.socket}, Patience: 10 * time.Second})
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
