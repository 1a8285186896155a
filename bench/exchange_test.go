package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// answer is what the handler behind every middleware does.
var answer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "ok")
})

// serve starts a server on loopback for the time of a benchmark.
func serve(b *testing.B, h http.Handler) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	b.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return listener.Addr().String()
}

// client is one connection that is kept, with as little of its own as can be:
// what is measured is the server.
type client struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
}

func dial(b *testing.B, address, path string) *client {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	return &client{
		conn: conn, reader: bufio.NewReader(conn),
		request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\nX-Api-Key: caller-1000000\r\n\r\n", path),
	}
}

// exchange sends the request and reads the whole answer.
func (c *client) exchange() (status int, err error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, err
	}
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	status = number(bytes.TrimPrefix(line, []byte("HTTP/1.1 ")))
	length := 0
	for len(line) > len("\r\n") {
		if line, err = c.reader.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length = number(n)
		}
	}
	_, err = c.reader.Discard(length)
	return status, err
}

// number reads the digits that a line begins with.
func number(line []byte) (n int) {
	for _, digit := range line {
		if digit < '0' || digit > '9' {
			break
		}
		n = 10*n + int(digit-'0')
	}
	return n
}

// connections is how many clients exchange at once.
const connections = 64

// exchanges measures whole exchanges on connections that are open and warm;
// every answer must have the wanted status.
func exchanges(b *testing.B, address, path string, want int) {
	b.Helper()
	clients := make(chan *client, connections)
	for range connections {
		c := dial(b, address, path)
		b.Cleanup(func() { _ = c.conn.Close() })
		if got, err := c.exchange(); err != nil || got != want {
			b.Fatalf("status %d, want %d: %v", got, want, err)
		}
		clients <- c
	}
	b.ReportAllocs()
	b.SetParallelism(max(1, connections/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	defer cpuTime(b)()
	b.RunParallel(func(pb *testing.PB) {
		c := <-clients
		defer func() { clients <- c }()
		for pb.Next() {
			if got, err := c.exchange(); err != nil || got != want {
				b.Errorf("status %d, want %d: %v", got, want, err)
				return
			}
		}
	})
}

// calls measures the handler alone, without a connection.
func calls(b *testing.B, h http.Handler) {
	b.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://bench/", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header.Set("X-Api-Key", "caller-1000000")
	b.ReportAllocs()
	b.ResetTimer()
	defer cpuTime(b)()
	for range b.N {
		clear(header)
		h.ServeHTTP(discard{}, r)
	}
}

// discard is a response that nobody reads.
type discard struct{}

var header = http.Header{}

func (discard) Header() http.Header         { return header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
