package main

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a network in memory, so that connections live in virtual time.
type wire struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error   { w.once.Do(func() { close(w.done) }); return nil }
func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.conns <- far:
		return near, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

// paying runs a test with a gateway behind connections, in virtual time.
func paying(t *testing.T, test func(*testing.T, *http.Transport)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &httptest.Server{Listener: w, Config: &http.Server{Handler: &gateway{}}}
		server.Start()
		base := &http.Transport{DialContext: w.dial}
		test(t, base)
		base.CloseIdleConnections()
		server.Close()
	})
}

const url = "http://gateway.example"

func TestFiftyCallersNeverSeeARefusal(t *testing.T) {
	paying(t, func(t *testing.T, base *http.Transport) {
		transport, err := withinQuota(base)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 3 {
			statuses, err := fifty(t.Context(), &http.Client{Transport: transport}, url)
			if err != nil || !maps.Equal(statuses, map[int]int{http.StatusCreated: 50}) {
				t.Errorf("answered %v, %v", statuses, err)
			}
		}
		if took := time.Since(start); took < 15*time.Second || took > 17*time.Second {
			t.Errorf("150 calls took %s, want about 149 ninths of a second", took)
		}
	})
}

func TestWithoutTheTransportFortyAreRefused(t *testing.T) {
	paying(t, func(t *testing.T, base *http.Transport) {
		statuses, err := fifty(t.Context(), &http.Client{Transport: base}, url)
		if err != nil || !maps.Equal(statuses, map[int]int{http.StatusCreated: 10, http.StatusTooManyRequests: 40}) {
			t.Errorf("answered %v, %v", statuses, err)
		}
	})
}

// Somebody else spends the same quota: the gateway's refusal holds the callers
// back, and none of them is refused after it.
func TestARefusalIsHeeded(t *testing.T) {
	paying(t, func(t *testing.T, base *http.Transport) {
		for range quota {
			if _, err := charge(t.Context(), &http.Client{Transport: base}, url); err != nil {
				t.Fatal(err)
			}
		}
		transport, err := withinQuota(base)
		if err != nil {
			t.Fatal(err)
		}
		statuses, err := fifty(t.Context(), &http.Client{Transport: transport}, url)
		if err != nil || !maps.Equal(statuses, map[int]int{http.StatusCreated: 49, http.StatusTooManyRequests: 1}) {
			t.Errorf("answered %v, %v", statuses, err)
		}
	})
}

// For real: connections, and time as it goes.
func TestOverAConnection(t *testing.T) {
	server := httptest.NewServer(&gateway{})
	defer server.Close()
	transport, err := withinQuota(http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	if status, err := charge(t.Context(), &http.Client{Transport: transport}, server.URL); status != http.StatusCreated || err != nil {
		t.Errorf("answered %d, %v", status, err)
	}
}
