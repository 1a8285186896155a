package redistest

import (
	"context"
	"net"
	"testing"
	"time"
)

// through is a proxy to a server, and a conversation through it.
func through(t *testing.T) (p *Proxy, ping func(*testing.T, net.Conn) error, dial func(*testing.T) net.Conn) {
	t.Helper()
	s := Start(t)
	p, err := NewProxy(s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	dial = func(t *testing.T) net.Conn {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ping = func(t *testing.T, c net.Conn) error {
		t.Helper()
		if _, err := c.Write([]byte("PING\r\n")); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 64))
		return err
	}
	return p, ping, dial
}

// What passes, is held, swallowed, delayed and reset is what was asked for.
func TestProxy(t *testing.T) {
	p, ping, dial := through(t)
	c := dial(t)
	if err := ping(t, c); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	p.Delay(func() time.Duration { return 20 * time.Millisecond })
	if err := ping(t, c); err != nil || time.Since(begun) < 40*time.Millisecond {
		t.Errorf("delayed: error %v, %s", err, time.Since(begun))
	}
	p.Delay(nil)
	p.Hold()
	begun = time.Now()
	time.AfterFunc(50*time.Millisecond, p.Pass)
	if err := ping(t, c); err != nil || time.Since(begun) < 50*time.Millisecond {
		t.Errorf("held: error %v, %s", err, time.Since(begun))
	}
	if p.Deafen(9) != 1 {
		t.Error("there is one connection")
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if ping(t, c) == nil {
		t.Error("a deaf connection answers")
	}
	if err := ping(t, dial(t)); err != nil {
		t.Errorf("beside a deaf connection: %v", err)
	}
	p.Reset()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil || context.Cause(t.Context()) != nil {
		t.Errorf("reset: error %v", err)
	}
	p.Refuse()
	// The reset may be there before the connection is.
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr()); err == nil {
		if ping(t, c) == nil {
			t.Error("a connection that is refused answers")
		}
		_ = c.Close()
	}
	p.Accept()
	if err := ping(t, dial(t)); err != nil {
		t.Errorf("accepted again: %v", err)
	}
}
