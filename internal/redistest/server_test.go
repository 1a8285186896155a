package redistest

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A server answers when it was launched, also again on what it saved, and
// nothing of it is left when it ends.
func TestServer(t *testing.T) {
	s, err := New(Config{TCP: true, Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	if err != nil {
		t.Fatal(err)
	}
	s.MustLaunch(t)
	s.Do(t, "SET", "a", "1")
	s.Kill()
	if err := s.Signal(syscall.SIGSTOP); err == nil {
		t.Error("a server that is gone takes signals")
	}
	s.MustLaunch(t)
	if got := s.Do(t, "GET", "a"); got != "1" {
		t.Errorf("after a restart: %v, want 1", got)
	}
	s.MustSignal(t, syscall.SIGSTOP) // it ends all the same
	pid := s.cmd.Process.Pid
	s.End()
	if syscall.Kill(pid, 0) == nil {
		t.Error("the process is there still")
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
}

// A server that cannot start says why.
func TestServerThatCannotStart(t *testing.T) {
	s := Prepare(t, Config{Args: []string{"--no-such-setting", "1"}})
	if err := s.Launch(context.Background()); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("error %v", err)
	}
}
