package redistest

import (
	"context"
	"syscall"
	"time"
)

// TB is what is needed of a testing.TB, so that programs link no testing.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// Start starts an empty server with further arguments, and ends it with the test.
func Start(t TB, args ...string) *Server {
	t.Helper()
	s := Prepare(t, Config{Args: args})
	s.MustLaunch(t)
	return s
}

// Prepare is a server that is not started yet, and ends with the test.
func Prepare(t TB, c Config) *Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.End)
	return s
}

// MustLaunch launches the server, or ends the test.
func (s *Server) MustLaunch(t TB) {
	t.Helper()
	if err := s.Launch(context.Background()); err != nil {
		t.Fatalf("%v", err)
	}
}

// MustSignal sends a signal, or ends the test.
func (s *Server) MustSignal(t TB, sig syscall.Signal) {
	t.Helper()
	if err := s.Signal(sig); err != nil {
		t.Fatalf("%v: %v", sig, err)
	}
}

// Do runs an administrator's command, which must succeed.
func (s *Server) Do(t TB, args ...any) any {
	t.Helper()
	v, err := s.Admin.Do(context.Background(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// Eventually waits for a condition of another process, for a minute at most.
func Eventually(t TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
