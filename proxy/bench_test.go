package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The proxies that are compared. Each runs in a process of its own, so that
// its CPU is counted and not the load's or the backend's.
var contenders = map[string]func(upstream string, l net.Listener) error{
	"bare": func(upstream string, l net.Listener) error {
		return http.Serve(l, measured(reverseProxy(upstream, http.DefaultTransport)))
	},
	"bare-tuned": func(upstream string, l net.Listener) error {
		return http.Serve(l, measured(reverseProxy(upstream, &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true})))
	},
	"ours": func(upstream string, l net.Listener) error {
		p, err := New(Config{Upstream: upstream})
		if err != nil {
			return err
		}
		s, err := NewServer(ServerConfig{}, measured(p))
		if err != nil {
			return err
		}
		return s.Serve(context.Background(), l)
	},
}

func reverseProxy(upstream string, transport http.RoundTripper) http.Handler {
	to, err := url.Parse(upstream)
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
	}}
}

// measured tells how much CPU the process has used.
func measured(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cpu" {
			var u syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
			fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
			return
		}
		handler.ServeHTTP(w, r)
	})
}

const contenderVariable = "PROXY_BENCHMARK_CONTENDER"

// TestMain runs a contender when it is asked to.
func TestMain(m *testing.M) {
	name, upstream, asked := strings.Cut(os.Getenv(contenderVariable), " ")
	if !asked {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Println(l.Addr())
		err = contenders[name](upstream, l)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// BenchmarkProxy prints the CPU that a proxy takes for a request and its
// answer, each with half a dozen headers, over 64 connections.
func BenchmarkProxy(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		backend := cannedBackend(b, size)
		for _, name := range []string{"bare", "bare-tuned", "ours"} {
			b.Run(fmt.Sprintf("%s/%dB", name, size), func(b *testing.B) {
				address := start(b, name, backend)
				load(b, address, 2000) // warm
				before := cpu(b, address)
				b.ResetTimer()
				load(b, address, b.N)
				b.StopTimer()
				b.ReportMetric((cpu(b, address)-before)/float64(b.N)/1e3, "cpu-µs/op")
				b.ReportMetric(0, "ns/op") // of all three processes together: says nothing
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			})
		}
	}
}

// start runs a contender in a process of its own.
func start(b *testing.B, name, upstream string) string {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), contenderVariable+"="+name+" "+upstream, "GOMAXPROCS=1")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func cpu(b *testing.B, address string) float64 {
	b.Helper()
	res, err := http.Get("http://" + address + "/cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	nanos, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		b.Fatal(err)
	}
	return nanos
}

// cannedBackend answers every request with the same bytes.
func cannedBackend(b *testing.B, size int) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Request-Id: 0123456789abcdef\r\nVary: Accept\r\n\r\n%s",
		time.Now().UTC().Format(http.TimeFormat), size, bytes.Repeat([]byte("a"), size))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for skipHeader(r) == nil {
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func skipHeader(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || len(line) == 2 {
			return err
		}
	}
}

// load sends n requests over 64 connections.
func load(b *testing.B, address string, n int) {
	b.Helper()
	const text = "GET /v1/things/42?expand=all HTTP/1.1\r\nHost: api.example\r\nUser-Agent: bench/1\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\nAuthorization: Bearer 0123456789\r\nX-Request-Id: 0123456789abcdef\r\n\r\n"
	var sent atomic.Int64
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			r := bufio.NewReaderSize(c, 16<<10)
			for sent.Add(1) <= int64(n) {
				if _, err := io.WriteString(c, text); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

func skipAnswer(r *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			return fmt.Errorf("answered %q", line)
		case len(line) == 2:
			_, err := r.Discard(length)
			return err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length, _ = strconv.Atoi(string(bytes.TrimSpace(line[16:])))
		}
	}
}
